// A goal in an e-graph. Its sizes are renamed in order of appearance, so that similar goals share cached types.
// Equations of its condition are solved for a size; the remaining ones are facts.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/terms/typing.h"
#include "egraph/egraph.h"

namespace rulemill::egraph {

/// The sizes that replace those of goals, shared by all goals.
class CanonicalSizes {
 public:
  explicit CanonicalSizes(algebra::Symbols& symbols) : symbols_(&symbols) {}
  algebra::Atom operator[](std::size_t index);
  std::size_t count() const { return atoms_.size(); }
  /// Removes all but the first `count`.
  void roll_back(std::size_t count) { atoms_.resize(count); }

 private:
  algebra::Symbols* symbols_;
  std::vector<algebra::Atom> atoms_;
};

class Goal {
 public:
  /// Adds both sides to the e-graph, which must be empty, and the goal's facts to its size table.
  Goal(const algebra::TypedRule& rule, algebra::TermBank& bank, CanonicalSizes& canonical_sizes, EGraph& egraph);

  /// The e-classes to be merged, output by output.
  const std::vector<std::pair<EClassId, EClassId>>& outputs() const { return outputs_; }
  /// Nodes of the larger side.
  std::uint32_t operator_count() const { return operator_count_; }
  /// The term that the id was created for, over the goal's variables and sizes.
  algebra::TermId term(EClassId id);
  /// The size as a polynomial over the goal's sizes.
  const algebra::Poly& size(SizeId id);

 private:
  void canonicalize_sizes(CanonicalSizes& canonical_sizes);
  void solve_condition();
  void assume_facts();
  void add_nodes();
  SizeId canonical_id(const algebra::Poly& poly);
  const algebra::Poly& canonical(const algebra::Poly& poly) { return egraph_.size_table().poly(canonical_id(poly)); }
  ShapeId canonical(const algebra::Shape& shape);

  const algebra::TypedRule& rule_;
  algebra::TermBank& bank_;
  EGraph& egraph_;
  algebra::Symbols& symbols_;
  struct Hash {
    std::size_t operator()(const algebra::Poly& poly) const { return poly.hash(); }
  };
  algebra::Substitution to_canonical_, from_canonical_;
  std::unordered_map<algebra::Poly, SizeId, Hash> canonical_ids_;
  std::unordered_map<SizeId, algebra::Poly> goal_sizes_;
  std::unordered_map<algebra::TermId, EClassId> ids_;
  std::unordered_map<EClassId, algebra::TermId> terms_;
  std::vector<std::pair<EClassId, EClassId>> outputs_;
  std::uint32_t operator_count_ = 0;
};

}  // namespace rulemill::egraph
