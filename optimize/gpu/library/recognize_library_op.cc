#include "optimize/gpu/library/recognize_library_op.h"

#include "optimize/gpu/library/match.h"

namespace rulemill::optimize::gpu {

LibraryOp recognize_library_op(const TensorExpr& expr, const MatchContext& context) {
  if (auto found = match_convolution(expr, context)) return *found;
  if (auto found = match_pooling(expr, context)) return *found;
  if (auto found = match_product(expr, context)) return *found;
  if (auto found = match_softmax(expr, context)) return *found;
  return {};
}

}  // namespace rulemill::optimize::gpu
