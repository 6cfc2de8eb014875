// The values of the terms that later nodes take as arguments, group by group, in blocks of eight tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "enumerate/enumerator.h"
#include "fingerprint/field.h"
#include "fingerprint/program_view.h"

namespace rulemill::fingerprint {

class ValueStore {
 public:
  /// Makes room, zeroed, for groups that are new in the enumerator's table.
  void grow(const enumerate::Enumerator& enumerator);

  const Pair* block(std::uint32_t group, std::uint32_t block) const {
    return groups_[group].values.get() + std::size_t{block} * groups_[group].elements * block_width;
  }
  /// Element e of the tensor at `slot` of its group is at [e · block_width].
  Pair* tensor(std::uint32_t group, std::uint32_t slot) {
    return groups_[group].values.get() + std::size_t{slot / block_width} * groups_[group].elements * block_width +
           slot % block_width;
  }
  const Pair* tensor(std::uint32_t group, std::uint32_t slot) const {
    return const_cast<ValueStore*>(this)->tensor(group, slot);
  }
  std::uint32_t elements(std::uint32_t group) const { return groups_[group].elements; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(Pair* values) const { std::free(values); }
  };
  struct Values {
    std::unique_ptr<Pair[], Free> values;
    std::uint32_t elements = 0;
  };
  std::vector<Values> groups_;
  std::uint64_t bytes_ = 0;
};

}  // namespace rulemill::fingerprint
