// The version of the ONNX library that this build is linked with.
#pragma once

#include <string>

namespace rulemill::optimize {

/// Returns the version, such as "1.12.0".
std::string onnx_library_version();

}  // namespace rulemill::optimize
