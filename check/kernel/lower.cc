// An element of a tensor as a sum of products, read off the operators' definitions: nothing is simplified.
#include <algorithm>

#include "algebra/language/function_domain.h"
#include "check/kernel/statement.h"

namespace rulemill::check {

using algebra::NodeId;
using algebra::Relation;
using algebra::ScalarExpr;
using algebra::TermId;

/// Reads definitions at symbolic indices.
class Lowering {
 public:
  explicit Lowering(Statement& statement) : statement_(statement), atoms_(statement.atoms_) {}

  /// `known` holds wherever the element is asked for.
  Sum element(TermId id, const std::vector<Poly>& index, Guards known) {
    const algebra::Term& term = statement_.bank_.term(id);
    if (term.is_variable) {
      const auto place = std::ranges::find(statement_.rule_.variables, id) - statement_.rule_.variables.begin();
      Product product;
      product.factors.push_back({Factor::Kind::Read, static_cast<std::uint32_t>(place), index, {}, {}, {}});
      return {product};
    }
    return element(term.node, term.output, index, std::move(known));
  }
  Sum element(NodeId id, std::uint32_t output, const std::vector<Poly>& index, Guards known) {
    const algebra::Node& node = statement_.bank_.node(id);
    const algebra::Instance& instance = statement_.bank_.library().instance(node.instance);
    ++nodes_;
    Sum sum =
        definition(instance.outputs.at(output), {instance, node, statement_.sizes_.at(id), index}, std::move(known));
    --nodes_;
    return sum;
  }

  /// What the node's own operator demands, in all elements of its outputs.
  std::vector<Demand> demands(NodeId id) {
    demands_.emplace();
    const std::vector<Shape>& outputs = statement_.outputs_.at(id);
    for (std::uint32_t output = 0; output < outputs.size(); ++output) {
      std::vector<Poly> index;
      Guards known = statement_.facts_;
      for (const Poly& dim : outputs[output]) {
        open_.push_back(atoms_.fresh_bound());
        index.emplace_back(open_.back());
        append_range(known, index.back(), dim);
      }
      element(id, output, index, known);
      open_.clear();
    }
    return std::move(*demands_);
  }

 private:
  static constexpr std::size_t most_products = 4096;

  /// One node's definition being read at some indices.
  struct Frame {
    const algebra::Instance& instance;
    const algebra::Node& node;
    const std::vector<Poly>& sizes;
    std::vector<Poly> indices;  // by slot
  };

  Sum definition(const algebra::TensorDefinition& tensor, Frame frame, Guards known) {
    frame.indices.resize(std::max<std::size_t>(frame.indices.size(), frame.instance.index_slots));
    return expression(*tensor.body, frame, known);
  }

  Poly value(const algebra::IndexExprPtr& e, const Frame& frame) {
    return check::value(*e, frame.sizes, frame.indices, atoms_);
  }

  /// The sum where the guards hold; what `known` says already is not repeated.
  static Sum guarded(Sum sum, const Guards& guards, const Guards& known) {
    for (Product& product : sum) {
      Guards all;
      for (const Guards& part : {guards, product.guards}) {
        for (const Guard& guard : part) {
          const auto said = [&](const Guards& by) { return std::ranges::find(by, guard) != by.end(); };
          if (!holds_always(guard) && !said(known) && !said(all)) all.push_back(guard);
        }
      }
      product.guards = std::move(all);
    }
    return sum;
  }

  static void add(Sum& to, Sum from) {
    to.insert(to.end(), from.begin(), from.end());
    if (to.size() > most_products) throw Objection{"its normal form has more than 4096 products"};
  }

