// Recognition of the library operation that computes an expression.
#pragma once

#include "optimize/gpu/library/library_op.h"

namespace rulemill::optimize::gpu {

/// Returns std::monostate if no library operation computes the expression.
LibraryOp recognize_library_op(const TensorExpr& expr, const MatchContext& context);

}  // namespace rulemill::optimize::gpu
