#include "fingerprint/value_store.h"

namespace rulemill::fingerprint {
namespace {

std::size_t pairs_of(const enumerate::Enumerator& enumerator, const enumerate::Group& group) {
  const std::size_t blocks = (group.members.size() + block_width - 1) / block_width;
  return blocks * enumerator.types().elements(group.type) * block_width;
}

}  // namespace

std::uint64_t ValueStore::needed(const enumerate::Enumerator& enumerator) const {
  const auto& groups = enumerator.terms().groups();
  std::uint64_t bytes = 0;
  for (std::size_t g = groups_.size(); g < groups.size(); ++g) bytes += pairs_of(enumerator, groups[g]) * sizeof(Pair);
  return bytes;
}

void ValueStore::grow(const enumerate::Enumerator& enumerator) {
  const auto& groups = enumerator.terms().groups();
  for (std::size_t g = groups_.size(); g < groups.size(); ++g) {
    const std::size_t pairs = pairs_of(enumerator, groups[g]);
    groups_.push_back({AlignedPairs(pairs), static_cast<std::uint32_t>(enumerator.types().elements(groups[g].type))});
    bytes_ += pairs * sizeof(Pair);
  }
}

}  // namespace rulemill::fingerprint
