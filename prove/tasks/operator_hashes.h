// The operator instances of a rule, by hashes that are the same in every run. The cache decides with them which rules a
// derivation can use. Workers return them, so that the first rank need not parse goals.
#pragma once

#include <cstdint>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::prove {

/// Ascending, each once.
using OperatorHashes = std::vector<std::uint64_t>;

/// A collision would only make more rules reachable.
std::uint64_t operator_hash(const algebra::OperatorInstance& instance);
OperatorHashes operator_hashes(const algebra::Rule& rule, const algebra::TermBank& bank);

}  // namespace rulemill::prove
