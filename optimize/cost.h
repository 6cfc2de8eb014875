// What each node of a graph costs: what a source of measured times says, or else an analytic roofline, from the
// operator definitions and the shapes alone.
//
//   cost(node) = max(flops / (peak · busy), bytes / bandwidth) + overhead
//
// flops: arithmetic of one output element, reductions by their extents, times the elements; guards are not counted.
// bytes: inputs and outputs once each. busy: the share of the device that the outputs can occupy.
// Nodes on constants cost nothing, since they are folded. A node that runs inside its producer (the last step of a
// composite; an activation that the producer has a fused instance for) costs nothing either, nor does one whose only
// user reads what it is made of (a transposed operand of a product).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/cost_source.h"
#include "optimize/device.h"
#include "optimize/evaluate.h"
#include "optimize/fusion.h"
#include "optimize/graph.h"

namespace rulemill::optimize {

/// What one instance does at known shapes.
struct Work {
  double product_flops = 0;  // inside reductions
  double scalar_flops = 0;   // outside
  double bytes = 0;
  double output_elements = 0;
};
std::optional<Work> work_of(const algebra::Library& library, const algebra::Instance& instance,
                            std::span<const std::vector<std::int64_t>> inputs,
                            std::span<const std::int64_t> size_parameters);
double seconds_for(const Work& work, const Device& device);

class CostModel {
 public:
  /// What a symbolic dimension is taken for if nobody gave it a number.
  static constexpr std::int64_t default_size = 64;

  /// `sizes` gives every symbolic dimension the number that costs are for. `source`, if given, is asked first.
  CostModel(GraphBank& bank, Fusion& fusion, Device device, Evaluator::Sizes sizes, CostSource* source = nullptr)
      : bank_(&bank), fusion_(&fusion), device_(std::move(device)), sizes_(std::move(sizes)), source_(source) {}

  const Device& device() const { return device_; }
  Fusion& fusion() const { return *fusion_; }
  double graph_seconds(std::span<const ValueId> outputs);
  /// Arithmetic operations of the graph, as far as definitions say what its nodes compute.
  double operations(std::span<const ValueId> outputs) const;
  /// A node by itself: the types of its arguments, and which of them are constants.
  struct Alone {
    algebra::InstanceId instance{};
    std::vector<algebra::Shape> arguments;
    std::vector<bool> constant;
    std::vector<algebra::Poly> sizes;
  };
  double seconds_alone(const Alone& node) const;
  /// What an activation adds that runs inside the node before it.
  double seconds_inside(const Alone& producer, algebra::InstanceId activation) const;
  /// What each node of the graph costs there; for one that runs inside another what it adds, mostly nothing.
  std::unordered_map<NodeId, double> node_costs(std::span<const ValueId> outputs);

 private:
  double node_seconds(NodeId id);
  double compute(const Node& node) const;
  std::int64_t number(const algebra::Poly& poly) const;
  std::vector<std::int64_t> numbers(std::span<const algebra::Poly> polys) const;
  CostQuery query_of(const Alone& node) const;
  Alone alone(const Node& node) const;
  /// Seconds of a node that runs inside another; nothing for one that does not.
  std::optional<double> inside_another(NodeId id, const std::unordered_map<ValueId, std::uint32_t>& uses);
  bool folds_into_user(const Node& node, std::size_t place) const;
  void visit(std::span<const ValueId> outputs, const std::function<void(NodeId, double)>& report);

  GraphBank* bank_;
  Fusion* fusion_;
  Device device_;
  Evaluator::Sizes sizes_;
  CostSource* source_;
  std::unordered_map<NodeId, double> seconds_;
};

}  // namespace rulemill::optimize
