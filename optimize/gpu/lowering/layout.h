// The order in which a tensor's elements lie in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rulemill::optimize::gpu {

/// RowMajor is NCHW for images; in ChannelsLast (NHWC) dimension 1 varies fastest.
enum class Layout : std::uint8_t { RowMajor, ChannelsLast };

const char* layout_name(Layout layout);
/// Returns the dimensions from slowest to fastest. Channels can be last from rank 3 on.
std::vector<std::size_t> dims_in_memory_order(Layout layout, std::size_t rank);
/// Returns the stride of each dimension, in elements.
std::vector<std::int64_t> strides(std::span<const std::int64_t> dims, Layout layout);
/// Whether both layouts have the same order of elements.
bool layouts_coincide(std::span<const std::int64_t> dims);
/// Reorders row-major values to a layout.
std::vector<float> to_layout(std::vector<float> values, std::span<const std::int64_t> dims, Layout layout);

}  // namespace rulemill::optimize::gpu
