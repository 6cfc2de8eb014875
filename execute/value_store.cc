#include "execute/value_store.h"

namespace rulemill::execute {

std::uint64_t ValueStore::needed(std::uint64_t tensors, std::uint32_t elements) {
  return (tensors + block_width - 1) / block_width * elements * block_width * sizeof(Pair);
}

void ValueStore::add_group(std::uint64_t tensors, std::uint32_t elements) {
  const std::uint64_t bytes = needed(tensors, elements);
  groups_.push_back({AlignedPairs(bytes / sizeof(Pair)), elements});
  bytes_ += bytes;
}

}  // namespace rulemill::execute
