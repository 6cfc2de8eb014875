#include "optimize/onnx/clean/element_moves.h"

#include <algorithm>
#include <numeric>

namespace rulemill::optimize {

namespace {

std::int64_t product(Dims::const_iterator begin, Dims::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies());
}

}  // namespace

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

RawTensor strided_copy(const RawTensor& input, const Dims& dims, const Dims& strides, std::int64_t offset) {
  const std::size_t width = input.width();
  const auto count = static_cast<std::size_t>(product(dims.begin(), dims.end()));
  std::string bytes(count * width, '\0');
  Dims index(dims.size(), 0);
  std::int64_t from = offset;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(bytes.data() + i * width, input.bytes.data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t d = dims.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < dims[d]) break;
      from -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
  return make_raw_tensor(input.type, dims, std::move(bytes));
}

std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t first = i < a.size() ? a[a.size() - 1 - i] : 1, second = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (first != second && first != 1 && second != 1) return std::nullopt;
    result[result.size() - 1 - i] = first == 1 ? second : first;
  }
  return result;
}

RawTensor broadcast_to(const RawTensor& input, const Dims& dims) {
  if (input.dims == dims) return input;
  const Dims own = row_major_strides(input.dims);
  Dims strides(dims.size(), 0);
  for (std::size_t i = 0; i < input.dims.size(); ++i) {
    const std::size_t d = input.dims.size() - 1 - i;
    if (input.dims[d] != 1) strides[dims.size() - 1 - i] = own[d];
  }
  return strided_copy(input, dims, strides, 0);
}

std::pair<std::int64_t, std::int64_t> sliced_range(std::int64_t size, std::int64_t start, std::int64_t end,
                                                   std::int64_t step) {
  const auto position = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const std::int64_t from = position(start, std::max<std::int64_t>(low, 0), high), to = position(end, low, high);
  const std::int64_t distance = step > 0 ? to - from : from - to, stride = step > 0 ? step : -step;
  return {from, distance <= 0 ? 0 : (distance - 1) / stride + 1};
}

std::vector<RawTensor> split_along(const RawTensor& input, const Dims& sizes, std::size_t axis) {
  std::vector<RawTensor> parts;
  const Dims strides = row_major_strides(input.dims);
  std::int64_t offset = 0;
  for (const std::int64_t size : sizes) {
    Dims dims = input.dims;
    dims[axis] = size;
    parts.push_back(strided_copy(input, dims, strides, offset * strides[axis]));
    offset += size;
  }
  return parts;
}

std::optional<RawTensor> concatenate(const std::vector<RawTensor>& inputs, std::size_t axis) {
  Dims dims = inputs.at(0).dims;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Dims other = inputs[i].dims;
    if (inputs[i].type != inputs[0].type || other.size() != dims.size()) return std::nullopt;
    const std::int64_t added = other[axis];
    other[axis] = dims[axis];
    if (other != dims) return std::nullopt;
    dims[axis] += added;
  }
  const auto along = static_cast<std::ptrdiff_t>(axis);
  const auto blocks = static_cast<std::size_t>(product(dims.begin(), dims.begin() + along));
  std::string bytes;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const RawTensor& input : inputs) {
      const std::size_t size = input.bytes.size() / blocks;
      bytes.append(input.bytes.substr(block * size, size));
    }
  }
  return make_raw_tensor(inputs[0].type, dims, std::move(bytes));
}

RawTensor take(const RawTensor& input, const std::vector<std::int64_t>& indices, const Dims& index_dims,
               std::size_t axis) {
  const auto along = input.dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto blocks = static_cast<std::size_t>(product(input.dims.begin(), along));
  const auto row = static_cast<std::size_t>(product(along + 1, input.dims.end())) * input.width();
  const auto rows = static_cast<std::size_t>(*along);
  std::string bytes;
  bytes.reserve(blocks * indices.size() * row);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const std::int64_t index : indices)
      bytes.append(input.bytes.substr((block * rows + static_cast<std::size_t>(index)) * row, row));
  }
  Dims dims(input.dims.begin(), along);
  dims.insert(dims.end(), index_dims.begin(), index_dims.end());
  dims.insert(dims.end(), along + 1, input.dims.end());
  return make_raw_tensor(input.type, std::move(dims), std::move(bytes));
}

RawTensor take_elements(const RawTensor& input, const std::vector<std::int64_t>& indices, const Dims& index_dims,
                        std::size_t axis) {
  const Dims strides = row_major_strides(input.dims), index_strides = row_major_strides(index_dims);
  const std::size_t width = input.width();
  std::string bytes;
  bytes.reserve(indices.size() * width);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t from = indices[i] * strides[axis];
    for (std::size_t d = 0; d < index_dims.size(); ++d) {
      if (d != axis) from += static_cast<std::int64_t>(i) / index_strides[d] % index_dims[d] * strides[d];
    }
    bytes.append(input.bytes.substr(static_cast<std::size_t>(from) * width, width));
  }
  return make_raw_tensor(input.type, index_dims, std::move(bytes));
}

RawTensor nonzero_indices(const RawTensor& input) {
  const std::size_t rank = input.dims.size(), width = input.width();
  const Dims strides = row_major_strides(input.dims);
  std::vector<Dims> rows(rank);
  for (std::int64_t i = 0; i < input.count(); ++i) {
    const std::string_view element = input.bytes.substr(static_cast<std::size_t>(i) * width, width);
    if (element.find_first_not_of('\0') == std::string_view::npos) continue;
    for (std::size_t d = 0; d < rank; ++d) rows[d].push_back(i / strides[d] % input.dims[d]);
  }
  Dims values;
  for (const Dims& row : rows) values.insert(values.end(), row.begin(), row.end());
  return make_integer_tensor({static_cast<std::int64_t>(rank), static_cast<std::int64_t>(rows.at(0).size())}, values);
}

}  // namespace rulemill::optimize
