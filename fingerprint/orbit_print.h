// The fingerprint of a term and all its renamings: the smallest among theirs, so that two terms that are equal after
// renaming their variables have the same.
#pragma once

#include <cstdint>

#include "fingerprint/orbit_evaluator.h"

namespace rulemill::fingerprint {

struct OrbitPrint {
  execute::Fingerprint print;
  std::uint32_t renaming = 0;  // of the term's variables: the first whose fingerprint that is
  std::uint32_t values = 1;    // different fingerprints among the renamings
  /// Bit r, of the first 64: renaming r has the smallest fingerprint, too, though it makes another node of the term.
  std::uint64_t symmetries = 0;
};

OrbitPrint orbit_print(const Orbit& orbit, std::uint32_t output);

}  // namespace rulemill::fingerprint
