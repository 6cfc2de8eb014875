// Copies of tensors that move elements of any type.
#pragma once

#include <optional>
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

/// Joins tensors of equal type and rank; nullopt if their other dimensions differ.
std::optional<RawTensor> concatenate(const std::vector<RawTensor>& inputs, std::size_t axis);
/// Takes slices at `indices` along an axis; the indices are in range.
RawTensor take(const RawTensor& input, const std::vector<std::int64_t>& indices, const Dims& index_dims,
               std::size_t axis);

}  // namespace rulemill::optimize
