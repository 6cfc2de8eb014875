#include <zlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "runtime/files/atomic_file.h"
#include "runtime/files/hdf5_handle.h"
#include "runtime/files/table_file.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t growth_bytes = std::size_t{4} << 20;  // increment of the file in memory
constexpr std::size_t max_text_bytes = 60'000;              // HDF5 keeps attributes in headers of 64 KiB

hid_t check_hdf5(hid_t id, const char* call) {
  // Files are built in memory, so that only a lack of memory makes a call fail.
  if (id < 0) throw Error(call, "HDF5 failed; memory may be exhausted (" + describe_memory() + ")");
  return id;
}

/// Creates an HDF5 file in memory, without timestamps.
Hdf5Handle create_file() {
  const Hdf5Handle access(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"), H5Pclose);
  check_hdf5(H5Pset_fapl_core(access.get(), growth_bytes, 0), "H5Pset_fapl_core");
  const Hdf5Handle creation(check_hdf5(H5Pcreate(H5P_FILE_CREATE), "H5Pcreate"), H5Pclose);
  check_hdf5(H5Pset_obj_track_times(creation.get(), false), "H5Pset_obj_track_times");
  return {check_hdf5(H5Fcreate("table in memory", H5F_ACC_TRUNC, creation.get(), access.get()), "H5Fcreate"), H5Fclose};
}

void write_attribute(hid_t object, const std::string& name, const Attribute& value) {
  const Hdf5Handle scalar(check_hdf5(H5Screate(H5S_SCALAR), "H5Screate"), H5Sclose);
  const auto write = [&](hid_t type, const void* data) {
    const Hdf5Handle attribute(
        check_hdf5(H5Acreate2(object, name.c_str(), type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2"),
        H5Aclose);
    check_hdf5(H5Awrite(attribute.get(), type, data), "H5Awrite");
  };
  if (const auto* text = std::get_if<std::string>(&value)) {
    const Hdf5Handle type(check_hdf5(H5Tcopy(H5T_C_S1), "H5Tcopy"), H5Tclose);
    check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(1, text->size())), "H5Tset_size");
    check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "H5Tset_strpad");
    check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset");
    write(type.get(), text->c_str());
  } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    write(H5T_STD_U64LE, number);
  } else {
    write(H5T_IEEE_F64LE, &std::get<double>(value));
  }
}

/// Returns the bytes as HDF5's shuffle orders them: the first bytes of all elements, then the second ones, and so on.
Bytes shuffle(ByteView bytes, std::size_t element_size) {
  Bytes shuffled(bytes.size());
  auto to = shuffled.begin();
  for (std::size_t byte = 0; byte < element_size; ++byte) {
    for (std::size_t from = byte; from < bytes.size(); from += element_size) *to++ = bytes[from];
  }
  return shuffled;
}

/// Returns the bytes as HDF5's deflate filter stores them.
Bytes deflate(ByteView bytes, int level) {
  uLongf size = compressBound(bytes.size());
  Bytes deflated(size);
  const int status = compress2(reinterpret_cast<Bytef*>(deflated.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), level);
  if (status != Z_OK) throw Error("compress2", "zlib failed; memory may be exhausted (" + describe_memory() + ")");
  deflated.resize(size);
  return deflated;
}

/// A column as it is stored.
struct StoredColumn {
  TableColumn column;
  Hash128 hash{};
  std::uint64_t rows = 0, chunk_rows = 0;
  int level = 0;
  std::vector<Bytes> chunks;
};

/// Writes a column whose chunks have passed the filters.
void write_column(hid_t file, const StoredColumn& stored) {
  const TableColumn& column = stored.column;
  const int rank = column.width > 1 ? 2 : 1;
  const std::array<hsize_t, 2> shape = {stored.rows, column.width}, chunk = {stored.chunk_rows, column.width};
  const Hdf5Handle space(check_hdf5(H5Screate_simple(rank, shape.data(), nullptr), "H5Screate_simple"), H5Sclose);
  const Hdf5Handle creation(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"), H5Pclose);
  check_hdf5(H5Pset_obj_track_times(creation.get(), false), "H5Pset_obj_track_times");
  if (stored.rows > 0) {
    check_hdf5(H5Pset_chunk(creation.get(), rank, chunk.data()), "H5Pset_chunk");
    if (stored.level > 0) {
      if (element_bytes(column.type) > 1) check_hdf5(H5Pset_shuffle(creation.get()), "H5Pset_shuffle");
      check_hdf5(H5Pset_deflate(creation.get(), static_cast<unsigned>(stored.level)), "H5Pset_deflate");
    }
  }
  const Hdf5Handle dataset(check_hdf5(H5Dcreate2(file, column.name.c_str(), hdf5_file_type(column.type), space.get(),
                                                 H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                      "H5Dcreate2"),
                           H5Dclose);
  write_attribute(dataset.get(), column_checksum, to_hex(stored.hash));
  std::array<hsize_t, 2> offset{};
  for (const Bytes& bytes : stored.chunks) {
    check_hdf5(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, offset.data(), bytes.size(), bytes.data()),
               "H5Dwrite_chunk");
    offset[0] += stored.chunk_rows;
  }
}

}  // namespace

