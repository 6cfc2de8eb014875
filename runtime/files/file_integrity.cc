#include "runtime/files/file_integrity.h"

#include <spdlog/spdlog.h>

#include "runtime/files/atomic_file.h"
#include "runtime/files/table_file.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/json.h"

namespace rulemill::runtime {
namespace {

constexpr const char* table_extension = ".h5";

/// Returns the message without the file's name, which the caller adds.
std::string message_without_path(const Error& error) {
  const std::string text = error.what();
  return text.substr(std::min(text.size(), error.where().size() + 2));
}

std::string size_mismatch(std::uint64_t found, std::uint64_t listed) {
  return "has " + std::to_string(found) + " bytes; expected " + std::to_string(listed) + " as in manifest.json";
}

std::string find_content_corruption(ByteView content, const ManifestEntry& entry) {
  if (content.size() != entry.bytes) return size_mismatch(content.size(), entry.bytes);
  const std::string hash = to_hex(hash128(content));
  if (hash == entry.checksum) return {};
  return "is damaged: its bytes hash to " + hash + "; expected " + entry.checksum + " as in manifest.json";
}

}  // namespace

ManifestEntry make_manifest_entry(const std::string& name, const std::string& stage, ByteView content) {
  return {name, stage, content.size(), to_hex(hash128(content)), {}};
}

std::string find_corruption(const std::filesystem::path& folder, const ManifestEntry& entry) {
  const std::filesystem::path path = folder / entry.name;
  try {
    if (path.extension() != table_extension) return find_content_corruption(bytes_of(read_file(path)), entry);
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error && bytes != entry.bytes) return size_mismatch(bytes, entry.bytes);
    const TableReader table(path);
    if (table.checksum() == entry.checksum) return {};
    return "is another table: its content hashes to " + table.checksum() + "; expected " + entry.checksum +
           " as in manifest.json";
  } catch (const Error& error) {
    return message_without_path(error);
  }
}

std::string read_verified(const Manifest& manifest, const std::string& name) {
  const ManifestEntry* entry = manifest.find(name);
  const std::filesystem::path path = manifest.folder() / name;
  if (entry == nullptr) throw InputError(path.string(), "is not listed in manifest.json");
  std::string content = read_file(path);
  const std::string corruption = find_content_corruption(bytes_of(content), *entry);
  if (!corruption.empty()) throw InputError(path.string(), corruption);
  return content;
}

std::vector<std::string> find_damaged_files(const std::filesystem::path& folder, const Manifest* manifest,
                                            const std::string& stage, const Communicator& communicator) {
  std::string listed;
  if (manifest != nullptr) {
    Json list = Json::array();
    for (const ManifestEntry& entry : manifest->entries(stage))
      list.push_back({entry.name, entry.bytes, entry.checksum});
    listed = to_text(list);
  }
  communicator.broadcast(listed);
  const Json list = parse_json(listed);
  Json mine = Json::array();
  for (auto i = static_cast<std::size_t>(communicator.rank()); i < list.size();
       i += static_cast<std::size_t>(communicator.size())) {
    const ManifestEntry entry{list[i][0], stage, list[i][1], list[i][2], {}};
    if (const std::string corruption = find_corruption(folder, entry); !corruption.empty())
      mine.push_back({entry.name, corruption});
  }
  std::vector<std::string> damaged;
  for (const Bytes& of_rank : communicator.all_gather(bytes_of(to_text(mine)))) {
    for (const Json& found : parse_json(text_of(of_rank))) {
      damaged.push_back(found[0]);
      if (!communicator.is_root()) continue;
      spdlog::warn("{}: {}; it will be recreated", (folder / damaged.back()).string(), found[1].get<std::string>());
    }
  }
  return damaged;
}

}  // namespace rulemill::runtime
