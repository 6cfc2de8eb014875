// Recognition of operations that cuDNN and cuBLAS compute, by the form of a tensor expression at its sizes. Any
// operator of that form is recognized; none is named. Other expressions become generated kernels.
#pragma once

#include "optimize/gpu/library/library_op.h"

namespace rulemill::optimize::gpu {

/// Returns std::monostate if no library operation computes the expression.
LibraryOp recognize_library_op(const TensorExpr& expr, const MatchContext& context);

}  // namespace rulemill::optimize::gpu
