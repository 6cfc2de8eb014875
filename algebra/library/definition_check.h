// What a definition must show when it is loaded: its laws hold, every choice of its parameters expands, and an operator
// that calls itself commutative is.
#pragma once

#include <span>

#include "algebra/language/expand.h"

namespace rulemill::algebra {

/// A law that holds becomes one of the function's. Throws InputError for one that does not.
void judge_laws(syntax::FunctionSyntax& syntax);

/// "commutative" is a claim, and so is what elements an output has; both are shown for each instance that is made.
/// Throws InputError where one is not.
void check_claims(const syntax::Operator& op, const Instance& instance, std::span<const Function> functions);

/// Expands the operator over its finite parameters and small ranks, so that every error in it is met on loading.
void check_definition(const syntax::Operator& op, std::span<const Function> functions, const ExpansionContext& context);

}  // namespace rulemill::algebra
