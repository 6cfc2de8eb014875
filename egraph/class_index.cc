#include "egraph/class_index.h"

namespace rulemill::egraph {

/// A counting sort by class of ids that are in order of instances.
void ClassIndex::build(const EGraph& egraph) {
  first_.assign(egraph.id_count() + 2, 0);
  order_.assign(egraph.instances().begin(), egraph.instances().end());
  std::ranges::sort(order_);
  const auto for_each_output = [&](const auto& visit) {
    for (const algebra::InstanceId instance : order_) {
      for (const ENodeId node : egraph.nodes_of(instance)) {
        if (egraph.is_duplicate(node)) continue;
        for (std::uint32_t i = 0; i < egraph.output_count(node); ++i) visit(instance, egraph.output(node, i));
      }
    }
  };
  for_each_output([&](algebra::InstanceId, EClassId id) { ++first_[egraph.find(id) + 2]; });
  for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
  instances_.resize(first_.back());
  ids_.resize(first_.back());
  for_each_output([&](algebra::InstanceId instance, EClassId id) {
    const std::uint32_t at = first_[egraph.find(id) + 1]++;
    instances_[at] = static_cast<std::uint32_t>(instance);
    ids_[at] = id;
  });
}

}  // namespace rulemill::egraph
