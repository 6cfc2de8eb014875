// The laws of a library's functions as equations.
#pragma once

#include <span>
#include <vector>

#include "algebra/language/syntax.h"
#include "algebra/operators/law.h"

namespace rulemill::algebra {

/// Sets in which arguments the functions are monotone, and the first function with the same formula.
void complete_functions(std::span<Function> functions);

/// Returns the laws that functions declare, and f(s, …) = its formula for each function f of several operations. An
/// equation with an operation that is no function of the library is left out. A function stands for all with its
/// formula; `declared` are the equations that are declared as such.
std::vector<LawEquation> make_law_equations(std::span<const Function> functions,
                                            std::span<const syntax::DeclaredEquation> declared);

/// Returns values for which the equation does not hold, as text; nothing if none are found among thousands.
std::optional<std::string> find_counterexample(const syntax::DeclaredEquation& equation);

}  // namespace rulemill::algebra
