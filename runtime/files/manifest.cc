#include "runtime/files/manifest.h"
#include "runtime/files/json_file.h"

#include <spdlog/spdlog.h>

#include <string_view>

#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/json.h"

namespace rulemill::runtime {
namespace {

constexpr std::string_view format = "rulemill manifest";
constexpr std::uint64_t version = 2;

/// Hashes everything except the checksum itself.
std::string checksum_of(Json root) {
  root.erase("checksum");
  return to_hex(hash128(bytes_of(to_text(root))));
}

/// Whether the text is a possibly corrupt manifest.
bool resembles_manifest(const std::string& text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  return text.find_first_not_of('\0') == std::string::npos || has(format) || (has("\"stages\"") && has("\"files\""));
}

bool has_valid_checksum(const std::string& text) {
  try {
    const Json root = parse_json(text, "manifest");
    return root.is_object() && root.contains("checksum") && root["checksum"] == checksum_of(root);
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

Manifest::Manifest(std::filesystem::path folder) : folder_(std::move(folder)) {
  const bool exists = std::filesystem::exists(path()), has_copy = std::filesystem::exists(copy_path());
  if (exists && read(path())) return;
  if (has_copy && read(copy_path())) {
    spdlog::warn("{}: is {}; it will be recreated from its copy", path().string(), exists ? "damaged" : "missing");
  } else if (exists || has_copy) {
    spdlog::warn("{}: is damaged{}; all stages will run again", (exists ? path() : copy_path()).string(),
                 exists && has_copy ? ", and so is its copy" : "");
  }
}

bool Manifest::read(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  // Without an intact copy it is the file of another program.
  const bool has_copy = file == path() && std::filesystem::exists(copy_path());
  if (has_copy && !resembles_manifest(text) && has_valid_checksum(read_file(copy_path()))) return false;
  Json root;
  try {
    root = parse_json(text, file.string());
  } catch (const InputError&) {
    // No other program writes a file of the copy's name.
    if (!resembles_manifest(text) && !std::filesystem::exists(copy_path())) throw;
    return false;
  }
  if (!resembles_manifest(text)) throw InputError(file.string(), "is not a rulemill manifest");
  const bool has_checksum = root.is_object() && root.contains("checksum");
  const bool intact = has_checksum && root["checksum"] == checksum_of(root);
  if (root.is_object() && root.contains("version") && root["version"] != version && (intact || !has_checksum)) {
    throw InputError(file.string(),
                     "has version " + to_text(root["version"]) + "; expected " + std::to_string(version));
  }
  if (!intact) return false;
  try {
    for (const auto& [name, stage] : root.at("stages").items())
      stages_[name] = {stage.at("inputs").get<std::string>(), stage.at("finished").get<bool>(),
                       to_attributes(stage.at("figures"))};
    if (root.contains("inputs")) root["inputs"].get_to(inputs_);
    for (const auto& listed : root.at("files")) {
      const auto name = listed.at("name").get<std::string>();
      entries_[name] = {name, listed.at("stage").get<std::string>(), to_integer<std::uint64_t>(listed.at("bytes")),
                        listed.at("checksum").get<std::string>(), to_attributes(listed.at("attributes"))};
    }
  } catch (const Json::exception& error) {
    throw InputError(file.string(), std::string("is not a rulemill manifest: ") + error.what());
  }
  return true;
}

bool Manifest::is_finished(const std::string& stage, const std::string& inputs_digest) const {
  const auto found = stages_.find(stage);
  if (found == stages_.end()) return false;
  if (found->second.inputs_digest != inputs_digest) {
    throw InputError(path().string(), "stage " + stage +
                                          " was run by another version of rulemill or on other inputs (digest " +
                                          found->second.inputs_digest + ", now " + inputs_digest +
                                          "); choose another --out, or start over with `rulemill discover --fresh`");
  }
  return found->second.finished;
}

void Manifest::begin(const std::string& stage, const std::string& inputs_digest, bool keep_entries) {
  (void)is_finished(stage, inputs_digest);  // rejects other inputs
  if (!keep_entries) std::erase_if(entries_, [&](const auto& entry) { return entry.second.stage == stage; });
  stages_[stage] = {inputs_digest, false, {}};
  save();
}

void Manifest::add(ManifestEntry entry) {
  RM_CHECK(stages_.contains(entry.stage), "stage " + entry.stage + " was not begun");
  std::string name = entry.name;
  entries_.insert_or_assign(std::move(name), std::move(entry));
}

void Manifest::remove(const std::string& name) { entries_.erase(name); }

void Manifest::finish(const std::string& stage, const Attributes& statistics) {
  const auto found = stages_.find(stage);
  RM_CHECK(found != stages_.end(), "stage " + stage + " was not begun");
  found->second.finished = true;
  found->second.statistics = statistics;
  save();
}

void Manifest::save() const {
  Json root = {{"format", format}, {"version", version}, {"stages", Json::object()}, {"files", Json::array()}};
  for (const auto& [name, stage] : stages_)
    root["stages"][name] = {
        {"inputs", stage.inputs_digest}, {"finished", stage.finished}, {"figures", to_json(stage.statistics)}};
  for (const auto& [name, entry] : entries_)
    root["files"].push_back({{"name", name},
                             {"stage", entry.stage},
                             {"bytes", entry.bytes},
                             {"checksum", entry.checksum},
                             {"attributes", to_json(entry.attributes)}});
  if (!inputs_.empty()) root["inputs"] = inputs_;
  root["checksum"] = checksum_of(root);
  for (const std::filesystem::path& file : {path(), copy_path()}) write_json(file, root);
}

void Manifest::repair() const {
  if (!std::filesystem::exists(path()) && !std::filesystem::exists(copy_path())) return;
  const auto read_if_exists = [](const std::filesystem::path& file) {
    return std::filesystem::exists(file) ? read_file(file) : std::string();
  };
  const std::string main = read_if_exists(path()), copy = read_if_exists(copy_path());
  if (main == copy) return;
  if (has_valid_checksum(main) && !copy.empty() && !has_valid_checksum(copy))
    spdlog::warn("{}: is damaged; it will be recreated", copy_path().string());
  save();
}

void Manifest::set_inputs(std::map<std::string, std::string> inputs) {
  inputs_ = std::move(inputs);
  save();
}

void Manifest::reset() {
  stages_.clear();
  entries_.clear();
  save();
}

std::vector<ManifestEntry> Manifest::entries(const std::string& stage) const {
  std::vector<ManifestEntry> chosen;
  for (const auto& [name, entry] : entries_) {
    if (stage.empty() || entry.stage == stage) chosen.push_back(entry);
  }
  return chosen;
}

const ManifestEntry* Manifest::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

Attributes Manifest::statistics(const std::string& stage) const {
  const auto found = stages_.find(stage);
  return found == stages_.end() ? Attributes{} : found->second.statistics;
}

std::string Manifest::inputs_digest(const std::string& stage) const {
  const auto found = stages_.find(stage);
  return found == stages_.end() ? std::string() : found->second.inputs_digest;
}

void Manifest::check_files(const std::string& stage) const {
  for (const ManifestEntry& entry : entries(stage)) {
    const auto file = folder_ / entry.name;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    if (error) throw InputError(file.string(), "is listed in manifest.json but cannot be read: " + error.message());
    if (bytes != entry.bytes) {
      throw InputError(file.string(), "has " + std::to_string(bytes) + " bytes; expected " +
                                          std::to_string(entry.bytes) + " as in manifest.json");
    }
  }
}

std::uint64_t count_in(const Attributes& statistics, const std::string& stage, const std::string& name) {
  const auto found = statistics.find(name);
  const auto* count = found == statistics.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
  if (count == nullptr) throw InputError("manifest.json", "stage " + stage + ": expected a number " + name);
  return *count;
}

}  // namespace rulemill::runtime
