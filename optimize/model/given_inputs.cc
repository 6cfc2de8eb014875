#include "optimize/model/given_inputs.h"

namespace rulemill::optimize {

bool add_sizes(GraphEvaluator::Sizes& sizes, const algebra::Shape& shape, std::span<const std::int64_t> dims) {
  if (shape.size() != dims.size()) return false;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (const auto number = shape[d].constant()) {
      if (*number != dims[d]) return false;
    } else if (const auto atom = (shape[d] - shape[d].constant_term()).atom()) {
      const std::int64_t rest = dims[d] - shape[d].constant_term();
      if (rest < 1 || sizes.emplace(*atom, rest).first->second != rest) return false;
    }
  }
  return true;
}

}  // namespace rulemill::optimize
