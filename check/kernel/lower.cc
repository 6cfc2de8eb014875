// Lowers an element of a tensor to a sum of products by the operators' definitions, without simplification.
#include <algorithm>

#include "algebra/operators/function_domain.h"
#include "algebra/operators/index_value.h"
#include "check/kernel/statement.h"

namespace rulemill::check {

using algebra::Relation;
using algebra::ScalarExpr;

/// The evaluation of definitions at symbolic indices.
class Lowering {
 public:
  /// `conditions` receives the definedness conditions of the element's own node, if it is there.
  explicit Lowering(Statement& statement, std::vector<DefinednessCondition>* conditions = nullptr)
      : statement_(statement), atoms_(statement.atoms_), conditions_(conditions) {}

  /// The guards `known` hold wherever the element is used.
  Sum element(const CoreTerm& term, const std::vector<Poly>& index, const Guards& known) {
    if (term.is_variable) return to_sum({Factor::Kind::Read, term.number, index, {}, {}, {}});
    const CoreNode& node = statement_.rule_.nodes[term.number];
    ++depth_;
    Sum sum =
        definition(node.instance->outputs.at(term.output), {node, statement_.types_[term.number].sizes, index}, known);
    --depth_;
    return sum;
  }

  /// Lowers all elements of the node's outputs, for their conditions.
  void all_elements(std::uint32_t node) {
    const std::vector<Shape>& outputs = statement_.types_[node].outputs;
    for (std::uint32_t output = 0; output < outputs.size(); ++output) {
      std::vector<Poly> index;
      Guards known = statement_.facts_;
      for (const Poly& dim : outputs[output]) {
        enclosing_.push_back(atoms_.fresh_bound());
        index.emplace_back(enclosing_.back());
        append_range(known, index.back(), dim);
      }
      element({false, node, output}, index, known);
      enclosing_.clear();
    }
  }

 private:
  /// The definition of one node, at some indices.
  struct Frame {
    const CoreNode& node;
    const std::vector<Poly>& sizes;
    std::vector<Poly> indices;  // by slot
  };

  Sum definition(const algebra::TensorDefinition& tensor, Frame frame, const Guards& known) {
    frame.indices.resize(std::max<std::size_t>(frame.indices.size(), frame.node.instance->index_slots));
    return expression(*tensor.body, frame, known);
  }

  Poly value(const algebra::IndexExprPtr& e, const Frame& frame) {
    return algebra::index_value(*e, frame.sizes, frame.indices, atoms_);
  }

  /// Multiplies the sum by [guards]; guards in `known` are left out.
  static Sum with_guards(Sum sum, const Guards& guards, const Guards& known) {
    for (Product& product : sum) {
      product.guards = conjunction(guards, product.guards);
      remove_redundant(product.guards, known);
    }
    return sum;
  }

  Sum expression(const ScalarExpr& e, Frame& frame, const Guards& known) {
    return evaluate(e, [&](const ScalarExpr& part) { return other(part, frame, known); });
  }

  Sum other(const ScalarExpr& e, Frame& frame, const Guards& known) {
    switch (e.kind) {
      case ScalarExpr::Kind::InverseSize:
        return inverse(value(e.indices[0], frame));
      case ScalarExpr::Kind::Read:
        return read(e, frame, known);
      case ScalarExpr::Kind::Sum:
      case ScalarExpr::Kind::Max: {
        std::vector<Atom> bound;
        const Guards range = bind(e, frame, bound);
        Sum body = expression(*e.operands[0], frame, conjunction(known, range));
        enclosing_.resize(enclosing_.size() - bound.size());
        if (e.kind == ScalarExpr::Kind::Max) return to_sum({Factor::Kind::Max, 0, {}, {std::move(body)}, bound, range});
        for (Product& product : body) product.bound.insert(product.bound.begin(), bound.begin(), bound.end());
        return with_guards(std::move(body), range, known);
      }
      case ScalarExpr::Kind::Apply: {
        Factor factor{Factor::Kind::Apply, statement_.function(e.function).representative, {}, {}, {}, {}};
        for (const auto& operand : e.operands) factor.arguments.push_back(expression(*operand, frame, known));
        record_condition(factor, known);
        return to_sum(std::move(factor));
      }
      case ScalarExpr::Kind::Case:
        return cases(e, frame, known);
      default:
        throw CheckError{"an expression of unknown kind"};
    }
  }

  /// Records a use of a partial function by the node whose conditions are collected, with 0 for arguments that its
  /// domain does not depend on. `known` begins with the facts.
  void record_condition(Factor application, const Guards& known) {
    const algebra::Function& function = statement_.function(application.symbol);
    if (!conditions_ || depth_ > 1 || algebra::is_total(function)) return;
    const std::set<std::uint32_t> used = algebra::domain_arguments(function);
    for (std::uint32_t a = 0; a < function.arity; ++a) {
      if (!used.contains(a)) application.arguments.at(a).clear();
    }
    DefinednessCondition& condition = conditions_->emplace_back();
    condition.bound = enclosing_;
    condition.guards.assign(known.begin() + static_cast<std::ptrdiff_t>(statement_.facts_.size()), known.end());
    remove_redundant(condition.guards);
    application.kind = Factor::Kind::Defined;
    condition.factors.push_back(std::move(application));
  }

