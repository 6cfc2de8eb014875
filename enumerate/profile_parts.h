// What a run depends on, part by part, so that what has changed can be said: names of parts in words, each with its
// value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/profile.h"

namespace rulemill::enumerate {

using Parts = std::map<std::string, std::string>;

/// All that the profile says but its name, seed and number of operators: "variable x1" → "[2, 4], role any".
Parts parts_of(const Profile& profile);
/// "definition of conv2d" → its digest, of every operator that the profile names.
Parts definitions_of(const Profile& profile, const algebra::Library& library);
std::string digest_of(const Parts& parts);

/// From what to what a part has changed; empty: it was not there, or is gone.
struct Change {
  std::string part, before, after;
};
std::vector<Change> changes(const Parts& before, const Parts& after);
/// "variable x1: [2, 4] → [2, 5]", "operator matmul() is new".
std::string in_words(const std::vector<Change>& changes);

}  // namespace rulemill::enumerate
