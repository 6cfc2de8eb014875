// What cuDNN and cuBLAS compute at once, recognized by the form of a tensor's element at its sizes: whatever operator
// has that form is run by them, and none is named. What is not recognized is computed by a kernel of its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "algebra/language/function.h"
#include "optimize/gpu/element.h"

namespace rulemill::optimize::gpu {

/// What a library does to a result before it writes it: result + bias[channel], then max(·, 0).
struct Epilogue {
  std::optional<std::uint32_t> bias;  // a tensor
  bool relu = false;
};

/// out[b, r, c] = scale · Σ_d left[b, r, d] · right[b, d, c]; strides in elements. The bias is by column.
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

/// A matrix as cuBLAS has it, column after column: `turned` if it has to be transposed to be ours, read so (ours itself
/// being the transpose of what is row after row). `leading`: elements from one column to the next.
struct CublasMatrix {
  std::int64_t rows = 1, columns = 1, leading = 1;
  bool turned = false;
};
/// Of `rows` lines, `row` elements apart, of `columns` elements, `column` apart.
CublasMatrix cublas_matrix(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column);

/// out[b, o, i...] = Σ image[b, group of o, i · stride + u · dilation − pad] · filters[o, q, u...], zero outside.
struct Convolution {
  std::uint32_t image = 0, filters = 0;
  std::int64_t groups = 1;
  std::vector<std::int64_t> stride, dilation, front, back;  // back: so much that out's last window just ends in it
  Epilogue epilogue;

  /// What libraries can say: as many zeros in front as behind, but for what no window reaches.
  bool symmetric(std::span<const std::int64_t> image_dims, std::span<const std::int64_t> filter_dims,
                 std::span<const std::int64_t> out_dims) const;
};

/// The largest, or the mean (zeros of the padding count), over a window of each image's channel by itself.
struct Pooling {
  std::uint32_t image = 0;
  bool mean = false;
  std::vector<std::int64_t> window, stride, pad;
};

/// exp(x) / Σ exp(x) along one axis: of `length`, between `outer` and `inner`.
struct Softmax {
  std::uint32_t input = 0;
  std::int64_t outer = 1, length = 1, inner = 1;
};

using Form = std::variant<std::monostate, Product, Convolution, Pooling, Softmax>;

/// A tensor's definition among those of others.
struct Context {
  std::span<const std::vector<std::int64_t>> dims;  // by tensor
  std::span<const algebra::Function> functions;
  algebra::Symbols& symbols;
  /// The body of another tensor, null for what is not computed.
  std::function<const Body*(std::uint32_t)> body_of;
};

Form form_of(const Body& body, const Context& context);

}  // namespace rulemill::optimize::gpu