  /// Zero outside the tensor.
  Sum read(const ScalarExpr& e, Frame& frame, const Guards& known) {
    std::vector<Poly> index;
    for (const auto& i : e.indices) index.push_back(value(i, frame));
    const algebra::OperatorInstance& instance = *frame.node.instance;
    const std::size_t inputs = instance.inputs.size();
    const bool is_input = e.tensor < inputs;
    Shape dims;
    if (is_input)
      dims = statement_.shape(frame.node.arguments[e.tensor]);
    else
      for (const auto& dim : instance.intermediates.at(e.tensor - inputs).dims) dims.push_back(value(dim, frame));
    Guards range;
    for (std::size_t d = 0; d < index.size(); ++d) append_range(range, index[d], dims.at(d));
    const Guards within = conjunction(known, range);
    Sum sum = is_input
                  ? element(frame.node.arguments[e.tensor], index, within)
                  : definition(instance.intermediates[e.tensor - inputs], {frame.node, frame.sizes, index}, within);
    return with_guards(std::move(sum), range, known);
  }

  Guards bind(const ScalarExpr& e, Frame& frame, std::vector<Atom>& bound) {
    Guards range;
    for (const algebra::BoundIndex& b : e.bound) {
      const Poly extent = value(b.extent, frame);
      bound.push_back(atoms_.fresh_bound());
      enclosing_.push_back(bound.back());
      frame.indices.at(b.slot) = Poly(bound.back());
      append_range(range, Poly(bound.back()), extent);
    }
    for (const algebra::Comparison& c : e.guard)
      range.push_back(to_guard(c.relation, value(c.a, frame), value(c.b, frame)));
    return range;
  }

  /// Inside, all comparisons hold. Outside are disjoint regions: the first j comparisons hold and the next one does
  /// not.
  Sum cases(const ScalarExpr& e, Frame& frame, const Guards& known) {
    std::vector<Guards> inside = {{}}, outside;
    for (const algebra::Comparison& c : e.guard) {
      const Poly a = value(c.a, frame), b = value(c.b, frame);
      const bool unequal = c.relation == Relation::Ne;
      const Guard guard = unequal ? Guard{true, b - a} : to_guard(c.relation, a, b);
      std::vector<Guards> next;
      for (const Guards& region : inside) {
        for (const Guard& other : complement(guard)) (unequal ? next : outside).push_back(conjunction(region, {other}));
        (unequal ? outside : next).push_back(conjunction(region, {guard}));
      }
      inside = std::move(next);
    }
    Sum result;
    for (const bool in : {true, false}) {
      for (const Guards& region : in ? inside : outside) {
        const Sum part = expression(*e.operands[in ? 0 : 1], frame, conjunction(known, region));
        result = add(std::move(result), with_guards(part, region, known));
        check_size(result.size());
      }
    }
    return result;
  }

  /// 1 / (c · s · t) = 1/c · 1/s · 1/t, all of them at least 1.
  Sum inverse(const Poly& size) {
    atoms_.add_divisor(size);
    const Poly::Term content = size.content();
    Product product = number(algebra::make_rational(1, content.coefficient));
    Shape factors(content.monomial.begin(), content.monomial.end());
    factors.push_back(*size.divided_by(content));
    for (const Poly& factor : factors) {
      if (factor == Poly(1)) continue;
      product.factors.push_back({Factor::Kind::Inverse, 0, {factor}, {}, {}, {}});
      atoms_.add_divisor(factor);
    }
    return {product};
  }

  Statement& statement_;
  Atoms& atoms_;
  std::vector<DefinednessCondition>* conditions_;
  std::size_t depth_ = 0;        // of the nodes being lowered
  std::vector<Atom> enclosing_;  // bound indices in scope
};

Sum Statement::lower(std::size_t output) {
  std::vector<Poly> index;
  for (std::size_t d = 0; d < shape(rule_.source.at(output)).size(); ++d) index.push_back(atoms_.output(d));
  const Guards known = conjunction(facts_, index_ranges(output));
  Sum source = Lowering(*this).element(rule_.source[output], index, known);
  return subtract(std::move(source), Lowering(*this).element(rule_.target[output], index, known));
}

Statement::DefinednessConditions Statement::collect_conditions(const std::set<std::uint32_t>& side,
                                                               const std::set<std::uint32_t>& other) {
  DefinednessConditions result;
  for (const bool own : {true, false}) {
    for (const std::uint32_t node : side)
      if (other.contains(node) != own) Lowering(*this, &result.all).all_elements(node);
    if (own) result.own_count = result.all.size();
  }
  return result;
}

}  // namespace rulemill::check
