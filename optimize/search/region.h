// A run of nodes of a model graph, with its leaves numbered. Regions that differ only in the identity of their leaves
// are equal, so that a block that a model repeats is solved once. Values are numbered: first the leaves, then the
// outputs of the nodes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "optimize/model/fusion.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

struct RegionNode {
  static constexpr std::uint32_t not_original = 0xffffffff;

  algebra::InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<algebra::Poly> sizes;
  std::uint32_t first_output = 0, outputs = 0;
  std::uint32_t original = not_original;  // number of the region's node that this one is
};

/// A graph over `leaves` leaves: nodes, arguments before users, and output values.
struct RegionGraph {
  std::uint32_t leaves = 0;
  std::vector<RegionNode> nodes;
  std::vector<std::uint32_t> outputs;
  /// The last and an earlier node of a group that one ONNX node or composite encodes.
  struct FusedPair {
    std::uint32_t last = 0, inner = 0;
    auto operator<=>(const FusedPair&) const = default;
  };
  std::vector<FusedPair> fused_pairs;
};

struct RegionLeaf {
  ValueId value{};
  bool constant = false;
};

struct Region {
  std::vector<RegionLeaf> leaves;
  RegionGraph graph;
  std::vector<std::uint32_t> origins;  // by node: Node::origin
  std::vector<ValueId> outputs;        // of the model graph, in the order of graph.outputs
};

/// Builds the regions of one graph.
class RegionBuilder {
 public:
  RegionBuilder(const GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs);

  /// Returns the region of the algebra nodes among `nodes`. Its outputs are the values that the rest of the graph uses;
  /// values computed from constants only are leaves, but named ones (optimize/model/numbers.h) are nodes. Fused nodes,
  /// also those that the runtime computes in one pass, are in the region if and only if their last node is.
  Region build_region(const std::vector<NodeId>& nodes) const;

 private:
  void add_fused_pair(NodeId last, NodeId inner, bool encoded);
  bool is_computed(NodeId id) const;
  std::vector<NodeId> complete(const std::vector<NodeId>& nodes) const;

  const GraphBank& bank_;
  std::unordered_map<ValueId, std::uint32_t> uses_;           // as an argument or an output
  std::unordered_map<NodeId, std::vector<NodeId>> inner_of_;  // by the last node of a fusion: the earlier ones
  std::unordered_map<NodeId, std::vector<NodeId>> last_of_;   // by an earlier node: the last ones
  std::set<std::pair<NodeId, NodeId>> encoded_;               // last and earlier nodes that one ONNX node encodes
};

/// Returns a text that is equal for regions that differ only in the identity of their leaves.
std::string region_key(const Region& region, const GraphBank& bank);

/// Builds the graph with these values as the region's leaves, and returns its outputs; nullopt if a node is ill-typed.
/// The region's own nodes keep their origins.
std::optional<std::vector<ValueId>> build_graph(const RegionGraph& graph, const Region& region,
                                                std::span<const ValueId> leaves, GraphBank& bank);

}  // namespace rulemill::optimize
