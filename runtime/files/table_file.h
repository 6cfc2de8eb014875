// Immutable tables of columns in HDF5 files. Equal content gives equal bytes: no timestamps are stored. A file is
// written atomically. Checksums of the bytes and of the content detect corruption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/attributes.h"
#include "runtime/text/bytes.h"

namespace rulemill::runtime {

enum class ElementType : std::uint8_t { U8, U16, U32, U64, I64, F64 };

template <class T>
constexpr ElementType element_type();
template <>
constexpr ElementType element_type<std::uint8_t>() {
  return ElementType::U8;
}
template <>
constexpr ElementType element_type<std::uint16_t>() {
  return ElementType::U16;
}
template <>
constexpr ElementType element_type<std::uint32_t>() {
  return ElementType::U32;
}
template <>
constexpr ElementType element_type<std::uint64_t>() {
  return ElementType::U64;
}
template <>
constexpr ElementType element_type<std::int64_t>() {
  return ElementType::I64;
}
template <>
constexpr ElementType element_type<double>() {
  return ElementType::F64;
}

/// The meaning of a table's columns: a name and a version, which readers check.
struct TableSchema {
  std::string name;
  std::uint64_t version = 1;
  bool operator==(const TableSchema&) const = default;
};

struct TableColumn {
  std::string name;
  ElementType type{};
  std::uint32_t width = 1;  // elements per row
};

/// A written table.
struct TableSummary {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // of the file
  std::string checksum;     // of the content, hex
};

/// Builds a table in memory and compresses each column when it is added, with HDF5's filters but without HDF5, which
/// one thread at a time may use. commit() writes the file.
class TableWriter {
 public:
  static constexpr int default_level = 1;

  explicit TableWriter(TableSchema schema);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// Adds a column. values.size() = rows · width; every column has the same number of rows. Level 0 stores without
  /// compression (for hashes, which do not compress), levels 1 to 9 use shuffle and deflate.
  template <class T>
  void column(const std::string& name, std::span<const T> values, std::uint32_t width = 1, int level = default_level) {
    add_column({name, element_type<T>(), width}, values.size(), std::as_bytes(values), level);
  }
  template <class T>
  void column(const std::string& name, const std::vector<T>& values, std::uint32_t width = 1,
              int level = default_level) {
    column(name, std::span<const T>(values), width, level);
  }
  void attribute(const std::string& name, Attribute value);

  /// Writes the file atomically. Throws IoError.
  TableSummary commit(const std::filesystem::path& path);

 private:
  void add_column(const TableColumn& column, std::size_t elements, ByteView bytes, int level);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The comparison with the header when a table is opened: of the size, or also of a hash of all bytes.
enum class TableCheck : std::uint8_t { Size, Checksum };

/// Reads a table. Throws InputError if the file is not a table, corrupt or of another schema; IoError if it cannot be
/// opened. Thread-safe.
class TableReader {
 public:
  /// Accepts any schema.
  explicit TableReader(const std::filesystem::path& path, TableCheck check = TableCheck::Checksum);
  TableReader(const std::filesystem::path& path, const TableSchema& expected, TableCheck check = TableCheck::Checksum);
  ~TableReader();
  TableReader(TableReader&&) noexcept;
  TableReader& operator=(TableReader&&) noexcept;

  const std::filesystem::path& path() const;
  const TableSchema& schema() const;
  std::uint64_t rows() const;
  const std::string& checksum() const;
  /// Returns the attributes that the user added.
  const Attributes& attributes() const;
  /// These throw InputError if there is no such attribute of this type.
  std::string text(const std::string& name) const;
  std::uint64_t number(const std::string& name) const;

  const std::vector<TableColumn>& columns() const;
  bool has_column(const std::string& name) const;
  std::uint32_t width(const std::string& name) const;

  template <class T>
  std::vector<T> read(const std::string& name) const {
    return read_rows<T>(name, 0, rows());
  }
  template <class T>
  std::vector<T> read_rows(const std::string& name, std::uint64_t first, std::uint64_t count) const {
    std::vector<T> values(count * width(name));
    read_into(name, element_type<T>(), first, count, std::as_writable_bytes(std::span(values)));
    return values;
  }

  /// Reads every column and compares the checksum of the content. Throws InputError if it differs.
  void verify() const;

 private:
  void read_into(const std::string& name, ElementType type, std::uint64_t first, std::uint64_t count,
                 std::span<std::byte> out) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the version of the HDF5 library: "1.10.8".
std::string table_library_version();

}  // namespace rulemill::runtime
