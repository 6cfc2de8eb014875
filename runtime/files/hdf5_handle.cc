#include "runtime/files/hdf5_handle.h"

#include <algorithm>

namespace rulemill::runtime {

std::unique_lock<std::recursive_mutex> hdf5_lock() {
  static std::recursive_mutex mutex;
  std::unique_lock lock(mutex);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return lock;
}

hid_t hdf5_file_type(ElementType type) {
  switch (type) {
    case ElementType::U8:
      return H5T_STD_U8LE;
    case ElementType::U16:
      return H5T_STD_U16LE;
    case ElementType::U32:
      return H5T_STD_U32LE;
    case ElementType::U64:
      return H5T_STD_U64LE;
    case ElementType::I64:
      return H5T_STD_I64LE;
    case ElementType::F64:
      return H5T_IEEE_F64LE;
  }
  return -1;
}

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::U8:
      return 1;
    case ElementType::U16:
      return 2;
    case ElementType::U32:
      return 4;
    default:
      return 8;
  }
}

std::string_view element_name(ElementType type) {
  constexpr std::string_view names[] = {"u8", "u16", "u32", "u64", "i64", "f64"};
  return names[static_cast<std::size_t>(type)];
}

std::array<std::byte, TableHeader::bytes> encode(const TableHeader& header) {
  const std::string text = std::string(TableHeader::magic) + "bytes " + std::to_string(header.body_bytes) + "\nxxh3 " +
                           to_hex(header.body_hash) + "\nHDF5 from byte 512 on\n";
  std::array<std::byte, TableHeader::bytes> block{};
  std::copy_n(bytes_of(text).begin(), text.size(), block.begin());
  return block;
}

ContentChecksum::ContentChecksum(const TableSchema& schema, std::uint64_t rows, const Attributes& attributes) {
  hasher_.add_text(schema.name);
  hasher_.add_number(schema.version);
  hasher_.add_number(rows);
  for (const auto& [name, value] : attributes) {
    hasher_.add_text(name);
    hasher_.add_number(value.index());
    if (const auto* text = std::get_if<std::string>(&value)) hasher_.add_text(*text);
    if (const auto* number = std::get_if<std::uint64_t>(&value)) hasher_.add_number(*number);
    if (const auto* real = std::get_if<double>(&value)) hasher_.add(std::as_bytes(std::span(real, 1)));
  }
}

void ContentChecksum::add(const TableColumn& column, const Hash128& hash) {
  hasher_.add_text(column.name);
  hasher_.add_text(element_name(column.type));
  hasher_.add_number(column.width);
  hasher_.add_number(hash.high);
  hasher_.add_number(hash.low);
}

}  // namespace rulemill::runtime
