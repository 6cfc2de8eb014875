#include "enumerate/terms/type_table.h"

#include "runtime/text/error.h"

namespace rulemill::enumerate {

std::uint64_t element_count(const Dims& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t dim : shape) elements *= static_cast<std::uint64_t>(dim);
  return elements;
}

TypeId TypeTable::intern(const Dims& shape) {
  const auto [found, added] = ids_.try_emplace(shape, static_cast<TypeId>(shapes_.size()));
  if (added) {
    RM_CHECK(shapes_.size() < 0xffff, "too many distinct tensor types");
    shapes_.push_back(shape);
    elements_.push_back(element_count(shape));
  }
  return found->second;
}

}  // namespace rulemill::enumerate
