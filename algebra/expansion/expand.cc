#include "algebra/expansion/expand.h"

#include "algebra/expansion/expander.h"

namespace rulemill::algebra {

OperatorInstance expand(const syntax::Operator& op, const Parameters& parameters, std::span<const std::uint32_t> ranks,
                        const ExpansionContext& context) {
  return Expander(op, parameters, context).expand(ranks);
}

}  // namespace rulemill::algebra
