#include "runtime/files/stage.h"

#include <utility>

#include "runtime/files/atomic_file.h"
#include "runtime/files/file_integrity.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/json.h"

namespace rulemill::runtime {

Stage::Stage(std::filesystem::path folder, std::string name, const Communicator& communicator)
    : folder_(std::move(folder)), name_(std::move(name)), communicator_(communicator) {
  if (communicator.is_root()) manifest_.emplace(folder_);
}

std::optional<Attributes> Stage::begin(const std::string& inputs_digest, OldFiles old_files, const IsFinal& is_final) {
  const bool finished = manifest_ && manifest_->is_finished(name_, inputs_digest) &&
                        (!is_final || is_final(manifest_->statistics(name_)));
  std::vector<std::string> damaged;
  if (communicator_.any(finished) || old_files == OldFiles::Keep)
    damaged = find_damaged_files(folder_, manifest(), name_, communicator_);
  Json state = Json::object();
  if (finished && damaged.empty()) {
    state["statistics"] = to_json(manifest_->statistics(name_));
  } else if (manifest_) {
    for (const std::string& file : damaged) manifest_->remove(file);
    manifest_->begin(name_, inputs_digest, old_files == OldFiles::Keep);
    state["kept"] = Json::array();
    for (const ManifestEntry& entry : manifest_->entries(name_)) state["kept"].push_back(entry.name);
  }
  std::string text = to_text(state);
  communicator_.broadcast(text);
  state = parse_json(text);
  if (state.contains("statistics")) return to_attributes(state["statistics"]);
  kept_files_ = state["kept"].get<std::set<std::string>>();
  return std::nullopt;
}

void Stage::write(const std::string& file, std::string_view content) {
  RM_CHECK(manifest_.has_value(), "only the first rank writes " + file);
  write_file(folder_ / file, content);
  manifest_->add(make_manifest_entry(file, name_, bytes_of(content)));
}

void Stage::write(const std::string& file, std::span<const ByteView> chunks) {
  RM_CHECK(manifest_.has_value(), "only the first rank writes " + file);
  Hasher hasher;
  std::uint64_t size = 0;
  for (const ByteView chunk : chunks) {
    hasher.add(chunk);
    size += chunk.size();
  }
  write_file(folder_ / file, chunks);
  manifest_->add({file, name_, size, to_hex(hasher.digest128()), {}});
}

Attributes Stage::finish(const Attributes& statistics) {
  std::string text;
  if (manifest_) {
    manifest_->finish(name_, statistics);
    text = to_text(to_json(statistics));
  }
  communicator_.broadcast(text);
  return to_attributes(parse_json(text));
}

}  // namespace rulemill::runtime
