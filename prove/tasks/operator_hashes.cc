#include "prove/tasks/operator_hashes.h"

#include <algorithm>

#include "runtime/text/hash.h"

namespace rulemill::prove {

std::uint64_t operator_hash(const algebra::OperatorInstance& instance) {
  runtime::Hasher hasher;
  hasher.add_text(instance.name);
  for (const auto& input : instance.inputs) hasher.add_number(input.size());
  for (const auto& output : instance.outputs) hasher.add_number(output.dims.size());
  return hasher.digest64();
}

OperatorHashes operator_hashes(const algebra::Rule& rule, const algebra::TermBank& bank) {
  OperatorHashes hashes;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side))
      hashes.push_back(operator_hash(bank.library().instance(bank.node(node).instance)));
  }
  std::ranges::sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace rulemill::prove
