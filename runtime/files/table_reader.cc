#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "runtime/files/hdf5_handle.h"
#include "runtime/files/table_file.h"
#include "runtime/process/input_file.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

constexpr std::size_t cache_bytes = std::size_t{8} << 20;
constexpr std::uint64_t verify_rows = std::uint64_t{1} << 18;

std::string expectation(const TableSchema* expected) {
  if (expected == nullptr) return "expected a rulemill table";
  return "expected a rulemill table of " + expected->name + ", version " + std::to_string(expected->version);
}

/// Compares the size and, for TableCheck::Checksum, the hash of the file with its header, before HDF5 parses the file.
void check_header(const std::filesystem::path& path, const std::string& expected, TableCheck check) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) throw_io_error(path, "cannot be read", errno);
  struct stat status {};
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(is_regular ? status.st_size : 0);
  void* memory = size >= TableHeader::bytes ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED)
    throw InputError(path.string(), "is not a rulemill table (" + std::to_string(size) + " bytes); " + expected);
  const ByteView all(static_cast<const std::byte*>(memory), size);
  const std::string_view block = text_of(all.first(TableHeader::bytes));
  const bool is_table = block.starts_with(TableHeader::magic);
  const std::string header = is_table ? std::string(block) : std::string();
  const ByteView body = all.subspan(TableHeader::bytes);
  const Hash128 hash = is_table && check == TableCheck::Checksum ? hash128(body) : Hash128{};
  ::munmap(memory, size);
  if (!is_table) throw InputError(path.string(), "is not a rulemill table; " + expected);

  const auto field = [&](const std::string& name) {
    const auto at = header.find("\n" + name + " ");
    if (at == std::string::npos) return std::string();
    const auto start = at + name.size() + 2;
    return header.substr(start, header.find('\n', start) - start);
  };
  const std::size_t body_bytes = size - TableHeader::bytes;
  if (field("bytes") != std::to_string(body_bytes)) {
    throw InputError(path.string(), "is truncated or damaged: " + std::to_string(body_bytes) +
                                        " bytes after its header; expected " + field("bytes"));
  }
  if (check == TableCheck::Size) return;
  if (field("xxh3") != to_hex(hash))
    throw InputError(path.string(), "is damaged: its bytes hash to " + to_hex(hash) + "; expected " + field("xxh3"));
  const auto expected_block = encode({body_bytes, hash});
  if (header != text_of(expected_block)) throw InputError(path.string(), "is damaged: its header has changed");
}

Hdf5Handle open_file(const std::filesystem::path& path) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_cache(access.get(), 0, 521, cache_bytes, 0.75);
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.is_valid()) throw InputError(path.string(), "is damaged: HDF5 cannot open it");
  return file;
}

std::optional<Attribute> read_attribute(hid_t object, const char* name) {
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(attribute.is_valid() ? H5Aget_type(attribute.get()) : -1, H5Tclose);
  if (!type.is_valid()) return std::nullopt;
  switch (H5Tget_class(type.get())) {
    case H5T_STRING: {
      if (H5Tis_variable_str(type.get()) != 0) return std::nullopt;
      std::string text(H5Tget_size(type.get()), '\0');
      if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return std::nullopt;
      text.resize(std::min(text.size(), text.find_last_not_of('\0') + 1));
      return text;
    }
    case H5T_INTEGER: {
      std::uint64_t number = 0;
      if (H5Aread(attribute.get(), H5T_NATIVE_UINT64, &number) < 0) return std::nullopt;
      return number;
    }
    case H5T_FLOAT: {
      double real = 0;
      if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &real) < 0) return std::nullopt;
      return real;
    }
    default:
      return std::nullopt;
  }
}

template <class T>
std::optional<T> read_attribute_as(hid_t object, const std::string& name) {
  const auto value = read_attribute(object, name.c_str());
  if (!value) return std::nullopt;
  if (const T* typed = std::get_if<T>(&*value)) return *typed;
  return std::nullopt;
}

