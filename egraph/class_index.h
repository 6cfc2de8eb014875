// The nodes of each class by operator instance, for the time in which nothing changes: what matching goes down into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/egraph.h"

namespace rulemill::egraph {

class ClassIndex {
 public:
  /// Of an e-graph that is rebuilt; holds until the next change of it.
  void build(const EGraph& egraph);

  /// Values that nodes of the instance give and that are of the class of `value`, in order of building; no duplicates.
  std::span<const Value> values(const EGraph& egraph, Value value, algebra::InstanceId instance) const {
    const Value of = egraph.find(value);
    const std::uint32_t* const begin = instances_.data() + first_[of];
    const std::uint32_t* const end = instances_.data() + first_[of + 1];
    const auto [from, to] = std::equal_range(begin, end, static_cast<std::uint32_t>(instance));
    return {values_.data() + (from - instances_.data()), static_cast<std::size_t>(to - from)};
  }

 private:
  std::vector<std::uint32_t> first_;      // by class: where its values begin; one entry more
  std::vector<std::uint32_t> instances_;  // sorted within a class
  std::vector<Value> values_;             // along with these
  std::vector<algebra::InstanceId> order_;
};

}  // namespace rulemill::egraph