struct TableWriter::Impl {
  TableSchema schema;
  Attributes attributes;
  std::vector<StoredColumn> columns;
  std::uint64_t rows = 0;
};

TableWriter::TableWriter(TableSchema schema) : impl_(std::make_unique<Impl>()) { impl_->schema = std::move(schema); }

TableWriter::~TableWriter() = default;

void TableWriter::attribute(const std::string& name, Attribute value) {
  RM_CHECK(name.rfind(reserved_prefix, 0) != 0, "attribute names must not begin with 'table.'");
  if (const auto* text = std::get_if<std::string>(&value))
    RM_CHECK(text->size() <= max_text_bytes, "attribute too long");
  impl_->attributes.insert_or_assign(name, std::move(value));
}

void TableWriter::add_column(const TableColumn& column, std::size_t elements, ByteView bytes, int level) {
  RM_CHECK(column.width > 0 && elements % column.width == 0, "column " + column.name + " has an incomplete row");
  RM_CHECK(std::ranges::find(impl_->columns, column.name, [](const auto& each) { return each.column.name; }) ==
               impl_->columns.end(),
           "column " + column.name + " was added twice");
  const std::uint64_t rows = elements / column.width;
  RM_CHECK(impl_->columns.empty() || rows == impl_->rows, "column " + column.name + " has another number of rows");
  impl_->rows = rows;
  const std::size_t element_size = element_bytes(column.type), row_bytes = column.width * element_size;
  StoredColumn stored{column, hash128(bytes),
                      rows,   std::clamp<std::uint64_t>(chunk_bytes / row_bytes, 1, std::max<std::uint64_t>(rows, 1)),
                      level,  {}};
  for (std::size_t first = 0; first < bytes.size(); first += stored.chunk_rows * row_bytes) {
    const ByteView here = bytes.subspan(first, std::min(stored.chunk_rows * row_bytes, bytes.size() - first));
    Bytes chunk(here.begin(), here.end());
    chunk.resize(stored.chunk_rows * row_bytes);  // the last one is filled with zeros
    if (level > 0) chunk = deflate(element_size > 1 ? shuffle(chunk, element_size) : chunk, level);
    stored.chunks.push_back(std::move(chunk));
  }
  impl_->columns.push_back(std::move(stored));
}

TableSummary TableWriter::commit(const std::filesystem::path& path) {
  std::map<std::string, const StoredColumn*> by_name;
  for (const StoredColumn& stored : impl_->columns) by_name[stored.column.name] = &stored;
  ContentChecksum checksum(impl_->schema, impl_->rows, impl_->attributes);
  for (const auto& [name, stored] : by_name) checksum.add(stored->column, stored->hash);
  Bytes image(TableHeader::bytes);
  {
    const auto lock = hdf5_lock();
    const Hdf5Handle created = create_file();
    const hid_t file = created.get();
    for (const StoredColumn& stored : impl_->columns) write_column(file, stored);
    for (const auto& [name, value] : impl_->attributes) write_attribute(file, name, value);
    const auto write_reserved = [&](const char* name, Attribute value) {
      write_attribute(file, std::string(reserved_prefix) + name, value);
    };
    write_reserved("schema", impl_->schema.name);
    write_reserved("version", impl_->schema.version);
    write_reserved("rows", impl_->rows);
    write_reserved("checksum", checksum.hex());
    check_hdf5(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
    // HDF5 skips the header when it reads the file, as it skips any user block.
    const ssize_t size = H5Fget_file_image(file, nullptr, 0);
    RM_CHECK(size > 0, "HDF5 returns no file image");
    image.resize(TableHeader::bytes + static_cast<std::size_t>(size));
    RM_CHECK(H5Fget_file_image(file, image.data() + TableHeader::bytes, static_cast<std::size_t>(size)) == size,
             "HDF5 returns no file image");
  }
  const auto body = std::span(image).subspan(TableHeader::bytes);
  const auto header = encode({body.size(), hash128(body)});
  std::copy(header.begin(), header.end(), image.begin());
  write_file(path, image);
  return {impl_->rows, image.size(), checksum.hex()};
}

}  // namespace rulemill::runtime
