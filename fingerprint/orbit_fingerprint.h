// The fingerprint of an orbit: the minimum over all renamings of a term, so that terms that are equal up to renaming
// have equal fingerprints.
#pragma once

#include <cstdint>

#include "fingerprint/orbit_evaluator.h"

namespace rulemill::fingerprint {

struct OrbitFingerprint {
  execute::Fingerprint minimum;
  std::uint32_t renaming = 0;         // the first renaming of the term's variables with the minimum
  std::uint32_t distinct_values = 1;  // number of distinct fingerprints of the renamings
  /// Bit r < 64: renaming r also has the minimum, but results in another node.
  std::uint64_t symmetries = 0;
};

OrbitFingerprint orbit_fingerprint(const Orbit& orbit, std::uint32_t output);

}  // namespace rulemill::fingerprint
