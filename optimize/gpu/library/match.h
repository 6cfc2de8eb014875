// Matchers of single operations and their common parts. Private to this folder.
#pragma once

#include "algebra/sizes/checked.h"
#include "optimize/gpu/library/library_op.h"

namespace rulemill::optimize::gpu {

/// Returns std::monostate if no library operation computes the expression.
LibraryOp recognize_library_op(const TensorExpr& expr, const MatchContext& context);

bool is_program(const algebra::Function& function, std::span<const algebra::Function::Instruction> steps);

/// An expression without its epilogue. The bias is along dimension `channel`.
struct CoreExpr {
  const ElementExpr* element;
  Epilogue epilogue;
};
CoreExpr split_epilogue(const TensorExpr& expr, std::size_t channel, const MatchContext& context);

/// Whether all indices of the read are within its tensor.
bool is_in_bounds(const ElementExpr& read, const TensorExpr& expr, const MatchContext& context);

/// scale · Σ_bound reads[0] · reads[1] ⋯
struct Contraction {
  double scale = 1;
  std::vector<algebra::Atom> bound;
  std::vector<const ElementExpr*> reads;
  const ElementExpr* inner = nullptr;
};
std::optional<Contraction> match_contraction(const ElementExpr& element);

std::optional<Convolution> match_convolution(const TensorExpr& expr, const MatchContext& context);
std::optional<Pooling> match_pooling(const TensorExpr& expr, const MatchContext& context);
std::optional<Product> match_product(const TensorExpr& expr, const MatchContext& context);
std::optional<Softmax> match_softmax(const TensorExpr& expr, const MatchContext& context);

}  // namespace rulemill::optimize::gpu
