#include "optimize/gpu/lowering/layout.h"

#include <algorithm>

namespace rulemill::optimize::gpu {

const char* layout_name(Layout layout) { return layout == Layout::RowMajor ? "row-major" : "channels last"; }

std::vector<std::size_t> dims_in_memory_order(Layout layout, std::size_t rank) {
  std::vector<std::size_t> order;
  const bool last = layout == Layout::ChannelsLast && rank > 2;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!last || d != 1) order.push_back(d);
  }
  if (last) order.push_back(1);
  return order;
}

std::vector<std::int64_t> strides(std::span<const std::int64_t> dims, Layout layout) {
  std::vector<std::int64_t> result(dims.size(), 1);
  const std::vector<std::size_t> order = dims_in_memory_order(layout, dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    result[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return result;
}

bool layouts_coincide(std::span<const std::int64_t> dims) {
  if (dims.size() < 3 || dims[1] == 1) return true;
  return std::all_of(dims.begin() + 2, dims.end(), [](std::int64_t dim) { return dim == 1; });
}

std::vector<float> to_layout(std::vector<float> values, std::span<const std::int64_t> dims, Layout layout) {
  if (layout == Layout::RowMajor || dims.size() < 3) return values;
  const auto images = static_cast<std::size_t>(dims[0]), channels = static_cast<std::size_t>(dims[1]);
  const std::size_t positions = images * channels == 0 ? 0 : values.size() / (images * channels);
  std::vector<float> result(values.size());
  for (std::size_t n = 0; n < images; ++n) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < positions; ++p)
        result[(n * positions + p) * channels + c] = values[(n * channels + c) * positions + p];
    }
  }
  return result;
}

}  // namespace rulemill::optimize::gpu
