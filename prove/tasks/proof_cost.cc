#include "prove/tasks/proof_cost.h"

namespace rulemill::prove {

double estimated_cost(const algebra::Rule& rule, const algebra::TermBank& bank) {
  double product = 0.1;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId id : bank.nodes(*side)) {
      const algebra::OperatorInstance& instance = bank.library().instance(bank.node(id).instance);
      product *= 1 + 0.1 * static_cast<double>(instance.index_slots + instance.conditions.size());
    }
  }
  return product;
}

}  // namespace rulemill::prove
