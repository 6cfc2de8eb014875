// One interface for two models: the names of inputs, outputs and open dimensions do not matter.
#pragma once

#include "optimize/onnx/format/model.h"

namespace rulemill::optimize {

/// Gives dimensions of the second model's inputs their names in the first one. If inputs or outputs have other names,
/// but are as many with equal types and shapes, gives both models names by position, and returns true.
bool unify_interfaces(OnnxModel& before, OnnxModel& after);

}  // namespace rulemill::optimize
