// Limits of the search for the steps of a proof.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rulemill::prove {

struct ElaborationLimits {
  std::size_t steps = 3000;          // of a proof
  std::uint64_t work = 150'000'000;  // in steps of a Budget
  std::size_t maps = 24;             // of the bound indices of two products that are aligned
  std::size_t choices = 256;         // of equations between them, within nested sums
  bool quick = false;                // only simplification and cancellation
};

}  // namespace rulemill::prove
