#include "fingerprint/value_store.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace rulemill::fingerprint {

void ValueStore::grow(const enumerate::Enumerator& enumerator) {
  const auto& groups = enumerator.terms().groups();
  for (std::size_t g = groups_.size(); g < groups.size(); ++g) {
    Values values;
    values.elements = static_cast<std::uint32_t>(enumerator.types().elements(groups[g].type));
    const std::size_t blocks = (groups[g].members.size() + block_width - 1) / block_width;
    const std::size_t bytes = blocks * values.elements * block_width * sizeof(Pair);
    auto* memory = static_cast<Pair*>(std::aligned_alloc(64, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    values.values.reset(memory);
    bytes_ += bytes;
    groups_.push_back(std::move(values));
  }
}

}  // namespace rulemill::fingerprint
