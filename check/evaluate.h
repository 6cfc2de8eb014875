// Evaluation of rules at random sizes and elements: a test of the kernel, which does not depend on it.
#pragma once

#include <optional>
#include <string>

#include "algebra/terms/term.h"

namespace rulemill::check {

/// Evaluates both sides at random sizes and elements, modulo primes, with functions and maxima that have their laws.
/// Returns a description of the first difference; nothing if there is none. `tried` receives the number of sizes.
std::optional<std::string> evaluate(const algebra::Rule& rule, const algebra::TermBank& bank,
                                    const algebra::Symbols& symbols, std::uint64_t seed, std::size_t* tried = nullptr);

}  // namespace rulemill::check
