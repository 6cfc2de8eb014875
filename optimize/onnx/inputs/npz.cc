#include "optimize/onnx/inputs/npz.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "runtime/text/error.h"
#include "runtime/text/printable.h"

namespace rulemill::optimize {
namespace {

using runtime::InputError;

constexpr std::uint32_t end_signature = 0x06054b50, entry_signature = 0x02014b50, file_signature = 0x04034b50;
constexpr std::size_t end_bytes = 22, entry_bytes = 46, file_header_bytes = 30;
constexpr std::size_t max_comment_bytes = 0xffff;
constexpr std::uint32_t stored = 0, deflated = 8;
constexpr std::uint32_t encrypted = 1;             // a flag
constexpr std::uint32_t in_zip64 = 0xffffffff;     // a size or offset that is elsewhere
constexpr std::uint64_t max_deflate_ratio = 1032;  // of the format

/// Reads little-endian numbers from an archive.
class ZipReader {
 public:
  ZipReader(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  std::map<std::string, std::string> files() const {
    const std::size_t end = end_record();
    std::map<std::string, std::string> files;
    std::size_t position = number(end + 16, 4);
    for (std::size_t count = number(end + 10, 2); count > 0; --count) {
      if (number(position, 4) != entry_signature) fail("expected an entry of the directory");
      const std::string name(view(position + entry_bytes, number(position + 28, 2)));
      if (!files.emplace(name, content(position, name)).second)
        fail("two files are called " + runtime::make_printable(name));
      position += entry_bytes + number(position + 28, 2) + number(position + 30, 2) + number(position + 32, 2);
    }
    return files;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw InputError(place_, "not a NumPy archive: " + why); }

  std::string_view view(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) fail("it is truncated");
    return bytes_.substr(offset, size);
  }

  std::uint32_t number(std::uint64_t offset, std::size_t size) const {
    std::uint32_t value = 0;
    std::memcpy(&value, view(offset, size).data(), size);
    return value;
  }

  /// Returns the position of the record at the end, which only a comment may follow.
  std::size_t end_record() const {
    if (bytes_.size() < end_bytes) fail("it is too short");
    const std::size_t last = bytes_.size() - end_bytes, first = last - std::min(last, max_comment_bytes);
    for (std::size_t position = last;; --position) {
      if (number(position, 4) == end_signature) return position;
      if (position == first) fail("it has no directory");
    }
  }

  /// Returns the content of the file with this directory entry.
  std::string content(std::size_t entry, const std::string& name) const {
    const std::uint32_t flags = number(entry + 8, 2), method = number(entry + 10, 2), checksum = number(entry + 16, 4),
                        packed_size = number(entry + 20, 4), size = number(entry + 24, 4),
                        header = number(entry + 42, 4);
    const std::string file = runtime::make_printable(name);
    if ((flags & encrypted) != 0) fail(file + " is encrypted");
    if (packed_size == in_zip64 || size == in_zip64 || header == in_zip64) fail(file + " is larger than 4 GB");
    if (number(header, 4) != file_signature) fail(file + " has no header");
    const std::uint64_t data =
        std::uint64_t{header} + file_header_bytes + number(header + 26, 2) + number(header + 28, 2);
    const std::string_view packed = view(data, packed_size);
    std::string unpacked;
    if (method == stored) {
      unpacked = packed;
    } else if (method == deflated) {
      if (size > max_deflate_ratio * packed.size()) fail(file + " has an impossible size");
      unpacked = inflated(packed, size, file);
    } else {
      fail(file + " is compressed by an unknown method");
    }
    const auto actual = crc32_z(0, reinterpret_cast<const Bytef*>(unpacked.data()), unpacked.size());
    if (unpacked.size() != size || actual != checksum) fail(file + " is damaged");
    return unpacked;
  }

  std::string inflated(std::string_view packed, std::size_t size, const std::string& file) const {
    std::string result(size, '\0');
    z_stream stream{};
    constexpr int raw_deflate = -MAX_WBITS;
    if (inflateInit2(&stream, raw_deflate) != Z_OK) throw runtime::Error(place_, "zlib cannot be started");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(size);
    const int status = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (status != Z_STREAM_END || stream.avail_out != 0) fail(file + " is damaged");
    return result;
  }

  std::string_view bytes_;
  const std::string& place_;
};

struct NumpyType {
  std::string_view name;  // in the header of an array
  int onnx_type;
  std::size_t bytes;
};

constexpr std::array<NumpyType, 13> numpy_types{{{"<f4", onnx::TensorProto::FLOAT, 4},
                                                 {"<f2", onnx::TensorProto::FLOAT16, 2},
                                                 {"<f8", onnx::TensorProto::DOUBLE, 8},
                                                 {"<i8", onnx::TensorProto::INT64, 8},
                                                 {"<i4", onnx::TensorProto::INT32, 4},
                                                 {"<i2", onnx::TensorProto::INT16, 2},
                                                 {"|i1", onnx::TensorProto::INT8, 1},
                                                 {"<u8", onnx::TensorProto::UINT64, 8},
                                                 {"<u4", onnx::TensorProto::UINT32, 4},
                                                 {"<u2", onnx::TensorProto::UINT16, 2},
                                                 {"|u1", onnx::TensorProto::UINT8, 1},
                                                 {"|b1", onnx::TensorProto::BOOL, 1},
                                                 {"<u2", onnx::TensorProto::BFLOAT16, 2}}};

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::string_view npy_extension = ".npy";

/// One array. Its header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class NpyReader {
 public:
  NpyReader(std::string_view bytes, std::string place) : bytes_(bytes), place_(std::move(place)) {}

