// Compares the inputs of a run with those of the previous run in the same folder, and discards what is outdated.
#pragma once

#include <filesystem>
#include <string>

#include "enumerate/profile/profile_components.h"

namespace rulemill::pipeline {

enum class OnChange {
  Refuse,   // throw InputError
  Extend,   // restart the stages if the run only grows or loses operators; throw InputError otherwise
  Discard,  // restart from scratch, whether or not the inputs changed
};

/// On the first rank. Returns the changes in words, empty if there are none or if they do not matter.
std::string apply_inputs(const std::filesystem::path& out, const enumerate::InputComponents& inputs,
                         OnChange on_change);

}  // namespace rulemill::pipeline
