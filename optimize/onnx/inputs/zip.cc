#include "optimize/onnx/inputs/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
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
    if (unpacked.size() != size || checksum_of(unpacked) != checksum) fail(file + " is damaged");
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

  static std::uint32_t checksum_of(const std::string& text) {
    return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  }

  std::string_view bytes_;
  const std::string& place_;
};

}  // namespace

std::map<std::string, std::string> parse_zip(std::string_view bytes, const std::string& place) {
  return ZipReader(bytes, place).files();
}

}  // namespace rulemill::optimize
