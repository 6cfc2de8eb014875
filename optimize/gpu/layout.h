// The order in which a tensor's elements lie in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rulemill::optimize::gpu {

/// Row-major, as ONNX has them (NCHW of images), or with dimension 1 as the fastest (NHWC).
enum class Layout : std::uint8_t { RowMajor, ChannelsLast };

const char* name_of(Layout layout);
/// The dimensions of a tensor, the slowest first. Channels can be last from three dimensions on.
std::vector<std::size_t> memory_order(Layout layout, std::size_t rank);
/// Elements from one index to the next, by dimension.
std::vector<std::int64_t> strides(std::span<const std::int64_t> dims, Layout layout);
/// Whether both layouts are the same order of elements.
bool same_order(std::span<const std::int64_t> dims);
/// Row-major values in another order.
std::vector<float> rearranged(std::vector<float> values, std::span<const std::int64_t> dims, Layout layout);

}  // namespace rulemill::optimize::gpu
