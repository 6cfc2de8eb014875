// Calls of a model's own functions become their bodies, so that everything that reads models sees operators only.
#pragma once

#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {

/// Removes the functions if no call is left. A call stays if its name belongs to ONNX or to com.microsoft, whose
/// operators runtimes prefer, or if the function's operators mean something else in the versions that the model
/// declares. Throws InputError if functions call each other without end.
void inline_functions(OnnxModelProto& proto);

}  // namespace rulemill::optimize
