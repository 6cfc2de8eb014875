#include "egraph/delta_index.h"

#include <algorithm>

namespace rulemill::egraph {

void DeltaIndex::refresh() {
  levels_ = 0;
  nodes_.clear();
}

/// A class changes when it gets a member or when one of its nodes changes.
void DeltaIndex::add_level() {
  const std::uint32_t count = egraph_.node_count();
  if (levels_ == 0) {
    classes_.resize(egraph_.id_count());
    for (EClassId id = 0; id < egraph_.id_count(); ++id) classes_[id] = egraph_.changed_at(id);
    for (ENodeId node = 0; node < count; ++node) nodes_.push_back(egraph_.added_at(node));
    ++levels_;
    return;
  }
  nodes_.resize(nodes_.size() + count);
  std::uint32_t* const level = nodes_.data() + std::size_t{levels_} * count;
  for (ENodeId node = 0; node < count; ++node) {
    level[node] = egraph_.added_at(node);
    if (egraph_.is_duplicate(node)) continue;
    for (const EClassId argument : egraph_.arguments(node))
      level[node] = std::max(level[node], classes_[egraph_.find(argument)]);
  }
  for (ENodeId node = 0; node < count; ++node) {
    if (egraph_.is_duplicate(node)) continue;
    for (std::uint32_t i = 0; i < egraph_.output_count(node); ++i) {
      std::uint32_t& of_class = classes_[egraph_.find(egraph_.output(node, i))];
      of_class = std::max(of_class, level[node]);
    }
  }
  ++levels_;
}

}  // namespace rulemill::egraph
