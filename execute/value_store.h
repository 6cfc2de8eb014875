// Tensors that later nodes take as arguments, in groups of one type each, in blocks of eight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/aligned_pairs.h"
#include "execute/program_view.h"

namespace rulemill::execute {

class ValueStore {
 public:
  /// Makes room, zeroed, for so many tensors of so many elements each, as they are stored.
  void add_group(std::uint64_t tensors, std::uint32_t elements);
  /// Bytes that add_group() would take.
  static std::uint64_t needed(std::uint64_t tensors, std::uint32_t elements);

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
  std::span<const Pair> values(std::uint32_t group) const {
    return {groups_[group].pairs.data(), groups_[group].pairs.size()};
  }
  std::uint32_t elements(std::uint32_t group) const { return groups_[group].elements; }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Group {
    AlignedPairs pairs;
    std::uint32_t elements = 0;
  };
  std::vector<Group> groups_;
  std::uint64_t bytes_ = 0;
};

}  // namespace rulemill::execute