std::optional<ElementType> element_type_of(hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  for (const auto candidate :
       {ElementType::U8, ElementType::U16, ElementType::U32, ElementType::U64, ElementType::I64, ElementType::F64}) {
    if (H5Tequal(type.get(), hdf5_file_type(candidate)) > 0) return candidate;
  }
  return std::nullopt;
}

/// Sorted.
std::vector<std::string> names_of_attributes(hid_t file) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  return names;
}

/// Sorted.
std::vector<std::string> names_of_datasets(hid_t file) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  return names;
}

}  // namespace

struct TableReader::Impl {
  std::filesystem::path path;
  Hdf5Handle file;
  TableSchema schema;
  std::uint64_t rows = 0;
  std::string checksum;
  Attributes attributes;
  std::vector<TableColumn> columns;

  [[noreturn]] void throw_damaged(const std::string& what) const {
    throw InputError(path.string(), "is damaged: " + what);
  }

  const TableColumn& column(const std::string& name) const {
    for (const TableColumn& column : columns) {
      if (column.name == name) return column;
    }
    throw InputError(path.string(), "has no column " + name + "; expected one in a table of " + schema.name);
  }

  template <class T>
  T reserved_attribute(const char* name) const {
    const auto value = read_attribute_as<T>(file.get(), std::string(reserved_prefix) + name);
    if (!value) throw_damaged(std::string("attribute ") + std::string(reserved_prefix) + name + " is missing");
    return *value;
  }

  void read_attributes() {
    schema = {reserved_attribute<std::string>("schema"), reserved_attribute<std::uint64_t>("version")};
    rows = reserved_attribute<std::uint64_t>("rows");
    checksum = reserved_attribute<std::string>("checksum");
    for (const std::string& name : names_of_attributes(file.get())) {
      if (name.rfind(reserved_prefix, 0) == 0) continue;
      auto value = read_attribute(file.get(), name.c_str());
      if (!value) throw_damaged("attribute " + name + " has an unknown type");
      attributes.emplace(name, std::move(*value));
    }
  }

  void read_columns() {
    for (const std::string& name : names_of_datasets(file.get())) {
      const Hdf5Handle dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
      const Hdf5Handle space(dataset.is_valid() ? H5Dget_space(dataset.get()) : -1, H5Sclose);
      const auto type = dataset.is_valid() ? element_type_of(dataset.get()) : std::nullopt;
      if (!space.is_valid() || !type) throw_damaged("column " + name + " has an unknown type");
      std::array<hsize_t, 2> shape = {0, 1};
      const int rank = H5Sget_simple_extent_ndims(space.get());
      if (rank < 1 || rank > 2) throw_damaged("column " + name + " has rank " + std::to_string(rank));
      H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
      if (shape[0] != rows) {
        throw_damaged("column " + name + " has " + std::to_string(shape[0]) + " rows; expected " +
                      std::to_string(rows));
      }
      columns.push_back({name, *type, static_cast<std::uint32_t>(shape[1])});
    }
  }
};

namespace {

/// Opens a table, checks it and lists its columns. `expected` may be null.
template <class Impl>
std::unique_ptr<Impl> open_table(const std::filesystem::path& path, const TableSchema* expected, TableCheck check) {
  check_header(path, expectation(expected), check);
  const auto lock = hdf5_lock();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->file = open_file(path);
  impl->read_attributes();
  if (expected != nullptr && impl->schema != *expected) {
    throw InputError(path.string(), "is a table of " + impl->schema.name + ", version " +
                                        std::to_string(impl->schema.version) + "; " + expectation(expected));
  }
  impl->read_columns();
  return impl;
}

}  // namespace

TableReader::TableReader(const std::filesystem::path& path, TableCheck check)
    : impl_(open_table<Impl>(path, nullptr, check)) {}
TableReader::TableReader(const std::filesystem::path& path, const TableSchema& expected, TableCheck check)
    : impl_(open_table<Impl>(path, &expected, check)) {}
