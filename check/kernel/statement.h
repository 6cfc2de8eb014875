// A rule's statement as the checker understands it: types, what may be assumed, what is to be shown, and what an
// element of each side is.
#pragma once

#include <array>

#include "algebra/terms/term.h"
#include "check/kernel/guards.h"
#include "check/kernel/normal_form.h"

namespace rulemill::check {

using Shape = std::vector<Poly>;

/// For all values of `bound` at which `guards` hold, the one factor, an application of a partial function, is defined.
using Demand = Product;

/// A rule's statement in the checker's terms: the types of all its terms by its operators' definitions.
class Statement {
 public:
  Statement(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols, Atoms& atoms);

  /// Where the rule is to hold: its condition, and where its source types.
  const Guards& facts() const { return facts_; }
  /// What must follow: that the target types, and to the source's shapes.
  const Guards& duties() const { return duties_; }
  std::size_t outputs() const { return rule_.source.size(); }

  /// 0 ≤ @d < dimension d of an output, for all d.
  Guards ranges(std::size_t output);
  /// Element [@0, @1, …] of output `output` of the source minus that of the target, as the definitions have it: nothing
  /// is simplified, but guards are not said twice. Deterministic.
  const Sum& difference(std::size_t output) const { return differences_.at(output); }

  /// What the operators of a side demand of their arguments, whatever becomes of the results: it is defined wherever
  /// all of it is met. First what is the side's own; what nodes that are in both sides demand comes after.
  struct Demands {
    std::vector<Demand> all;
    std::size_t own = 0;
  };
  const Demands& demands(bool of_target) const { return demands_[of_target ? 1 : 0]; }

  const Shape& shape(algebra::TermId term) const;

  std::string text(const Sum& sum) const;
  std::string text(const Product& product) const;
  std::string text(const Factor& factor) const;
  const algebra::Rule& rule() const { return rule_; }
  const algebra::TermBank& bank() const { return bank_; }
  Atoms& atoms() const { return atoms_; }
  const algebra::Function& function(std::uint32_t number) const { return bank_.library().functions()[number]; }

 private:
  friend class Lowering;
  /// Types a node; what that needs is added to `needs`.
  void type(algebra::NodeId node, const algebra::Symbols& symbols, Guards& needs);
  Sum lower(std::size_t output);
  Demands demands_of(const std::vector<algebra::TermId>& side, const std::vector<algebra::TermId>& other);

  const algebra::Rule& rule_;
  const algebra::TermBank& bank_;
  Atoms& atoms_;
  Guards facts_, duties_;
  std::vector<Sum> differences_;
  std::array<Demands, 2> demands_;
  std::map<algebra::TermId, Shape> variables_;
  std::map<algebra::NodeId, std::vector<Shape>> outputs_;
  std::map<algebra::NodeId, std::vector<Poly>> sizes_;  // values of the node's size slots
};

/// What an operator's instance makes of shapes, and of the sizes that a node gives it: the values of its size slots,
/// and its outputs' shapes. What that needs is added to `needs`.
struct TypedNode {
  std::vector<Poly> sizes;
  std::vector<Shape> outputs;
};
TypedNode typed(const algebra::Instance& instance, const std::vector<Shape>& arguments, const std::vector<Poly>& given,
                Atoms& atoms, Guards& needs);

/// An index expression at sizes and indices by slot.
Poly value(const algebra::IndexExpr& e, const std::vector<Poly>& sizes, const std::vector<Poly>& indices, Atoms& atoms);

}  // namespace rulemill::check
