// The limits and the outcome of the search for the steps of a proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "check/kernel/proof.h"

namespace rulemill::prove {

struct ElaborationLimits {
  std::size_t steps = 3000;          // of a proof
  std::uint64_t work = 150'000'000;  // in steps of a Budget
  std::size_t maps = 24;             // of the bound indices of two products that are aligned
  std::size_t choices = 256;         // of equations between them, within nested sums
  bool quick = false;                // only simplification and cancellation
};

struct Elaboration {
  std::optional<check::Proof> proof;
  std::string reason;         // if there is no proof
  std::uint64_t queries = 0;  // obligations that were tried
  std::uint64_t work = 0;     // in steps of a Budget
};

}  // namespace rulemill::prove
