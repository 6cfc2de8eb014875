// Which nodes are said, or run, together: a composite operator (a convolution with its bias is one ONNX node) and an
// activation that its producer has a fused instance for. Derived from the definitions: composites from their steps,
// fused activations from the wrappers of ONNX mappings.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "optimize/graph.h"
#include "optimize/together.h"

namespace rulemill::optimize {

struct CompositeMatch {
  algebra::InstanceId composite{};
  std::vector<ValueId> inputs;
  std::vector<algebra::Poly> sizes;
  std::vector<NodeId> inner;  // nodes of the earlier steps
};

class Fusion {
 public:
  explicit Fusion(GraphBank& bank, Together together = {});

  /// The composite instance whose last step is this node, whoever else uses its inner nodes.
  const std::optional<CompositeMatch>& composite(NodeId node);
  /// Whether `producer` followed by the one-input instance `activation` is said by one instance of producer's operator.
  bool has_fused(algebra::InstanceId producer, algebra::InstanceId activation);
  /// Likewise where `before` may be the last step of a composite that has a fused instance for one of its other steps:
  /// a convolution with a bias.
  bool runs_inside(NodeId before, algebra::InstanceId activation);
  /// The composite that says `producer` followed by `last`, whose first argument is the producer's output.
  std::optional<algebra::InstanceId> composite_of(algebra::InstanceId producer, algebra::InstanceId last);

  /// Nodes that the runtime computes in one pass with this one, the last of them.
  std::vector<NodeId> together_with(NodeId last) const { return together_.with(*bank_, last); }
  /// Whether the user reads what `inner` is made of, where that is its argument at this place: a layout that the
  /// runtime knows; as the first argument of a variadic operator, another of its kind.
  bool takes(algebra::InstanceId user, std::size_t place, algebra::InstanceId inner) const;

 private:
  std::optional<algebra::InstanceId> find_composite(const algebra::Instance& producer, const algebra::Instance& last,
                                                    const std::string& name);
  std::optional<CompositeMatch> find_composite(NodeId node);
  std::optional<CompositeMatch> try_leaves(const std::string& name, NodeId root, const std::vector<ValueId>& leaves,
                                           bool& is_composite);
  std::optional<CompositeMatch> match_steps(const algebra::Instance& composite, NodeId root,
                                            const std::vector<ValueId>& leaves);

  GraphBank* bank_;
  Together together_;
  std::vector<std::string> names_;  // operators that are, or may be, composites
  std::unordered_map<NodeId, std::optional<CompositeMatch>> composites_;
  std::map<std::pair<algebra::InstanceId, algebra::InstanceId>, bool> fused_;
  std::map<std::pair<algebra::InstanceId, algebra::InstanceId>, std::optional<algebra::InstanceId>> composed_;
};

/// How often each value is used by the nodes and as a root.
std::unordered_map<ValueId, std::uint32_t> count_uses(const GraphBank& bank, std::span<const NodeId> nodes,
                                                      std::span<const ValueId> roots);

}  // namespace rulemill::optimize
