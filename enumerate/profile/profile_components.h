// The inputs of a run as named components, so that changes between runs can be listed: names of components in words,
// each with its value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/profile/profile.h"

namespace rulemill::enumerate {

using InputComponents = std::map<std::string, std::string>;

/// Returns the components of a profile without name, seed and max_ops: "variable x1" → "[2, 4], role any".
InputComponents profile_components(const Profile& profile);
/// Returns the digests of all operators of the profile: "definition of conv2d" → digest.
InputComponents definition_components(const Profile& profile, const algebra::Library& library);
std::string digest_of(const InputComponents& components);

/// A changed component. A value is empty if the component is new or was removed.
struct InputChange {
  std::string component, before, after;
};
std::vector<InputChange> find_changes(const InputComponents& before, const InputComponents& after);
/// "variable x1: [2, 4] → [2, 5]", "operator matmul() is new".
std::string describe_changes(const std::vector<InputChange>& changes);

}  // namespace rulemill::enumerate
