// Movements of elements: each element of the result is an element of the input. A movement is known as far as the
// dimensions are; where they are numbers it moves elements of any kind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "optimize/onnx/operators/known_tensor.h"

namespace rulemill::optimize {

/// An axis of a movement's result.
struct MovedAxis {
  Dimension size;
  std::optional<std::size_t> from;  // axis of the input; nullopt: each position has the same elements
  /// Position i is that of start + i * step. The step is 0 if the positions are not known.
  std::int64_t start = 0, step = 1;
  /// The positions, instead; repeated if the size is larger.
  std::optional<std::vector<std::int64_t>> positions = {};
};

struct Movement {
  enum class Kind : std::uint8_t { Identity, Reshape, Axes };
  Kind kind = Kind::Identity;
  std::optional<Dimensions> dims = {};  // of the result; nullopt: of unknown rank
  /// Of the kind Axes. Their sizes have as many elements as `dims`; axes of the input that none is from have one.
  std::vector<MovedAxis> axes = {};

  /// Whether the result has all elements of the input in their order.
  bool keeps_order(const std::optional<Dimensions>& input) const;
};

/// The movement that repeats elements of `from` to the dimensions `to`, to which they are broadcast.
Movement repeat_elements(const Dimensions& from, const Dimensions& to);

/// Returns the result. Its elements are unknown if those of the input are, or they are too large.
KnownTensor move_elements(const KnownTensor& input, const Movement& movement, const EvaluationContext& context);

/// The elements of a result, appended in row-major order from inputs that all have numbers, or all have sizes.
class ElementWriter {
 public:
  void append(const KnownTensor& from, std::int64_t first, std::int64_t count = 1);
  KnownTensor finish(int type, const Dims& dims, const EvaluationContext& context) &&;

 private:
  std::string bytes_;
  std::vector<algebra::Poly> sizes_;
};

/// Gives all tensors numbers or all of them sizes; returns false if the elements of one are unknown.
bool unify_elements(std::span<KnownTensor> tensors);
/// Whether a tensor of numbers has at most `max_bytes`.
bool is_small(const Dims& dims, int type, std::size_t max_bytes);

/// Returns the distances between elements of a row-major tensor along each dimension.
Dims row_major_strides(const Dims& dims);
/// Calls visit(first, count) for runs of elements, each at the sum of one offset of each axis, in row-major order.
void visit_elements(const std::vector<Dims>& offsets,
                    const std::function<void(std::int64_t first, std::int64_t count)>& visit);

}  // namespace rulemill::optimize
