// Tensors that later nodes take as arguments, in groups of one type each, in blocks of eight: once for all ranks of a
// node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/field.h"
#include "execute/program_view.h"
#include "runtime/node_memory.h"

namespace rulemill::execute {

class ValueStore {
 public:
  explicit ValueStore(runtime::Communicator communicator = runtime::Communicator::self())
      : communicator_(std::move(communicator)) {}

  struct GroupSize {
    std::uint64_t tensors = 0;
    std::uint32_t elements = 0;  // of each, as they are stored
  };
  /// Collective: makes room, zeroed, for more groups.
  void add_groups(std::span<const GroupSize> sizes);
  /// Bytes that a group takes.
  static std::uint64_t needed(const GroupSize& size);
  /// What a rank writes, all ranks of its node see.
  bool shared() const { return shared_; }

  /// The tensors of slots block · block_width and following.
  const Pair* block(std::uint32_t group, std::uint32_t block) const {
    return groups_[group].pairs.data() + std::size_t{block} * groups_[group].elements * block_width;
  }
  /// Element e of the tensor at `slot` of its group is at [e · block_width].
  Pair* tensor(std::uint32_t group, std::uint32_t slot) {
    return groups_[group].pairs.data() + tensor_offset(slot, groups_[group].elements);
  }
  const Pair* tensor(std::uint32_t group, std::uint32_t slot) const {
    return groups_[group].pairs.data() + tensor_offset(slot, groups_[group].elements);
  }
  /// All of a group's blocks.
  std::span<const Pair> values(std::uint32_t group) const { return groups_[group].pairs; }
  std::uint32_t elements(std::uint32_t group) const { return groups_[group].elements; }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Group {
    std::span<Pair> pairs;
    std::uint32_t elements = 0;
  };
  runtime::Communicator communicator_;
  std::vector<runtime::NodeMemory> memory_;
  bool shared_ = false;
  std::vector<Group> groups_;
  std::uint64_t bytes_ = 0;
};

}  // namespace rulemill::execute
