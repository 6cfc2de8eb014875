#include "enumerate/profile/profile.h"

#include "runtime/text/error.h"

namespace rulemill::enumerate {

bool ShapePattern::matches(const std::vector<std::int64_t>& shape) const {
  if (open ? shape.size() < dims.size() : shape.size() != dims.size()) return false;
  const std::size_t skip = shape.size() - dims.size();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].kind == DimPattern::Kind::Equal && shape[skip + d] != dims[d].value) return false;
    if (dims[d].kind == DimPattern::Kind::NotEqual && shape[skip + d] == dims[d].value) return false;
  }
  return true;
}

}  // namespace rulemill::enumerate
