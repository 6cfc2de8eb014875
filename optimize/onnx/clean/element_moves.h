// Copies of tensors that move elements of any type.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "optimize/onnx/clean/raw_tensor.h"

namespace rulemill::optimize {

/// Returns the distances between elements of a row-major tensor along each dimension.
Dims row_major_strides(const Dims& dims);

/// Returns the tensor of `dims` whose element at index i is the input's element `offset` + sum of i[d] * `strides`[d].
RawTensor strided_copy(const RawTensor& input, const Dims& dims, const Dims& strides, std::int64_t offset);

/// Broadcasts two shapes as NumPy does; nullopt if they are incompatible.
std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b);
/// Repeats the input's elements to the shape, to which it must be broadcastable.
RawTensor broadcast_to(const RawTensor& input, const Dims& dims);

/// Returns the first position of a slice along an axis of `size` elements, and the number of elements, as ONNX clamps
/// them. Neither `size` nor `step` is 0.
std::pair<std::int64_t, std::int64_t> sliced_range(std::int64_t size, std::int64_t start, std::int64_t end,
                                                   std::int64_t step);
/// Cuts a tensor along an axis; `sizes` sum to the axis's size.
std::vector<RawTensor> split_along(const RawTensor& input, const Dims& sizes, std::size_t axis);
/// Joins tensors of equal type and rank; nullopt if their other dimensions differ.
std::optional<RawTensor> concatenate(const std::vector<RawTensor>& inputs, std::size_t axis);
/// Takes slices at `indices` along an axis; the indices are in range.
RawTensor take(const RawTensor& input, const std::vector<std::int64_t>& indices, const Dims& index_dims,
               std::size_t axis);
/// Takes the element at each of `indices` along an axis, and at the index's own position along the others; the indices
/// are in range, and `index_dims` not larger than the input's dimensions.
RawTensor take_elements(const RawTensor& input, const std::vector<std::int64_t>& indices, const Dims& index_dims,
                        std::size_t axis);
/// Returns the indices of elements that are not 0, one row for each dimension.
RawTensor nonzero_indices(const RawTensor& input);

}  // namespace rulemill::optimize
