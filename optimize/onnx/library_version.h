// Which ONNX library this build is linked with.
#pragma once

#include <string>

namespace rulemill::optimize {

/// "1.12.0".
std::string onnx_library_version();

}  // namespace rulemill::optimize
