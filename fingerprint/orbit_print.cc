#include "fingerprint/orbit_print.h"

#include <algorithm>
#include <vector>

namespace rulemill::fingerprint {

OrbitPrint orbit_print(const Orbit& orbit, std::uint32_t output) {
  std::vector<execute::Fingerprint> prints;
  for (std::size_t image = 0; image < orbit.renaming.size(); ++image) {
    prints.push_back(orbit.prints[image * orbit.outputs + output]);
  }
  OrbitPrint made;
  const auto smallest = std::ranges::min_element(prints);
  made.print = *smallest;
  made.renaming = orbit.renaming[static_cast<std::size_t>(smallest - prints.begin())];
  for (auto image = static_cast<std::size_t>(smallest - prints.begin()) + 1; image < prints.size(); ++image) {
    if (prints[image] == made.print && orbit.renaming[image] < 64) {
      made.symmetries |= std::uint64_t{1} << orbit.renaming[image];
    }
  }
  std::ranges::sort(prints);
  made.values = static_cast<std::uint32_t>(std::unique(prints.begin(), prints.end()) - prints.begin());
  return made;
}

}  // namespace rulemill::fingerprint
