// Operations that cuDNN and cuBLAS compute, and the context in which expressions are matched with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "algebra/operators/function.h"
#include "optimize/gpu/lowering/tensor_expr.h"

namespace rulemill::optimize::gpu {

/// The epilogue of a library operation: result + bias[channel], then max(·, 0).
struct Epilogue {
  std::optional<std::uint32_t> bias;  // a tensor
  bool relu = false;
};

/// out[b, r, c] = scale · Σ_d left[b, r, d] · right[b, d, c]; strides in elements. The bias is per column.
struct Product {
  struct Strides {
    std::int64_t batch = 0, row = 0, column = 0;
  };
  std::uint32_t left = 0, right = 0;
  std::int64_t batches = 1, rows = 1, columns = 1, depth = 1;
  Strides left_strides, right_strides, out_strides;
  double scale = 1;
  Epilogue epilogue;
};

/// A matrix in cuBLAS's column-major format. A row-major matrix is its own transpose there; `is_transposed` if it must
/// be transposed to match. `leading`: distance of columns, in elements.
struct CublasMatrix {
  std::int64_t rows = 1, columns = 1, leading = 1;
  bool is_transposed = false;
};
/// Describes a matrix of `rows` × `columns` elements with strides `row` and `column`.
CublasMatrix cublas_matrix(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column);

/// out[b, o, i...] = Σ image[b, group of o, i · stride + u · dilation − pad] · filters[o, q, u...], zero outside the
/// image.
struct Convolution {
  std::uint32_t image = 0, filters = 0;
  std::int64_t groups = 1;
  std::vector<std::int64_t> stride, dilation, pad_begin, pad_end;  // pad_end: exactly what the last window needs
  Epilogue epilogue;

  /// Whether libraries support the padding: equal on both sides, except where no window reaches.
  bool has_symmetric_padding(std::span<const std::int64_t> image_dims, std::span<const std::int64_t> filter_dims,
                             std::span<const std::int64_t> out_dims) const;
};

/// The maximum, or the mean (counting padding as zeros), over a window of each channel.
struct Pooling {
  std::uint32_t image = 0;
  bool mean = false;
  std::vector<std::int64_t> window, stride, pad;
};

/// exp(x) / Σ exp(x) along an axis of `length`, between `outer` and `inner` dimensions.
struct Softmax {
  std::uint32_t input = 0;
  std::int64_t outer = 1, length = 1, inner = 1;
};

using LibraryOp = std::variant<std::monostate, Product, Convolution, Pooling, Softmax>;

/// The tensors and functions that an expression refers to.
struct MatchContext {
  std::span<const std::vector<std::int64_t>> dims;  // by tensor
  std::span<const algebra::Function> functions;
  algebra::Symbols& symbols;
  /// Returns the expression of another tensor; null for inputs and constants.
  std::function<const TensorExpr*(std::uint32_t)> expr_of;
};

}  // namespace rulemill::optimize::gpu
