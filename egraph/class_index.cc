#include "egraph/class_index.h"

namespace rulemill::egraph {

/// A counting sort by class of what is in order of instances already.
void ClassIndex::build(const EGraph& egraph) {
  first_.assign(egraph.value_count() + 2, 0);
  order_.assign(egraph.instances().begin(), egraph.instances().end());
  std::ranges::sort(order_);
  const auto each_value = [&](const auto& visit) {
    for (const algebra::InstanceId instance : order_) {
      for (const ENode node : egraph.nodes_of(instance)) {
        if (egraph.is_duplicate(node)) continue;
        for (std::uint32_t i = 0; i < egraph.output_count(node); ++i) visit(instance, egraph.output(node, i));
      }
    }
  };
  each_value([&](algebra::InstanceId, Value value) { ++first_[egraph.find(value) + 2]; });
  for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
  instances_.resize(first_.back());
  values_.resize(first_.back());
  each_value([&](algebra::InstanceId instance, Value value) {
    const std::uint32_t at = first_[egraph.find(value) + 1]++;
    instances_[at] = static_cast<std::uint32_t>(instance);
    values_[at] = value;
  });
}

}  // namespace rulemill::egraph
