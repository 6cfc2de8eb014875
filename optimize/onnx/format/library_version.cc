#include "optimize/onnx/format/library_version.h"

#include <onnx/common/version.h>

namespace rulemill::optimize {

std::string onnx_library_version() { return onnx::LAST_RELEASE_VERSION; }

}  // namespace rulemill::optimize
