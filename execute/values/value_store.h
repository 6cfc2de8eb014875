// Tensors that are arguments of later nodes, stored once for all ranks of a node, by type, in blocks of eight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/values/block.h"
#include "execute/values/field.h"
#include "runtime/mpi/node_memory.h"

namespace rulemill::execute {

class ValueStore {
 public:
  explicit ValueStore(runtime::Communicator communicator = runtime::Communicator::self())
      : communicator_(std::move(communicator)) {}

  struct GroupSize {
    std::uint64_t tensors = 0;
    std::uint32_t elements = 0;  // stored elements of each
  };
  /// Adds groups, zeroed. Collective.
  void add_groups(std::span<const GroupSize> sizes);
  /// Returns the size of a group in bytes.
  static std::uint64_t bytes_needed(const GroupSize& size);
  /// True if all ranks of a node see what one of them writes.
  bool is_shared() const { return shared_; }

  /// The tensors of slots [block · block_width, (block + 1) · block_width).
  const FieldPair* block(std::uint32_t group, std::uint32_t block) const {
    return groups_[group].pairs.data() + std::size_t{block} * groups_[group].elements * block_width;
  }
  /// The tensor at `slot` of a group; its element e is at [e · block_width].
  FieldPair* tensor(std::uint32_t group, std::uint32_t slot) {
    return groups_[group].pairs.data() + tensor_offset(slot, groups_[group].elements);
  }
  const FieldPair* tensor(std::uint32_t group, std::uint32_t slot) const {
    return groups_[group].pairs.data() + tensor_offset(slot, groups_[group].elements);
  }
  /// All blocks of a group.
  std::span<const FieldPair> values(std::uint32_t group) const { return groups_[group].pairs; }
  std::uint32_t elements(std::uint32_t group) const { return groups_[group].elements; }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Group {
    std::span<FieldPair> pairs;
    std::uint32_t elements = 0;
  };
  runtime::Communicator communicator_;
  std::vector<runtime::NodeMemory> memory_;
  bool shared_ = false;
  std::vector<Group> groups_;
  std::uint64_t bytes_ = 0;
};

}  // namespace rulemill::execute
