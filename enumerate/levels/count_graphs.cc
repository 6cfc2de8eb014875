#include "enumerate/levels/count_graphs.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace rulemill::enumerate {
namespace {

std::uint64_t choose2(std::uint64_t n) { return n < 2 ? 0 : n * (n - 1) / 2; }
std::uint64_t choose3(std::uint64_t n) { return n < 3 ? 0 : n * (n - 1) * (n - 2) / 6; }
std::uint64_t choose4(std::uint64_t n) { return n < 4 ? 0 : choose3(n) * (n - 3) / 4; }

/// Calls body(nodes) for every node of the level, with all its renamings. `nodes` is the closure without the node.
template <class Body>
void for_each_closure(std::uint32_t level, const Enumerator& enumerator, const Body& body) {
  const TermTable& terms = enumerator.terms();
  const Symmetry& symmetry = enumerator.symmetry();
  for (NodeId n = 0; n < terms.nodes(); ++n) {
    const auto below = terms.closure(n).first(terms.closure(n).size() - 1);
    if (below.size() + 1 != level) continue;
    const TermId t = terms.first_term(n);
    if (t < enumerator.expanded_terms()) {
      body(std::vector<NodeId>(below.begin(), below.end()));
      continue;
    }
    // The table contains only the representative of the orbit.
    const RenamingList& list = symmetry.renamings().of(terms.variables(t));
    const bool commutative = enumerator.signatures().is_commutative(terms.signature(n));
    std::set<std::vector<TermId>> known;
    for (std::uint32_t r = 0; r < list.count; ++r) {
      std::vector<TermId> arguments;
      for (const TermId argument : terms.arguments(n)) arguments.push_back(symmetry.rename(argument, list.swaps_of(r)));
      if (commutative) std::ranges::sort(arguments);
      if (!known.insert(std::move(arguments)).second) continue;
      std::vector<NodeId> nodes;
      for (const NodeId b : below) nodes.push_back(symmetry.rename_node(b, list.swaps_of(r)));
      std::ranges::sort(nodes);
      body(nodes);
    }
  }
}

}  // namespace

std::optional<std::uint64_t> count_graphs(std::uint32_t size, const Enumerator& enumerator,
                                          std::span<const std::uint64_t> level_nodes) {
  const TermTable& terms = enumerator.terms();
  if (size == 0 || size > 4 || size >= level_nodes.size()) return std::nullopt;
  const std::uint64_t n1 = level_nodes[1];
  if (size == 1) return n1;
  const std::uint64_t n2 = level_nodes[2];
  // {a, b}, both of level 1, or {a, b(a)}
  if (size == 2) return choose2(n1) + n2;

  std::vector<std::uint64_t> above(terms.nodes(), 0);  // by node of level 1: its users of level 2
  for_each_closure(2, enumerator, [&](const std::vector<NodeId>& below) { ++above[below[0]]; });
  std::uint64_t two_above = 0, three_above = 0, squares = 0;
  for (const std::uint64_t count : above) {
    two_above += choose2(count);
    three_above += choose3(count);
    squares += count * count;
  }
  const std::uint64_t n3 = level_nodes[3];
  // Three nodes of level 1; one of level 2 with its argument and another of level 1; two of level 2 with a common
  // argument; one of level 3.
  if (size == 3) return choose3(n1) + n2 * (n1 - 1) + two_above + n3;

  std::map<std::vector<NodeId>, std::uint64_t> pairs;  // number of level-3 nodes with this closure
  for_each_closure(3, enumerator, [&](const std::vector<NodeId>& below) { ++pairs[below]; });
  // The closure of a node of level 3 is {p, q}, where q uses p, or both are of level 1.
  std::uint64_t same_pair = 0, adjacent = 0, separate = 0;
  for (const auto& [pair, count] : pairs) {
    const NodeId p = pair[0], q = pair[1];
    const bool chain = terms.closure(q).size() == 2;
    same_pair += choose2(count);
    adjacent += count * (chain ? above[p] - 1 : above[p] + above[q]);  // with a node of level 2 that uses p or q
    separate += count * (n1 - (chain ? 1 : 2));                        // with another node of level 1
  }
  return choose4(n1) + n2 * choose2(n1 - 1) + two_above * (n1 - 1) + (n2 * n2 - squares) / 2 + three_above + same_pair +
         adjacent + separate + level_nodes[4];
}

}  // namespace rulemill::enumerate
