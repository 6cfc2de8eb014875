// The statement of a rule: the types of its terms, the assumptions, the obligations, and the elements of both sides.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algebra/operators/function.h"
#include "algebra/operators/law.h"
#include "algebra/operators/operator_instance.h"
#include "check/kernel/atoms.h"
#include "check/kernel/normal_form.h"

namespace rulemill::check {

using Shape = std::vector<Poly>;

/// A variable, or an output of a node.
struct CoreTerm {
  bool is_variable = false;
  std::uint32_t number = 0;  // of the variable or node
  std::uint32_t output = 0;
  auto operator<=>(const CoreTerm&) const = default;
};

struct CoreNode {
  const algebra::OperatorInstance* instance = nullptr;
  std::vector<CoreTerm> arguments;  // of earlier nodes
  std::vector<Poly> sizes;          // the node's size parameters
};

/// The core form of a rule: all that a proof depends on. Operators are instances with their definitions expanded, nodes
/// are numbered, sizes are polynomials in the checker's atoms, and laws are equations. `check/core_rule` makes it from
/// a rule and the definitions; the kernel reads nothing else.
struct CoreRule {
  struct Variable {
    std::string name;
    Shape shape;
  };
  std::vector<Variable> variables;
  Guards condition;
  std::vector<CoreNode> nodes;
  std::vector<CoreTerm> source, target;
  bool widens = false;                           // states something only where the source is defined
  std::vector<Poly> nonzero;                     // of an instance, to be shown of numbers that are not 0
  std::span<const algebra::Function> functions;  // by the numbers of Apply
  std::span<const algebra::LawEquation> laws;
};

/// The condition that the one factor, which says where a partial function is defined, is 1 for all `bound` at which
/// `guards` hold.
using DefinednessCondition = Product;

/// The values of the size slots of an operator instance, and the shapes of its outputs.
struct TypedNode {
  std::vector<Poly> sizes;
  std::vector<Shape> outputs;
};

/// The statement of a rule, typed by the definitions of its operators.
class Statement {
 public:
  /// When the elements of both sides are lowered. A derivation needs only the definedness conditions, of which there
  /// are none if no definition applies a partial function. Then there are no differences and divisors of elements.
  enum class Lower : std::uint8_t { Always, IfPartial };

  Statement(CoreRule rule, Atoms& atoms, Lower when = Lower::Always);

  /// The assumptions: the rule's condition, and those under which the source is well-typed.
  const Guards& facts() const { return facts_; }
  /// The obligations: the target is well-typed and has the shapes of the source.
  const Guards& target_obligations() const { return target_obligations_; }
  std::size_t outputs() const { return rule_.source.size(); }

  /// 0 ≤ @d < dimension d of an output, for all d.
  Guards index_ranges(std::size_t output) const;
  /// Element [@0, @1, …] of output `output` of the source minus that of the target, by the definitions. Nothing is
  /// simplified, except that guards are not repeated. Deterministic.
  const Sum& difference(std::size_t output) const { return differences_.at(output); }

  /// The definedness conditions of all operators of a side. The side is defined wherever all of them hold. The first
  /// `own_count` are of nodes of this side only, the others of nodes that are in both sides.
  struct DefinednessConditions {
    std::vector<DefinednessCondition> all;
    std::size_t own_count = 0;
  };
  const DefinednessConditions& definedness_conditions(bool of_target) const {
    return definedness_conditions_[of_target ? 1 : 0];
  }

  const Shape& shape(const CoreTerm& term) const {
    return term.is_variable ? rule_.variables.at(term.number).shape : types_.at(term.number).outputs.at(term.output);
  }
  const CoreRule& rule() const { return rule_; }
  Atoms& atoms() const { return atoms_; }
  const algebra::Function& function(std::uint32_t number) const { return at(rule_.functions, number, "function"); }

  std::string text(const Sum& sum) const;
  std::string text(const Product& product) const;
  std::string text(const Factor& factor) const;

 private:
  friend class Lowering;
  std::set<std::uint32_t> nodes_of(const std::vector<CoreTerm>& side) const;
  bool has_only_total_functions() const;
  Sum lower(std::size_t output);
  DefinednessConditions collect_conditions(const std::set<std::uint32_t>& side, const std::set<std::uint32_t>& other);

  const CoreRule rule_;
  Atoms& atoms_;
  Guards facts_, target_obligations_;
  std::vector<Sum> differences_;
  std::array<DefinednessConditions, 2> definedness_conditions_;
  std::vector<TypedNode> types_;  // by node
};

/// The value of an expression; `other` gives the value of a part that is not a number, a sum or a product. Nothing is
/// simplified, except that guards of a product are not repeated.
template <class Other>
Sum evaluate(const algebra::ScalarExpr& e, const Other& other) {
  if (e.kind == algebra::ScalarExpr::Kind::Constant) return number_sum(e.value);
  const bool is_sum = e.kind == algebra::ScalarExpr::Kind::Add;
  if (!is_sum && e.kind != algebra::ScalarExpr::Kind::Mul) return other(e);
  Sum result = is_sum ? Sum{} : number_sum({1, 1});
  for (const auto& operand : e.operands) {
    const Sum part = evaluate(*operand, other);
    check_size(is_sum ? result.size() + part.size() : result.size() * part.size());
    result = is_sum ? add(std::move(result), part) : multiply(result, part);
  }
  return result;
}

/// Types an operator instance at the shapes of its arguments and the sizes that a node gives it. Adds the conditions
/// under which it is well-typed to `obligations`.
TypedNode type_node(const algebra::OperatorInstance& instance, const std::vector<Shape>& arguments,
                    const std::vector<Poly>& given, Atoms& atoms, Guards& obligations);

}  // namespace rulemill::check
