// Owned HDF5 handles, and the layout of a table file. For table_writer.cc and table_reader.cc.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/files/table_file.h"
#include "runtime/text/hash.h"

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
  bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

/// Locks the library, which is not thread-safe, and disables its error messages.
std::unique_lock<std::recursive_mutex> hdf5_lock();

/// Returns the type of elements in files: little-endian on every machine. The library owns the handle.
hid_t hdf5_file_type(ElementType type);
std::size_t element_bytes(ElementType type);
std::string_view element_name(ElementType type);

/// The first 512 bytes of a table file (an HDF5 user block). The HDF5 file follows. The header contains its size and
/// XXH3 hash, so that a corrupt file is detected before HDF5 parses it.
struct TableHeader {
  static constexpr std::size_t bytes = 512;
  static constexpr std::string_view magic = "rulemill table 1\n";
  std::uint64_t body_bytes = 0;
  Hash128 body_hash;
};
std::array<std::byte, TableHeader::bytes> encode(const TableHeader& header);

/// The prefix of attributes that the table writer adds. Users' attributes must not begin with it.
constexpr std::string_view reserved_prefix = "table.";
constexpr const char* column_checksum = "checksum";

/// A hash of schema, number of rows, attributes and columns, the latter two sorted by name.
class ContentChecksum {
 public:
  ContentChecksum(const TableSchema& schema, std::uint64_t rows, const Attributes& attributes);
  void add(const TableColumn& column, const Hash128& hash);
  std::string hex() const { return to_hex(hasher_.digest128()); }

 private:
  Hasher hasher_;
};

}  // namespace rulemill::runtime
