// The values of the named terms that later nodes take as arguments, group by group, in blocks of eight tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "enumerate/enumerator.h"
#include "fingerprint/aligned_pairs.h"
#include "fingerprint/program_view.h"

namespace rulemill::fingerprint {

class ValueStore {
 public:
  /// Makes room, zeroed, for groups that are new in the enumerator's table.
  void grow(const enumerate::Enumerator& enumerator);
  /// Bytes that grow() would take.
  std::uint64_t needed(const enumerate::Enumerator& enumerator) const;

  const Pair* block(std::uint32_t group, std::uint32_t block) const {
    return groups_[group].pairs.data() + std::size_t{block} * groups_[group].elements * block_width;
  }
  /// Element e of the tensor at `slot` of its group is at [e · block_width].
  Pair* tensor(std::uint32_t group, std::uint32_t slot) {
    return groups_[group].pairs.data() + std::size_t{slot / block_width} * groups_[group].elements * block_width +
           slot % block_width;
  }
  const Pair* tensor(std::uint32_t group, std::uint32_t slot) const {
    return const_cast<ValueStore*>(this)->tensor(group, slot);
  }
  std::uint32_t elements(std::uint32_t group) const { return groups_[group].elements; }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Values {
    AlignedPairs pairs;
    std::uint32_t elements = 0;
  };
  std::vector<Values> groups_;
  std::uint64_t bytes_ = 0;
};

}  // namespace rulemill::fingerprint
