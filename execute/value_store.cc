#include "execute/value_store.h"

#include <algorithm>

namespace rulemill::execute {

std::uint64_t ValueStore::needed(const GroupSize& size) {
  return (size.tensors + block_width - 1) / block_width * size.elements * block_width * sizeof(Pair);
}

void ValueStore::add_groups(std::span<const GroupSize> sizes) {
  std::uint64_t bytes = 0;
  for (const GroupSize& size : sizes) bytes += needed(size);
  if (bytes == 0 && sizes.empty()) return;
  const runtime::NodeMemory& memory = memory_.emplace_back(bytes, communicator_);
  shared_ = std::ranges::all_of(memory_, &runtime::NodeMemory::shared);
  auto* next = reinterpret_cast<Pair*>(memory.data());
  for (const GroupSize& size : sizes) {
    const std::uint64_t pairs = needed(size) / sizeof(Pair);
    groups_.push_back({std::span(next, pairs), size.elements});
    next += pairs;
  }
  bytes_ += bytes;
}

}  // namespace rulemill::execute
