// The outcome of the search for the steps of a proof.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "check/kernel/proof.h"

namespace rulemill::prove {

struct Elaboration {
  std::optional<check::Proof> proof;
  std::string reason;         // if there is no proof
  std::uint64_t queries = 0;  // obligations that were tried
  std::uint64_t work = 0;     // in steps of a Budget
};

}  // namespace rulemill::prove
