#include "runtime/checkpoint.h"

#include <algorithm>

#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/json_report.h"

// A piece: the size of a rank's part (8 bytes), the part, the next one's.
namespace rulemill::runtime {

Checkpoint::Checkpoint(const std::filesystem::path& out, const std::string& stage, Manifest* manifest,
                       const Communicator& communicator)
    : out_(out), stage_(stage), manifest_(manifest), communicator_(communicator) {
  const std::vector<std::string> damaged = damaged_files(out, manifest, stage, communicator);
  std::string present;
  if (communicator.is_root()) {
    for (const std::string& name : damaged) manifest->drop(name);
    Json list = Json::array();
    const std::string folder = name_of("");
    for (const ManifestEntry& entry : manifest->entries(stage)) {
      if (entry.name.starts_with(folder)) list.push_back(entry.name.substr(folder.size()));
    }
    present = list.dump();
  }
  communicator.broadcast(present);
  present_ = Json::parse(present).get<std::set<std::string>>();
}

void Checkpoint::save(const std::string& piece, ByteView mine) {
  const std::vector<Bytes> parts = communicator_.gather(mine);
  if (communicator_.is_root()) {
    Bytes content;
    for (const Bytes& part : parts) {
      append_value(content, std::uint64_t{part.size()});
      content.insert(content.end(), part.begin(), part.end());
    }
    std::filesystem::create_directories((out_ / name_of(piece)).parent_path());
    write_file(out_ / name_of(piece), content);
    manifest_->add(entry_of(name_of(piece), stage_, content));
    manifest_->save();
  }
  present_.insert(piece);
}

Bytes Checkpoint::load(const std::string& piece) const {
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<Bytes> outgoing(ranks);
  if (communicator_.is_root()) {
    const std::string content = read_listed(*manifest_, name_of(piece));
    ByteView rest = bytes_of(content);
    for (std::size_t part = 0; !rest.empty(); ++part) {
      std::uint64_t size = 0;
      RM_CHECK(rest.size() >= sizeof size, "a piece has whole parts");
      std::memcpy(&size, rest.data(), sizeof size);
      rest = rest.subspan(sizeof size);
      RM_CHECK(rest.size() >= size, "a piece has whole parts");
      Bytes& to = outgoing[part % ranks];
      to.insert(to.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      rest = rest.subspan(size);
    }
  }
  return std::move(communicator_.all_to_all(std::move(outgoing))[0]);
}

void Checkpoint::clear() {
  present_.clear();
  if (!communicator_.is_root()) return;
  const std::string folder = name_of("");
  for (const ManifestEntry& entry : manifest_->entries(stage_)) {
    if (entry.name.starts_with(folder)) manifest_->drop(entry.name);
  }
  std::filesystem::remove_all(out_ / folder);
}

}  // namespace rulemill::runtime
