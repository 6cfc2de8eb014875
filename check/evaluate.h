// Evaluation of rules at given sizes: a test of the kernel, which does not depend on it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "algebra/terms/term.h"

namespace rulemill::check {

struct Evaluation {
  std::optional<std::string> difference;  // the first one, in words
  std::size_t evaluated = 0;              // choices of sizes
  std::string obstacle;                   // why there are none
};

/// Evaluates both sides at the first three of these sizes at which the rule applies, modulo primes, with functions and
/// maxima that have their laws: all elements of all nodes, or of large tensors some elements of the outputs.
using SizesByName = std::map<std::string, std::int64_t>;
Evaluation evaluate(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                    std::span<const SizesByName> sizes, std::uint64_t seed);

}  // namespace rulemill::check
