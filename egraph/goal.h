// A goal put into an e-graph. Its sizes are renamed by their order of appearance, so that goals of the same kind look
// alike to what remembers types; equations of its condition are solved for a size, the rest are facts.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/terms/typing.h"
#include "egraph/egraph.h"

namespace rulemill::egraph {

/// Names for sizes, shared by all goals.
class CanonicalSizes {
 public:
  explicit CanonicalSizes(algebra::Symbols& symbols) : symbols_(&symbols) {}
  algebra::Atom operator[](std::size_t index);
  std::size_t count() const { return atoms_.size(); }
  /// Forgets all names but the first `count`.
  void roll_back(std::size_t count) { atoms_.resize(count); }

 private:
  algebra::Symbols* symbols_;
  std::vector<algebra::Atom> atoms_;
};

class Goal {
 public:
  /// Puts both sides into the e-graph, which should be empty, and the goal's facts into its size table.
  Goal(const algebra::TypedRule& rule, algebra::TermBank& bank, CanonicalSizes& names, EGraph& egraph);

  /// Values to be made equal, output by output.
  const std::vector<std::pair<Value, Value>>& outputs() const { return outputs_; }
  /// Operators of the larger side: its nodes or, if that is more, the operators of its largest output written as a
  /// tree.
  std::uint32_t operators() const { return operators_; }
  /// The term that the value was built as, over the goal's variables and sizes.
  algebra::TermId term(Value value);
  /// In the goal's sizes.
  const algebra::Poly& size(SizeId id);

 private:
  void name_sizes(CanonicalSizes& names);
  void solve_condition();
  void assume_facts();
  void add_nodes();
  SizeId inward_id(const algebra::Poly& poly);
  const algebra::Poly& inward(const algebra::Poly& poly) { return egraph_.size_table().poly(inward_id(poly)); }
  ShapeId inward(const algebra::Shape& shape);

  const algebra::TypedRule& rule_;
  algebra::TermBank& bank_;
  EGraph& egraph_;
  algebra::Symbols& symbols_;
  struct Hash {
    std::size_t operator()(const algebra::Poly& poly) const { return poly.hash(); }
  };
  algebra::Substitution inward_, outward_;
  std::unordered_map<algebra::Poly, SizeId, Hash> inward_ids_;
  std::unordered_map<SizeId, algebra::Poly> outward_sizes_;
  std::unordered_map<algebra::TermId, Value> values_;
  std::unordered_map<Value, algebra::TermId> terms_;
  std::vector<std::pair<Value, Value>> outputs_;
  std::uint32_t operators_ = 0;
};

}  // namespace rulemill::egraph
