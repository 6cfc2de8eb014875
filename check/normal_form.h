// One element of a tensor as the checker writes it: a sum of products
//     coefficient · Σ over bound indices [guards] · Π factors.
// A bound index runs over all integers; ranges, and zero outside a tensor, are guards like any other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algebra/terms/term.h"
#include "check/atoms.h"

namespace rulemill::check {

using algebra::Rational;

struct Product;
using Sum = std::vector<Product>;

/// Read: variable[index]. Inverse: 1 / index[0], which is at least 1. Whole: index[0]. Apply: function(arguments...).
/// Max: the maximum of arguments[0] over those values of `bound` for which `guards` hold, 0 if there are none.
struct Factor {
  enum class Kind : std::uint8_t { Read, Inverse, Whole, Apply, Max };
  Kind kind = Kind::Read;
  std::uint32_t symbol = 0;  // Read: the variable's place in the rule; Apply: the function
  std::vector<Poly> index;
  std::vector<Sum> arguments;
  std::vector<Atom> bound;
  Guards guards;
  bool operator==(const Factor&) const = default;
};

struct Product {
  Rational coefficient{1, 1};
  Guards guards;
  std::vector<Atom> bound;
  std::vector<Factor> factors;
  bool operator==(const Product&) const = default;
};

/// What cannot go on: the rule, or its certificate, is wrong or beyond the checker.
struct Objection {
  std::string what;
};

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

  std::string text(const Sum& sum) const;
  std::string text(const Product& product) const;
  std::string text(const Factor& factor) const;
  const algebra::Rule& rule() const { return rule_; }
  const algebra::TermBank& bank() const { return bank_; }
  Atoms& atoms() const { return atoms_; }
  const algebra::Function& function(std::uint32_t number) const { return bank_.library().functions()[number]; }

 private:
  friend class Lowering;
  using Shape = std::vector<Poly>;
  const Shape& shape(algebra::TermId term) const;
  /// Types a node; what that needs is added to `needs`.
  void type(algebra::NodeId node, const algebra::Symbols& symbols, Guards& needs);
  Sum lower(std::size_t output);

  const algebra::Rule& rule_;
  const algebra::TermBank& bank_;
  Atoms& atoms_;
  Guards facts_, duties_;
  std::vector<Sum> differences_;
  std::map<algebra::TermId, Shape> variables_;
  std::map<algebra::NodeId, std::vector<Shape>> outputs_;
  std::map<algebra::NodeId, std::vector<Poly>> sizes_;  // values of the node's size slots
};

/// left relation right as guards; nothing for ≠.
Guards guards_of(algebra::Relation relation, const Poly& left, const Poly& right);

}  // namespace rulemill::check
