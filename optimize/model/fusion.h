// Fusions: nodes that one ONNX node encodes or that are computed in one pass. Composite operators (a convolution with
// its bias) follow from the steps of their definitions; fused activations follow from the activations of ONNX mappings;
// runtime fusions are given.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "optimize/model/graph.h"
#include "optimize/model/runtime_fusion.h"

namespace rulemill::optimize {

/// A composite operator applied to values, equal to a node of the graph.
struct CompositeMatch {
  algebra::InstanceId composite{};
  std::vector<ValueId> inputs;
  std::vector<algebra::Poly> sizes;
  std::vector<NodeId> inner;  // nodes of all steps but the last
};

class Fusion {
 public:
  explicit Fusion(GraphBank& bank, RuntimeFusions fusions = {});

  /// Returns the composite whose last step is this node. Its inner nodes may have other users.
  const std::optional<CompositeMatch>& composite(NodeId node);
  /// Returns true if one instance of the producer's operator encodes it followed by the one-input `activation`.
  bool has_fused_activation(algebra::InstanceId producer, algebra::InstanceId activation);
  /// Returns true if the node, or an inner one of its composite (a convolution before a bias), has a fused activation.
  bool fuses_activation(NodeId producer, algebra::InstanceId activation);
  /// Returns the composite of `producer` followed by `last`, whose first argument is the producer's output.
  std::optional<algebra::InstanceId> composite_of(algebra::InstanceId producer, algebra::InstanceId last);

  /// The nodes that the runtime computes in one pass with `last`, by a pattern of this name. They may have other users.
  struct OnePassNodes {
    std::string pattern;
    std::vector<NodeId> inner;
  };
  std::optional<OnePassNodes> one_pass(NodeId last) const;
  const RuntimeFusions& runtime() const { return runtime_; }
  /// Returns true if `user` absorbs its operand `inner` at this position: by a runtime fusion, or because both have the
  /// same variadic operator and `inner` is its first argument.
  bool absorbs_operand(algebra::InstanceId user, std::size_t position, algebra::InstanceId inner) const;
  /// As RuntimeFusions::slower_pair().
  const std::string* slower_pair(algebra::InstanceId last, algebra::InstanceId inner) const {
    return runtime_.slower_pair(bank_->library().instance(last), bank_->library().instance(inner));
  }

 private:
  std::optional<algebra::InstanceId> find_composite(const algebra::OperatorInstance& producer,
                                                    const algebra::OperatorInstance& last, const std::string& name);
  std::optional<CompositeMatch> find_composite(NodeId node);
  std::optional<CompositeMatch> try_leaves(const std::string& name, NodeId root, const std::vector<ValueId>& leaves,
                                           bool& is_composite);
  std::optional<CompositeMatch> match_steps(const algebra::OperatorInstance& composite, NodeId root,
                                            const std::vector<ValueId>& leaves);

  GraphBank* bank_;
  RuntimeFusions runtime_;
  std::map<std::string, double> numbers_;     // of the runtime's patterns, by operator
  std::vector<std::string> composite_names_;  // operators that are not known to have no steps
  std::unordered_map<NodeId, std::optional<CompositeMatch>> composites_;
  std::map<std::pair<algebra::InstanceId, algebra::InstanceId>, bool> fused_activations_;
  std::map<std::pair<algebra::InstanceId, algebra::InstanceId>, std::optional<algebra::InstanceId>> composed_;
};

/// Counts the uses of each value as an argument of the nodes or as a root.
std::unordered_map<ValueId, std::uint32_t> count_uses(const GraphBank& bank, std::span<const NodeId> nodes,
                                                      std::span<const ValueId> roots);

}  // namespace rulemill::optimize
