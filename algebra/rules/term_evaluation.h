// Evaluation of a typed rule's terms on given tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algebra/execution/reference.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// Evaluates the outputs of the source in double; undefined elements are NaN. The rule's shapes are numbers, and
/// `inputs` has a tensor of this shape for each variable. Throws InputError, without a position, if a size is not
/// determined or an operator does not fit the shapes.
std::vector<Tensor> evaluate_source(const TypedRule& typed, const std::map<std::string, Tensor>& inputs,
                                    const TermBank& bank);

}  // namespace rulemill::algebra
