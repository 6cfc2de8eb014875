#include <algorithm>
#include <map>

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

}  // namespace

struct TableWriter::Impl {
  TableSchema schema;
  Hdf5Handle file;
  Attributes attributes;
  std::map<std::string, std::pair<TableColumn, Hash128>> columns;
  std::uint64_t rows = 0;
};

TableWriter::TableWriter(TableSchema schema) : impl_(std::make_unique<Impl>()) {
  const auto lock = hdf5_lock();
  impl_->schema = std::move(schema);
  impl_->file = create_file();
}

TableWriter::~TableWriter() {
  const auto lock = hdf5_lock();
  impl_.reset();
}

void TableWriter::attribute(const std::string& name, Attribute value) {
  RM_CHECK(name.rfind(reserved_prefix, 0) != 0, "attribute names must not begin with 'table.'");
  if (const auto* text = std::get_if<std::string>(&value))
    RM_CHECK(text->size() <= max_text_bytes, "attribute too long");
  impl_->attributes.insert_or_assign(name, std::move(value));
}

void TableWriter::add_column(const TableColumn& column, std::size_t elements, ByteView bytes, int level) {
  RM_CHECK(column.width > 0 && elements % column.width == 0, "column " + column.name + " has an incomplete row");
  RM_CHECK(!impl_->columns.contains(column.name), "column " + column.name + " was added twice");
  const std::uint64_t rows = elements / column.width;
  RM_CHECK(impl_->columns.empty() || rows == impl_->rows, "column " + column.name + " has another number of rows");
  impl_->rows = rows;
  const auto lock = hdf5_lock();

  const bool matrix = column.width > 1;
  const std::array<hsize_t, 2> shape = {rows, column.width};
  const Hdf5Handle space(check_hdf5(H5Screate_simple(matrix ? 2 : 1, shape.data(), nullptr), "H5Screate_simple"),
                         H5Sclose);
  const Hdf5Handle creation(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"), H5Pclose);
  check_hdf5(H5Pset_obj_track_times(creation.get(), false), "H5Pset_obj_track_times");
  if (rows > 0) {
    const std::size_t row_bytes = column.width * element_bytes(column.type);
    const std::array<hsize_t, 2> chunk = {std::clamp<std::uint64_t>(chunk_bytes / row_bytes, 1, rows), column.width};
    check_hdf5(H5Pset_chunk(creation.get(), matrix ? 2 : 1, chunk.data()), "H5Pset_chunk");
    if (level > 0) {
      if (element_bytes(column.type) > 1) check_hdf5(H5Pset_shuffle(creation.get()), "H5Pset_shuffle");
      check_hdf5(H5Pset_deflate(creation.get(), static_cast<unsigned>(level)), "H5Pset_deflate");
    }
  }
  const Hdf5Handle dataset(check_hdf5(H5Dcreate2(impl_->file.get(), column.name.c_str(), hdf5_file_type(column.type),
                                                 space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                      "H5Dcreate2"),
                           H5Dclose);
  if (rows > 0) {
    check_hdf5(H5Dwrite(dataset.get(), hdf5_file_type(column.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
               "H5Dwrite");
  }
  const Hash128 hash = hash128(bytes);
  write_attribute(dataset.get(), column_checksum, to_hex(hash));
  impl_->columns[column.name] = {column, hash};
}

TableSummary TableWriter::commit(const std::filesystem::path& path) {
  const auto lock = hdf5_lock();
  ContentChecksum checksum(impl_->schema, impl_->rows, impl_->attributes);
  for (const auto& [name, column] : impl_->columns) checksum.add(column.first, column.second);
  const hid_t file = impl_->file.get();
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
  Bytes image(TableHeader::bytes + static_cast<std::size_t>(size));
  const auto body = std::span(image).subspan(TableHeader::bytes);
  RM_CHECK(H5Fget_file_image(file, body.data(), body.size()) == size, "HDF5 returns no file image");
  impl_->file = Hdf5Handle();
  const auto header = encode({body.size(), hash128(body)});
  std::copy(header.begin(), header.end(), image.begin());
  write_file(path, image);
  return {impl_->rows, image.size(), checksum.hex()};
}

}  // namespace rulemill::runtime
