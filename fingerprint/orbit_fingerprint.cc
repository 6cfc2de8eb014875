#include "fingerprint/orbit_fingerprint.h"

#include <algorithm>
#include <vector>

namespace rulemill::fingerprint {

OrbitFingerprint orbit_fingerprint(const Orbit& orbit, std::uint32_t output) {
  std::vector<execute::Fingerprint> fingerprints;
  for (std::size_t image = 0; image < orbit.renaming.size(); ++image) {
    fingerprints.push_back(orbit.fingerprints[image * orbit.outputs + output]);
  }
  OrbitFingerprint result;
  const auto smallest = std::ranges::min_element(fingerprints);
  result.minimum = *smallest;
  result.renaming = orbit.renaming[static_cast<std::size_t>(smallest - fingerprints.begin())];
  for (auto image = static_cast<std::size_t>(smallest - fingerprints.begin()) + 1; image < fingerprints.size();
       ++image) {
    if (fingerprints[image] == result.minimum && orbit.renaming[image] < 64) {
      result.symmetries |= std::uint64_t{1} << orbit.renaming[image];
    }
  }
  std::ranges::sort(fingerprints);
  result.distinct_values =
      static_cast<std::uint32_t>(std::unique(fingerprints.begin(), fingerprints.end()) - fingerprints.begin());
  return result;
}

}  // namespace rulemill::fingerprint
