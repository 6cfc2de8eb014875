#include "runtime/files/checkpoint.h"

#include "runtime/files/file_integrity.h"
#include "runtime/text/byte_lists.h"

// File format: for each rank, the size of its share (8 bytes) and the share.
namespace rulemill::runtime {

Checkpoint::Checkpoint(Stage& stage) : stage_(stage) {
  const std::string folder = file_name("");
  for (const std::string& file : stage.kept_files()) {
    if (file.starts_with(folder)) present_.insert(file.substr(folder.size()));
  }
}

void Checkpoint::save(const std::string& chunk, ByteView bytes) {
  const std::vector<Bytes> shares = stage_.communicator().gather(bytes);
  if (stage_.communicator().is_root()) {
    std::vector<std::uint64_t> sizes;
    for (const Bytes& share : shares) sizes.push_back(share.size());
    std::vector<ByteView> chunks;
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      chunks.push_back(bytes_of(std::span(&sizes[rank], 1)));
      chunks.push_back(shares[rank]);
    }
    const std::string name = file_name(chunk);
    std::filesystem::create_directories((stage_.folder() / name).parent_path());
    stage_.write(name, chunks);
    stage_.manifest()->save();
  }
  present_.insert(chunk);
}

Bytes Checkpoint::load(const std::string& chunk) const {
  const Communicator& communicator = stage_.communicator();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<Bytes> outgoing(ranks);
  if (communicator.is_root()) {
    const std::string content = read_verified(*stage_.manifest(), file_name(chunk));
    ByteView rest = bytes_of(content);
    for (std::size_t rank = 0; !rest.empty(); ++rank) {
      const auto size = take_value<std::uint64_t>(rest);
      append_bytes(outgoing[rank % ranks], take_bytes(rest, size));
    }
  }
  return std::move(communicator.all_to_all(std::move(outgoing))[0]);
}

void Checkpoint::clear() {
  present_.clear();
  if (!stage_.communicator().is_root()) return;
  const std::string folder = file_name("");
  for (const ManifestEntry& entry : stage_.manifest()->entries(stage_.name())) {
    if (entry.name.starts_with(folder)) stage_.manifest()->remove(entry.name);
  }
  std::filesystem::remove_all(stage_.folder() / folder);
}

}  // namespace rulemill::runtime
