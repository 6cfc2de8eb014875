// HDF5 handles that close themselves, and the names that a table file uses inside. For table_writer.cc and
// table_reader.cc.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/hash.h"
#include "runtime/table_file.h"

namespace rulemill::runtime {

class Hdf5Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  ~Hdf5Handle() {
    if (id_ >= 0 && closer_ != nullptr) closer_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

/// The library is not made for threads: one call at a time. Holding this also silences its own error messages.
std::unique_lock<std::recursive_mutex> hdf5_lock();

/// Little-endian, whatever the machine. The handle belongs to the library.
hid_t hdf5_file_type(ElementType type);
std::size_t element_bytes(ElementType type);
std::string_view element_name(ElementType type);

/// A table file is a header of 512 bytes (an HDF5 user block) and an HDF5 file. The header has the size and the XXH3
/// hash of what follows, so that damage is seen before HDF5 parses anything.
struct TableHeader {
  static constexpr std::size_t bytes = 512;
  static constexpr std::string_view magic = "rulemill table 1\n";
  std::uint64_t body_bytes = 0;
  Hash128 body_hash;
};
std::array<std::byte, TableHeader::bytes> encode(const TableHeader& header);

/// Attributes of the file itself begin with this; the writer's own do not.
constexpr std::string_view reserved_prefix = "table.";
constexpr const char* column_checksum = "checksum";

/// Over schema, rows, attributes and columns, each in name order.
class ContentChecksum {
 public:
  ContentChecksum(const TableSchema& schema, std::uint64_t rows, const Attributes& attributes);
  void add(const TableColumn& column, const Hash128& hash);
  std::string hex() const { return to_hex(hasher_.digest128()); }

 private:
  Hasher hasher_;
};

}  // namespace rulemill::runtime
