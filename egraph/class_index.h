// An index of the e-nodes of each e-class by operator instance, for matching arguments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/egraph.h"

namespace rulemill::egraph {

/// The index; reused across e-graphs.
class ClassIndex {
 public:
  /// Indexes an e-graph that is rebuilt. Valid until its next change.
  void build(const EGraph& egraph);

  /// The outputs of nodes of the instance in the class of `id`, in order of creation, without duplicates.
  std::span<const EClassId> ids(const EGraph& egraph, EClassId id, algebra::InstanceId instance) const {
    const EClassId of = egraph.find(id);
    const std::uint32_t* const begin = instances_.data() + first_[of];
    const std::uint32_t* const end = instances_.data() + first_[of + 1];
    const auto [from, to] = std::equal_range(begin, end, static_cast<std::uint32_t>(instance));
    return {ids_.data() + (from - instances_.data()), static_cast<std::size_t>(to - from)};
  }

  /// The outputs of nodes in the class of `id`, by instance.
  std::span<const EClassId> ids(const EGraph& egraph, EClassId id) const {
    const EClassId of = egraph.find(id);
    return {ids_.data() + first_[of], first_[of + 1] - first_[of]};
  }

 private:
  std::vector<std::uint32_t> first_;      // by class: the index of its first id; one element more than classes
  std::vector<std::uint32_t> instances_;  // sorted within a class
  std::vector<EClassId> ids_;             // parallel to instances_
  std::vector<algebra::InstanceId> order_;
};

}  // namespace rulemill::egraph