  Sum expression(const ScalarExpr& e, Frame& frame, const Guards& known) {
    switch (e.kind) {
      case ScalarExpr::Kind::Constant: {
        Product product;
        product.coefficient = e.value;
        return e.value.num == 0 ? Sum{} : Sum{product};
      }
      case ScalarExpr::Kind::InverseSize:
        return inverse(value(e.indices[0], frame));
      case ScalarExpr::Kind::Read:
        return read(e, frame, known);
      case ScalarExpr::Kind::Add: {
        Sum result;
        for (const auto& operand : e.operands) add(result, expression(*operand, frame, known));
        return result;
      }
      case ScalarExpr::Kind::Mul: {
        Sum result = {Product{}};
        for (const auto& operand : e.operands) result = times(result, expression(*operand, frame, known));
        return result;
      }
      case ScalarExpr::Kind::Sum: {
        std::vector<Atom> bound;
        const Guards range = bind(e, frame, bound);
        Sum body = guarded(expression(*e.operands[0], frame, joined(known, range)), range, known);
        open_.resize(open_.size() - bound.size());
        for (Product& product : body) product.bound.insert(product.bound.begin(), bound.begin(), bound.end());
        return body;
      }
      case ScalarExpr::Kind::Max: {
        Factor factor{Factor::Kind::Max, 0, {}, {}, {}, {}};
        factor.guards = bind(e, frame, factor.bound);
        factor.guards = joined(std::move(factor.guards), conjunction(e, frame));
        factor.arguments.push_back(expression(*e.operands[0], frame, joined(known, factor.guards)));
        open_.resize(open_.size() - factor.bound.size());
        return alone(std::move(factor));
      }
      case ScalarExpr::Kind::Apply: {
        Factor factor{Factor::Kind::Apply, e.function, {}, {}, {}, {}};
        for (const auto& operand : e.operands) factor.arguments.push_back(expression(*operand, frame, known));
        note(factor, known);
        return alone(std::move(factor));
      }
      case ScalarExpr::Kind::Case:
        return cases(e, frame, known);
    }
    throw Objection{"an expression of no known kind"};
  }

  /// An application of a partial function by the node whose demands are asked for; `known` begins with the facts.
  void note(const Factor& application, const Guards& known) {
    if (!demands_ || nodes_ > 1 || algebra::is_total(statement_.function(application.symbol))) return;
    Demand& demand = demands_->emplace_back();
    demand.bound = open_;
    demand.guards.assign(known.begin() + static_cast<std::ptrdiff_t>(statement_.facts_.size()), known.end());
    tidy(demand.guards);
    demand.factors.push_back(application);
  }

  static Sum alone(Factor factor) {
    Product product;
    product.factors.push_back(std::move(factor));
    return {product};
  }

  /// A product of sums is the sum of products. Every expression is read afresh, so their bound indices are distinct.
  static Sum times(const Sum& a, const Sum& b) {
    Sum result;
    for (const Product& left : a) {
      Sum row;
      for (const Product& right : b) {
        Product product = left;
        product.coefficient = left.coefficient * right.coefficient;
        product.bound.insert(product.bound.end(), right.bound.begin(), right.bound.end());
        product.factors.insert(product.factors.end(), right.factors.begin(), right.factors.end());
        add(row, guarded({product}, right.guards, {}));
      }
      add(result, row);
    }
    return result;
  }

  /// Zero outside the tensor.
  Sum read(const ScalarExpr& e, Frame& frame, const Guards& known) {
    std::vector<Poly> index;
    for (const auto& i : e.indices) index.push_back(value(i, frame));
    const std::size_t inputs = frame.instance.inputs.size();
    const bool is_input = e.tensor < inputs;
    std::vector<Poly> dims;
    if (is_input)
      dims = statement_.shape(frame.node.arguments[e.tensor]);
    else
      for (const auto& dim : frame.instance.intermediates.at(e.tensor - inputs).dims) dims.push_back(value(dim, frame));
    Guards range;
    for (std::size_t d = 0; d < index.size(); ++d) append_range(range, index[d], dims.at(d));
    Guards within = joined(known, range);
    if (is_input) return guarded(element(frame.node.arguments[e.tensor], index, std::move(within)), range, known);
    const algebra::TensorDefinition& tensor = frame.instance.intermediates[e.tensor - inputs];
    return guarded(definition(tensor, {frame.instance, frame.node, frame.sizes, index}, std::move(within)), range,
                   known);
  }

