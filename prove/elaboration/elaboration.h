// The outcome of the search for the steps of a proof.
#pragma once

#include <optional>
#include <string>

#include "check/kernel/proof.h"

namespace rulemill::prove {

struct Elaboration {
  std::optional<check::Proof> proof;
  std::string reason;  // if there is no proof
};

}  // namespace rulemill::prove
