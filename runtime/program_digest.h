// The digest of this program's file: what another one has computed is told apart by it, and nobody has to say that it
// is another.
#pragma once

#include <string>

namespace rulemill::runtime {

const std::string& program_digest();

}  // namespace rulemill::runtime