  Guards bind(const ScalarExpr& e, Frame& frame, std::vector<Atom>& bound) {
    Guards range;
    for (const algebra::BoundIndex& b : e.bound) {
      const Poly extent = value(b.extent, frame);
      bound.push_back(atoms_.fresh_bound());
      open_.push_back(bound.back());
      frame.indices.resize(std::max<std::size_t>(frame.indices.size(), b.slot + 1));
      frame.indices[b.slot] = Poly(bound.back());
      append_range(range, Poly(bound.back()), extent);
    }
    return range;
  }

  Guards conjunction(const ScalarExpr& e, const Frame& frame) {
    Guards all;
    for (const algebra::Comparison& c : e.guard) {
      if (c.relation == Relation::Ne) throw Objection{"a maximum is guarded by an inequation"};
      all = joined(std::move(all), guards_of(c.relation, value(c.a, frame), value(c.b, frame)));
    }
    return all;
  }

  /// Inside all comparisons hold. Outside are disjoint regions: the first j comparisons hold and the next one does not.
  Sum cases(const ScalarExpr& e, Frame& frame, const Guards& known) {
    std::vector<Guards> inside = {{}}, outside;
    for (const algebra::Comparison& c : e.guard) {
      const Poly a = value(c.a, frame), b = value(c.b, frame);
      const bool unequal = c.relation == Relation::Ne;
      const Guard guard = unequal ? Guard{true, b - a} : guards_of(c.relation, a, b)[0];
      std::vector<Guards> next;
      for (const Guards& region : inside) {
        for (const Guard& other : complement(guard)) (unequal ? next : outside).push_back(joined(region, {other}));
        (unequal ? outside : next).push_back(joined(region, {guard}));
      }
      inside = std::move(next);
    }
    Sum result;
    for (const bool in : {true, false}) {
      for (const Guards& region : in ? inside : outside) {
        add(result, guarded(expression(*e.operands[in ? 0 : 1], frame, joined(known, region)), region, known));
      }
    }
    return result;
  }

  /// 1 / (c · s · t) = 1/c · 1/s · 1/t, all of them at least 1.
  Sum inverse(const Poly& size) {
    atoms_.divides(size);
    const Poly::Term content = size.content();
    Product product;
    product.coefficient = algebra::make_rational(1, content.coefficient);
    const auto factor = [&](const Poly& poly) {
      product.factors.push_back({Factor::Kind::Inverse, 0, {poly}, {}, {}, {}});
    };
    for (const Atom atom : content.monomial) factor(Poly(atom));
    const Poly rest = *size.divided_by(content);
    if (rest != Poly(1)) factor(rest);
    for (const Factor& f : product.factors) atoms_.divides(f.index[0]);
    return {product};
  }

  Statement& statement_;
  Atoms& atoms_;
  std::size_t nodes_ = 0;                       // being read, one below the other
  std::vector<Atom> open_;                      // bound indices around what is read
  std::optional<std::vector<Demand>> demands_;  // noted, if they are asked for
};

Sum Statement::lower(std::size_t output) {
  std::vector<Poly> index;
  for (std::size_t d = 0; d < shape(rule_.source.at(output)).size(); ++d) index.push_back(atoms_.output(d));
  const Guards known = joined(facts_, ranges(output));
  Sum sum = Lowering(*this).element(rule_.source[output], index, known);
  for (Product& product : Lowering(*this).element(rule_.target.at(output), index, known)) {
    product.coefficient = product.coefficient * Rational{-1, 1};
    sum.push_back(std::move(product));
  }
  return sum;
}

Statement::Demands Statement::demands_of(const std::vector<TermId>& side, const std::vector<TermId>& other) {
  const std::vector<NodeId> others = bank_.nodes(other);
  Demands result;
  for (const bool own : {true, false}) {
    for (const NodeId node : bank_.nodes(side)) {
      if ((std::ranges::find(others, node) == others.end()) != own) continue;
      for (Demand& demand : Lowering(*this).demands(node)) result.all.push_back(std::move(demand));
    }
    if (own) result.own = result.all.size();
  }
  return result;
}

}  // namespace rulemill::check
