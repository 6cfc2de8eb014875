// The one HDF5 door: an immutable table of columns in a file. Equal content gives equal bytes (no times inside), the
// file appears under its name only when it is whole and on disk, and a checksum over attributes and columns tells
// tampering.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/attributes.h"
#include "runtime/bytes.h"

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

/// What a table's columns mean: a name and a version that its reader demands.
struct TableSchema {
  std::string name;
  std::uint64_t version = 1;
  bool operator==(const TableSchema&) const = default;
};

struct TableColumn {
  std::string name;
  ElementType type{};
  std::uint32_t width = 1;  // elements a row
};

/// What was written.
struct TableSummary {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // of the file
  std::string checksum;     // of the content, hex
};

/// Builds a table in memory, compressed as columns come, and writes it out whole. Nothing is on disk before commit().
class TableWriter {
 public:
  static constexpr int default_level = 1;

  explicit TableWriter(TableSchema schema);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// values.size() = rows · width; every column has the same number of rows. `level` 0 stores without compression (for
  /// hashes, which do not compress), 1 … 9 is shuffle and deflate.
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

  /// Writes the file: temporary name, fsync, rename, fsync of the folder. Throws IoError, leaving nothing at `path`.
  TableSummary commit(const std::filesystem::path& path);

 private:
  void add_column(const TableColumn& column, std::size_t elements, ByteView bytes, int level);
  struct State;
  std::unique_ptr<State> state_;
};

/// What opening a table compares with its header: its size alone, or its size and a hash of all its bytes.
enum class TableCheck : std::uint8_t { Size, Whole };

/// Reads a table. Throws InputError, naming the file and what was expected, if it is foreign, truncated or of another
/// schema; IoError if it cannot be opened. Several readers may be used from several threads.
class TableReader {
 public:
  /// Any schema: to say what a file is.
  explicit TableReader(const std::filesystem::path& path, TableCheck check = TableCheck::Whole);
  TableReader(const std::filesystem::path& path, const TableSchema& expected, TableCheck check = TableCheck::Whole);
  ~TableReader();
  TableReader(TableReader&&) noexcept;
  TableReader& operator=(TableReader&&) noexcept;

  const std::filesystem::path& path() const;
  const TableSchema& schema() const;
  std::uint64_t rows() const;
  const std::string& checksum() const;
  /// The writer's attributes; the table's own (schema, rows, checksum) are not among them.
  const Attributes& attributes() const;
  /// Throw InputError if there is no such attribute of this kind.
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

  /// Reads every column and compares it with the content's checksum. Throws InputError if they differ.
  void verify() const;

 private:
  void read_into(const std::string& name, ElementType type, std::uint64_t first, std::uint64_t count,
                 std::span<std::byte> out) const;
  struct State;
  std::unique_ptr<State> state_;
};

/// "1.10.8": the HDF5 library's version.
std::string table_library_version();

}  // namespace rulemill::runtime
