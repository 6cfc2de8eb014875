#include "egraph/recency.h"

#include <algorithm>

namespace rulemill::egraph {

void Recency::look() {
  levels_ = 0;
  nodes_.clear();
}

/// Of classes: when they changed themselves, or what one of their nodes sees changed.
void Recency::add_level() {
  const std::uint32_t count = egraph_.node_count();
  if (levels_ == 0) {
    classes_.resize(egraph_.value_count());
    for (Value value = 0; value < egraph_.value_count(); ++value) classes_[value] = egraph_.changed_at(value);
    for (ENode node = 0; node < count; ++node) nodes_.push_back(egraph_.added_at(node));
    ++levels_;
    return;
  }
  nodes_.resize(nodes_.size() + count);
  std::uint32_t* const level = nodes_.data() + std::size_t{levels_} * count;
  for (ENode node = 0; node < count; ++node) {
    level[node] = egraph_.added_at(node);
    if (egraph_.is_duplicate(node)) continue;
    for (const Value argument : egraph_.arguments(node))
      level[node] = std::max(level[node], classes_[egraph_.find(argument)]);
  }
  for (ENode node = 0; node < count; ++node) {
    if (egraph_.is_duplicate(node)) continue;
    for (std::uint32_t i = 0; i < egraph_.output_count(node); ++i) {
      std::uint32_t& of_class = classes_[egraph_.find(egraph_.output(node, i))];
      of_class = std::max(of_class, level[node]);
    }
  }
  ++levels_;
}

}  // namespace rulemill::egraph