TableReader::~TableReader() {
  const auto lock = hdf5_lock();
  impl_.reset();
}
TableReader::TableReader(TableReader&&) noexcept = default;
TableReader& TableReader::operator=(TableReader&& other) noexcept {
  const auto lock = hdf5_lock();
  impl_ = std::move(other.impl_);
  return *this;
}

const std::filesystem::path& TableReader::path() const { return impl_->path; }
const TableSchema& TableReader::schema() const { return impl_->schema; }
std::uint64_t TableReader::rows() const { return impl_->rows; }
const std::string& TableReader::checksum() const { return impl_->checksum; }
const Attributes& TableReader::attributes() const { return impl_->attributes; }
const std::vector<TableColumn>& TableReader::columns() const { return impl_->columns; }
std::uint32_t TableReader::width(const std::string& name) const { return impl_->column(name).width; }

bool TableReader::has_column(const std::string& name) const {
  return std::any_of(impl_->columns.begin(), impl_->columns.end(),
                     [&](const auto& column) { return column.name == name; });
}

std::string TableReader::text(const std::string& name) const {
  const auto found = impl_->attributes.find(name);
  if (found == impl_->attributes.end() || !std::holds_alternative<std::string>(found->second))
    throw InputError(path().string(), "has no text attribute " + name);
  return std::get<std::string>(found->second);
}

std::uint64_t TableReader::number(const std::string& name) const {
  const auto found = impl_->attributes.find(name);
  if (found == impl_->attributes.end() || !std::holds_alternative<std::uint64_t>(found->second))
    throw InputError(path().string(), "has no numeric attribute " + name);
  return std::get<std::uint64_t>(found->second);
}

void TableReader::read_into(const std::string& name, ElementType type, std::uint64_t first, std::uint64_t count,
                            std::span<std::byte> out) const {
  const TableColumn& column = impl_->column(name);
  if (column.type != type) {
    throw InputError(path().string(), "column " + name + " is of type " + std::string(element_name(column.type)) +
                                          "; expected " + std::string(element_name(type)));
  }
  RM_CHECK(first <= rows() && count <= rows() - first, "rows beyond the end of " + path().string());
  if (count == 0) return;
  const auto lock = hdf5_lock();
  const Hdf5Handle dataset(H5Dopen2(impl_->file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(dataset.is_valid() ? H5Dget_space(dataset.get()) : -1, H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  const std::array<hsize_t, 2> start = {first, 0};
  const std::array<hsize_t, 2> extent = {count, column.width};
  const Hdf5Handle memory(H5Screate_simple(rank, extent.data(), nullptr), H5Sclose);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) < 0 ||
      H5Dread(dataset.get(), hdf5_file_type(type), memory.get(), space.get(), H5P_DEFAULT, out.data()) < 0)
    impl_->throw_damaged("column " + name + " cannot be read");
}

void TableReader::verify() const {
  ContentChecksum checksum(impl_->schema, rows(), attributes());
  for (const TableColumn& column : columns()) {
    Hasher hasher;
    Bytes buffer;
    for (std::uint64_t first = 0; first < rows(); first += verify_rows) {
      const std::uint64_t count = std::min(verify_rows, rows() - first);
      buffer.resize(count * column.width * element_bytes(column.type));
      read_into(column.name, column.type, first, count, buffer);
      hasher.add(buffer);
    }
    const Hash128 hash = hasher.digest128();
    {
      const auto lock = hdf5_lock();
      const Hdf5Handle dataset(H5Dopen2(impl_->file.get(), column.name.c_str(), H5P_DEFAULT), H5Dclose);
      const auto stored = read_attribute_as<std::string>(dataset.get(), column_checksum);
      if (stored != to_hex(hash)) impl_->throw_damaged("column " + column.name + " does not match its checksum");
    }
    checksum.add(column, hash);
  }
  if (checksum.hex() != impl_->checksum)
    impl_->throw_damaged("its content hashes to " + checksum.hex() + "; expected " + impl_->checksum);
}

std::string table_library_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace rulemill::runtime
