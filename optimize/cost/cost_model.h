// The cost of the nodes of a graph: a measured time, a rate per element that was measured once for the runtime
// (calibration.h), or an analytic roofline from the operator definitions and shapes.
//
//   cost(node) = max(flops / (peak · occupancy), bytes / bandwidth) + overhead
//
// flops: arithmetic of one output element, reductions by their extents, times the elements; guards are not counted.
// bytes: inputs and outputs once each. occupancy: the fraction of the device that the output elements occupy.
// Free are: nodes on constants, which are folded; nodes that are fused into their producer (the last step of a
// composite; an activation for which the producer has a fused instance), except for a measured difference; nodes that
// their only user absorbs (a transposed operand of a product); and all nodes but the last that the runtime computes in
// one pass, wherever a rewrite creates them. Two nodes that the runtime fuses into a slower one cost what that one
// costs, if the calibration has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/cost/cost_source.h"
#include "optimize/cost/device_model.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/fusion.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// The work of one operator instance at known shapes.
struct Work {
  double product_flops = 0;  // inside of reductions
  double window_flops = 0;   // those of them over windows of several channels, as in convolutions of images
  double scalar_flops = 0;   // outside of reductions
  double bytes = 0;
  double output_elements = 0;
};
std::optional<Work> work_of(const algebra::Library& library, const algebra::OperatorInstance& instance,
                            std::span<const std::vector<std::int64_t>> inputs,
                            std::span<const std::int64_t> size_parameters);
double roofline_seconds(const Work& work, const DeviceModel& device);

class CostModel {
 public:
  /// The assumed value of a dynamic dimension that the user does not set.
  static constexpr std::int64_t default_size = 64;

  /// `sizes` are the assumed values of dynamic dimensions. `source`, if given, has precedence over the analytic model.
  CostModel(GraphBank& bank, Fusion& fusion, DeviceModel device, GraphEvaluator::Sizes sizes,
            CostSource* source = nullptr)
      : bank_(&bank), fusion_(&fusion), device_(std::move(device)), sizes_(std::move(sizes)), source_(source) {}

  const DeviceModel& device() const { return device_; }
  const GraphEvaluator::Sizes& sizes() const { return sizes_; }
  Fusion& fusion() const { return *fusion_; }
  /// Return values at the assumed sizes.
  std::int64_t evaluate(const algebra::Poly& poly) const;
  std::vector<std::int64_t> evaluate(std::span<const algebra::Poly> polys) const;
  double graph_seconds(std::span<const ValueId> outputs);
  /// Returns the number of arithmetic operations of the graph, without its opaque nodes.
  double operations(std::span<const ValueId> outputs) const;
  /// A node without its neighbors: the shapes of its arguments, and which of them are constants.
  struct IsolatedNode {
    algebra::InstanceId instance{};
    std::vector<algebra::Shape> arguments;
    std::vector<bool> constant;
    std::vector<algebra::Poly> sizes;
  };
  double isolated_seconds(const IsolatedNode& node) const;
  /// Returns the additional cost of an activation that is fused into its producer.
  double fused_activation_seconds(const IsolatedNode& producer, algebra::InstanceId activation) const;
  /// Returns the cost of a node whose first argument `inner` the runtime computes with it, more slowly than both (a
  /// normalization of a sum), so that both together have the cost of what computes them; nullopt for other pairs.
  std::optional<double> slower_pair_seconds(const IsolatedNode& last, const IsolatedNode& inner) const;
  /// Returns the cost of nodes that the runtime computes in one pass, by a pattern of this name: that of the name if
  /// the calibration has it, otherwise that of the last node.
  double one_pass_seconds(const std::string& pattern, const IsolatedNode& last) const;
  /// Returns the cost of each node within the graph.
  std::unordered_map<NodeId, double> node_costs(std::span<const ValueId> outputs);

 private:
  double node_seconds(NodeId id);
  double compute(const Node& node) const;
  CostQuery query_of(const IsolatedNode& node) const;
  IsolatedNode isolated(const Node& node) const;
  /// Returns the cost of a node that is fused into another; nullopt for other nodes.
  std::optional<double> fused_seconds(NodeId id, const std::unordered_map<ValueId, std::uint32_t>& uses);
  bool absorbs_argument(const Node& node, std::size_t position) const;
  /// Returns the cost of this name in the calibration, for the elements of the node's largest argument.
  std::optional<double> calibrated_seconds(const std::string& name, const IsolatedNode& node) const;
  std::optional<Fusion::OnePassNodes> one_pass(NodeId last,
                                               const std::unordered_map<ValueId, std::uint32_t>& uses) const;
  std::optional<double> slower_seconds(const Node& node, const std::unordered_map<ValueId, std::uint32_t>& uses) const;
  void for_each_node(std::span<const ValueId> outputs, const std::function<void(NodeId, double)>& report);

  GraphBank* bank_;
  Fusion* fusion_;
  DeviceModel device_;
  GraphEvaluator::Sizes sizes_;
  CostSource* source_;
  std::unordered_map<NodeId, double> seconds_;
};

}  // namespace rulemill::optimize