  InputTensor tensor() {
    split_header();
    const std::string_view type_name = quoted_value("'descr':");
    const auto* type = std::ranges::find(numpy_types, type_name, &NumpyType::name);
    if (type == numpy_types.end())
      fail(fmt::format("expected little-endian numbers or Booleans, found the type {}",
                       runtime::make_printable(type_name)));
    InputTensor tensor{type->onnx_type, shape(), std::string(data_)};
    std::uint64_t bytes = type->bytes;
    for (const std::int64_t dim : tensor.shape) {
      if (dim > 0 && bytes > data_.size() / static_cast<std::uint64_t>(dim)) fail("it is truncated");
      bytes *= static_cast<std::uint64_t>(dim);
    }
    if (bytes != data_.size()) fail(fmt::format("expected {} bytes of elements, found {}", bytes, data_.size()));
    if (value("'fortran_order':").starts_with("True")) make_row_major(tensor, type->bytes);
    return tensor;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw InputError(place_, why); }

  void split_header() {
    if (!bytes_.starts_with(npy_magic) || bytes_.size() < 12) fail("it is not a NumPy array");
    const bool is_long = bytes_[6] > 1;  // version 2 and 3
    std::uint32_t size = 0;
    std::memcpy(&size, bytes_.data() + 8, is_long ? 4 : 2);
    const std::size_t start = is_long ? 12 : 10;
    if (size > bytes_.size() - start) fail("it is truncated");
    header_ = bytes_.substr(start, size);
    data_ = bytes_.substr(start + size);
  }

  /// Returns the header after a key.
  std::string_view value(std::string_view key) const {
    const std::size_t found = header_.find(key);
    if (found == std::string_view::npos) fail("its header lacks " + std::string(key));
    std::string_view rest = header_.substr(found + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
  }

  std::string_view quoted_value(std::string_view key) const {
    const std::string_view rest = value(key);
    const std::size_t end = rest.starts_with('\'') ? rest.find('\'', 1) : std::string_view::npos;
    if (end == std::string_view::npos) return rest.substr(0, rest.find('}'));
    return rest.substr(1, end - 1);
  }

  std::vector<std::int64_t> shape() const {
    std::string_view rest = value("'shape':");
    std::vector<std::int64_t> dims;
    const std::size_t end = rest.find(')');
    if (!rest.starts_with('(') || end == std::string_view::npos) fail("its header has no shape");
    for (rest = rest.substr(1, end - 1); rest.find_first_not_of(", ") != std::string_view::npos;) {
      rest.remove_prefix(rest.find_first_not_of(", "));
      std::int64_t dim = -1;
      const auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
      if (error != std::errc() || dim < 0) fail("its header has a malformed shape");
      dims.push_back(dim);
      rest.remove_prefix(static_cast<std::size_t>(next - rest.data()));
    }
    return dims;
  }

  /// Elements lie in the order of the reversed shape: element i of the result is counted in row-major order.
  static void make_row_major(InputTensor& tensor, std::size_t element_bytes) {
    const std::string columns = tensor.raw;
    std::vector<std::int64_t> index(tensor.shape.size(), 0);
    for (std::size_t to = 0; to < columns.size(); to += element_bytes) {
      std::size_t from = 0, stride = element_bytes;
      for (std::size_t d = 0; d < index.size(); ++d) {
        from += stride * static_cast<std::size_t>(index[d]);
        stride *= static_cast<std::size_t>(tensor.shape[d]);
      }
      std::memcpy(tensor.raw.data() + to, columns.data() + from, element_bytes);
      for (std::size_t d = index.size(); d-- > 0 && ++index[d] == tensor.shape[d];) index[d] = 0;
    }
  }

  std::string_view bytes_, header_, data_;
  std::string place_;
};

}  // namespace

std::map<std::string, InputTensor> parse_npz(std::string_view bytes, const std::string& place) {
  std::map<std::string, InputTensor> tensors;
  for (const auto& [file, content] : ZipReader(bytes, place).files()) {
    if (!file.ends_with(npy_extension))
      throw InputError(place, runtime::make_printable(file) + " in it is not an array");
    const std::string name = file.substr(0, file.size() - npy_extension.size());
    tensors.emplace(name, NpyReader(content, place + ": array " + runtime::make_printable(name)).tensor());
  }
  return tensors;
}

std::string serialize_npy(const InputTensor& tensor) {
  const auto* type = std::ranges::find(numpy_types, tensor.onnx_type, &NumpyType::onnx_type);
  RM_CHECK(type != numpy_types.end(), "the element type has a NumPy type");
  std::string dims;
  for (const std::int64_t dim : tensor.shape) dims += std::to_string(dim) + ", ";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type->name, dims);
  constexpr std::size_t prefix_bytes = 10, header_alignment = 64;
  header +=
      std::string((2 * header_alignment - (prefix_bytes + header.size() + 1) % header_alignment) % header_alignment,
                  ' ') +
      '\n';
  std::string result(npy_magic);
  result += {'\x01', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return result + header + tensor.raw;
}

}  // namespace rulemill::optimize
