// The digest of this program's executable file. Caches include it, so that results of other builds are not reused.
#pragma once

#include <string>

namespace rulemill::runtime {

const std::string& program_digest();

}  // namespace rulemill::runtime
