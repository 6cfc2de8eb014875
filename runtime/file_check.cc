#include "runtime/file_check.h"

#include <spdlog/spdlog.h>

#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/json_report.h"
#include "runtime/table_file.h"

namespace rulemill::runtime {
namespace {

constexpr const char* table_extension = ".h5";

/// Without the file's name, which messages have already.
std::string without_place(const Error& error) {
  const std::string text = error.what();
  return text.substr(std::min(text.size(), error.where().size() + 2));
}

std::string sizes(std::uint64_t found, std::uint64_t listed) {
  return "has " + std::to_string(found) + " bytes; manifest.json says " + std::to_string(listed);
}

std::string fault_of_content(ByteView content, const ManifestEntry& entry) {
  if (content.size() != entry.bytes) return sizes(content.size(), entry.bytes);
  const std::string hash = to_hex(hash128(content));
  if (hash == entry.checksum) return {};
  return "is damaged: its bytes hash to " + hash + ", manifest.json says " + entry.checksum;
}

}  // namespace

ManifestEntry entry_of(const std::string& name, const std::string& stage, ByteView content) {
  return {name, stage, content.size(), to_hex(hash128(content)), {}};
}

std::string fault_of(const std::filesystem::path& folder, const ManifestEntry& entry) {
  const std::filesystem::path path = folder / entry.name;
  try {
    if (path.extension() != table_extension) return fault_of_content(bytes_of(read_file(path)), entry);
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error && bytes != entry.bytes) return sizes(bytes, entry.bytes);
    const TableReader table(path);
    if (table.checksum() == entry.checksum) return {};
    return "is another table: its content hashes to " + table.checksum() + ", manifest.json says " + entry.checksum;
  } catch (const Error& error) {
    return without_place(error);
  }
}

std::string read_listed(const Manifest& manifest, const std::string& name) {
  const ManifestEntry* entry = manifest.find(name);
  const std::filesystem::path path = manifest.folder() / name;
  if (entry == nullptr) throw InputError(path.string(), "is not listed in manifest.json");
  std::string content = read_file(path);
  const std::string fault = fault_of_content(bytes_of(content), *entry);
  if (!fault.empty()) throw InputError(path.string(), fault);
  return content;
}

std::vector<std::string> damaged_files(const std::filesystem::path& folder, const Manifest* manifest,
                                       const std::string& stage, const Communicator& communicator) {
  std::string listed;
  if (manifest != nullptr) {
    Json list = Json::array();
    for (const ManifestEntry& entry : manifest->entries(stage))
      list.push_back({entry.name, entry.bytes, entry.checksum});
    listed = list.dump();
  }
  communicator.broadcast(listed);
  const Json list = Json::parse(listed);
  Json mine = Json::array();
  for (auto i = static_cast<std::size_t>(communicator.rank()); i < list.size();
       i += static_cast<std::size_t>(communicator.size())) {
    const ManifestEntry entry{list[i][0], stage, list[i][1], list[i][2], {}};
    if (const std::string fault = fault_of(folder, entry); !fault.empty()) mine.push_back({entry.name, fault});
  }
  std::vector<std::string> damaged;
  for (const Bytes& part : communicator.all_gather(bytes_of(mine.dump()))) {
    for (const Json& found : Json::parse(text_of(part))) {
      damaged.push_back(found[0]);
      if (!communicator.is_root()) continue;
      spdlog::warn("{}: {}; it is made again", (folder / damaged.back()).string(), found[1].get<std::string>());
    }
  }
  return damaged;
}

}  // namespace rulemill::runtime
