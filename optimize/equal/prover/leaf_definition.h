// Constants of a window that equal a term over other constants: what one model stores and the other one computes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "egraph/egraph.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

/// A leaf that equals a term over other constant leaves: the term's nodes, arguments first.
struct LeafDefinition {
  std::uint32_t leaf = 0;
  std::vector<RegionNode> nodes;  // their values are numbered after the leaves
  std::uint32_t root = 0;         // number of the term's value
  ValueId value{};                // the term in the bank
  double difference = 0;          // of the elements
};

bool is_defined(std::span<const LeafDefinition> definitions, std::uint32_t leaf);

/// Searches the e-graph of a window.
class LeafDefinitionSearch {
 public:
  LeafDefinitionSearch(const egraph::EGraph& egraph, const egraph::SizeTable& sizes, GraphBank& bank,
                       ConstantComparison& constants, const Region& window)
      : egraph_(egraph), sizes_(sizes), bank_(bank), constants_(constants), window_(window) {}

  /// `values` are the classes of the window's values. Returns definitions of constant leaves that `known` does not
  /// define and only one of the window's outputs depends on, by leaves of the other output. They are not circular, also
  /// together with the known ones.
  std::vector<LeafDefinition> find(std::span<const egraph::EClassId> values, std::span<const LeafDefinition> known);

 private:
  using Numbers = std::map<egraph::EClassId, std::optional<std::uint32_t>>;  // of values of a term, by class

  std::optional<LeafDefinition> agreeing_term(std::uint32_t leaf, egraph::EClassId value);
  std::optional<std::uint32_t> extract(egraph::EClassId value, LeafDefinition& into, Numbers& numbers);
  std::optional<ValueId> build(const LeafDefinition& definition);

  const egraph::EGraph& egraph_;
  const egraph::SizeTable& sizes_;
  GraphBank& bank_;
  ConstantComparison& constants_;
  const Region& window_;
  std::set<std::uint32_t> usable_;  // leaves of terms
};

}  // namespace rulemill::optimize
