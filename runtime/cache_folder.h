// Where what can be made again is kept between runs.
#pragma once

#include <filesystem>

namespace rulemill::runtime {

/// $RULEMILL_CACHE, or rulemill in the user's cache folder ($XDG_CACHE_HOME, ~/.cache); empty if there is none.
std::filesystem::path cache_folder();

}  // namespace rulemill::runtime
