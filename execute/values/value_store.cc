#include "execute/values/value_store.h"

#include <algorithm>

namespace rulemill::execute {

std::uint64_t ValueStore::bytes_needed(const GroupSize& size) {
  return (size.tensors + block_width - 1) / block_width * size.elements * block_width * sizeof(FieldPair);
}

void ValueStore::add_groups(std::span<const GroupSize> sizes) {
  std::uint64_t bytes = 0;
  for (const GroupSize& size : sizes) bytes += bytes_needed(size);
  if (bytes == 0 && sizes.empty()) return;
  const runtime::NodeMemory& memory = memory_.emplace_back(bytes, communicator_);
  shared_ = std::ranges::all_of(memory_, &runtime::NodeMemory::is_shared);
  auto* next = reinterpret_cast<FieldPair*>(memory.data());
  for (const GroupSize& size : sizes) {
    const std::uint64_t pairs = bytes_needed(size) / sizeof(FieldPair);
    groups_.push_back({std::span(next, pairs), size.elements});
    next += pairs;
  }
  bytes_ += bytes;
}

}  // namespace rulemill::execute
