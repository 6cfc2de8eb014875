// A run of nodes of a model graph as data over what comes in: regions that differ in nothing but their leaves are
// equal, so that a block which a model repeats is solved once. Values are numbered: the leaves first, then the nodes'
// outputs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "optimize/fusion.h"
#include "optimize/graph.h"

namespace rulemill::optimize {

struct RegionNode {
  static constexpr std::uint32_t no_stem = 0xffffffff;

  algebra::InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<algebra::Poly> sizes;
  std::uint32_t first_output = 0, outputs = 0;
  std::uint32_t stem = no_stem;  // which of the region's own nodes it is
};

/// Nodes over `leaves` leaves, arguments before users, and the values that are wanted.
struct RegionGraph {
  std::uint32_t leaves = 0;
  std::vector<RegionNode> nodes;
  std::vector<std::uint32_t> outputs;
  /// Nodes that one node of the model says, or one composite, or that the runtime computes in one pass: the last of
  /// them and an earlier one.
  struct Said {
    std::uint32_t last = 0, inner = 0;
    bool in_one_pass = false;  // by the runtime, else by one node
    auto operator<=>(const Said&) const = default;
  };
  std::vector<Said> said;
};

struct RegionLeaf {
  ValueId value{};
  bool constant = false;
};

struct Region {
  std::vector<RegionLeaf> leaves;
  RegionGraph graph;
  std::vector<std::uint32_t> origins;  // by node: see Node::origin
  std::vector<ValueId> outputs;        // of the model graph, in the order of graph.outputs
};

/// Cuts regions out of one graph.
class Regions {
 public:
  Regions(const GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs);

  /// The algebra nodes among `nodes`, with what the rest of the graph uses of them. What is computed from constants
  /// alone is a leaf. What is said together is in with its last node, or out with it.
  Region cut_out(const std::vector<NodeId>& nodes) const;

 private:
  void add_said(NodeId last, NodeId inner, bool in_one_pass = false);
  bool is_computed(NodeId id) const;
  std::vector<NodeId> whole(const std::vector<NodeId>& nodes) const;

  const GraphBank& bank_;
  std::unordered_map<ValueId, std::uint32_t> uses_;  // as an argument or an output
  std::unordered_map<NodeId, std::vector<NodeId>> said_,
      last_;                      // by last node: the earlier ones; and the other way round
  std::set<NodeId> in_one_pass_;  // last nodes of what the runtime does so
};

/// Equal for regions that differ in the identity of their leaves alone.
std::string key_of(const Region& region, const GraphBank& bank);

/// The graph's outputs over these values in place of the region's leaves; nothing if a node does not type there. The
/// region's own nodes keep their origin.
std::optional<std::vector<ValueId>> build(const RegionGraph& graph, const Region& region,
                                          std::span<const ValueId> leaves, GraphBank& bank);

}  // namespace rulemill::optimize
