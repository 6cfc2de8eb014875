#include "prove/normal_form/lower.h"

#include "algebra/operators/function_domain.h"
#include "prove/normal_form/cells.h"
#include "prove/normal_form/simplify.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Comparison;
using algebra::Relation;
using algebra::ScalarExpr;
using algebra::TermId;

namespace {

/// Appends elements to a list during its lifetime.
template <class Element>
class ScopedAppend {
 public:
  ScopedAppend(std::vector<Element>& list, const std::vector<Element>& more) : list_(list), before_(list.size()) {
    list.insert(list.end(), more.begin(), more.end());
  }
  ~ScopedAppend() { list_.resize(before_); }
  ScopedAppend(const ScopedAppend&) = delete;
  ScopedAppend& operator=(const ScopedAppend&) = delete;

 private:
  std::vector<Element>& list_;
  std::size_t before_;
};
using ScopedGuards = ScopedAppend<Guard>;  // guards that are known

void append(Sum& to, Sum from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  throw_if_too_large(to);
}

}  // namespace

Poly Lowering::value(const algebra::IndexExpr& expr, const Frame& frame) const {
  if (solver_.has_fault(Fault::DivisionRoundsUp) && expr.kind == algebra::IndexExpr::Kind::Div) {
    return -symbols_.floor_div(-value(*expr.a, frame), value(*expr.b, frame));
  }
  return algebra::evaluate(expr, frame.sizes, frame.indices, symbols_);
}

Sum Lowering::with_guards(Sum sum, const Guards& guards, const Guards& known) {
  if (guards.empty()) return sum;
  Sum result;
  solver_.budget().spend(simplification_cost(sum, guards.size() + known.size()));
  for (Product& product : sum) {
    product.guards.insert(product.guards.end(), guards.begin(), guards.end());
    if (simplify(product, known, symbols_)) result.push_back(std::move(product));
  }
  return result;
}

Sum Lowering::element(TermId term, std::span<const Poly> index) {
  Guards known = solver_.assumptions();
  return node_element(term, index, known);
}

std::vector<Product> Lowering::applications(TermId term, std::span<const Poly> index, std::vector<bool> functions) {
  is_partial_ = std::move(functions);
  applications_.clear();
  element(term, index);
  is_partial_.clear();
  return std::move(applications_);
}

Sum Lowering::node_element(TermId id, std::span<const Poly> index, Guards& known) {
  const algebra::Term& term = bank_.term(id);
  if (term.is_variable) {
    Factor factor;
    factor.symbol = static_cast<std::uint32_t>(id);
    factor.index.assign(index.begin(), index.end());
    Product product;
    product.factors.push_back(std::move(factor));
    return {std::move(product)};
  }
  const algebra::Node& node = bank_.node(term.node);
  const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
  Frame frame{instance, node.arguments, std::vector<Poly>(instance.size_names.size()),
              std::vector<Poly>(instance.index_slots)};
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const algebra::Shape& actual = rule_.types.at(node.arguments[i]);
    for (std::size_t d = 0; d < actual.size(); ++d) {
      const algebra::IndexExpr& formal = *instance.inputs[i][d];
      if (formal.kind == algebra::IndexExpr::Kind::Size) frame.sizes[formal.slot] = actual[d];
    }
  }
  for (std::size_t p = 0; p < node.sizes.size(); ++p) {
    frame.sizes[instance.first_size_parameter + p] = node.sizes[p];
  }
  ++depth_;
  Sum sum = definition(instance.outputs[term.output], index, frame, known);
  --depth_;
  return sum;
}

Sum Lowering::definition(const algebra::TensorDefinition& tensor, std::span<const Poly> index, Frame& frame,
                         Guards& known) {
  const std::vector<Poly> outer = frame.indices;
  if (frame.indices.size() < index.size()) frame.indices.resize(index.size());
  std::copy(index.begin(), index.end(), frame.indices.begin());
  Sum sum = expression(*tensor.body, frame, known);
  frame.indices = outer;
  return sum;
}

Sum Lowering::expression(const ScalarExpr& expr, Frame& frame, Guards& known) {
  solver_.budget().spend(20 + known.size());
  switch (expr.kind) {
    case ScalarExpr::Kind::Constant: {
      if (expr.value.num == 0) return {};
      Product product;
      product.coefficient = expr.value;
      return {std::move(product)};
    }
    case ScalarExpr::Kind::InverseSize:
      return inverse(value(*expr.indices[0], frame));
    case ScalarExpr::Kind::Read:
      return read(expr, frame, known);
    case ScalarExpr::Kind::Add: {
      Sum result;
      for (const algebra::ScalarExprPtr& operand : expr.operands) append(result, expression(*operand, frame, known));
      return result;
    }
    case ScalarExpr::Kind::Mul: {
      Sum result = expression(*expr.operands[0], frame, known);
      for (std::size_t i = 1; i < expr.operands.size() && (!is_partial_.empty() || !result.empty()); ++i) {
        const Sum factor = expression(*expr.operands[i], frame, known);
        solver_.budget().spend(100 * result.size() * factor.size());
        result = multiply(result, factor, supply_, symbols_);
        solver_.budget().spend(simplification_cost(result, known.size()));
        std::erase_if(result, [&](Product& product) { return !simplify(product, known, symbols_); });
        throw_if_too_large(result);
      }
      return result;
    }
    case ScalarExpr::Kind::Sum:
      return sum(expr, frame, known);
    case ScalarExpr::Kind::Max:
      return maximum(expr, frame, known);
    case ScalarExpr::Kind::Apply:
      return apply(expr, frame, known);
    case ScalarExpr::Kind::Case:
      return cases(expr, frame, known);
  }
  return {};
}

/// A read outside the tensor is zero, so ranges that are not known to hold become guards.
Sum Lowering::read(const ScalarExpr& expr, Frame& frame, Guards& known) {
  std::vector<Poly> index;
  for (const algebra::IndexExprPtr& e : expr.indices) index.push_back(value(*e, frame));
  const bool is_input = expr.tensor < frame.instance.inputs.size();
  Guards range;
  if (is_input) {
    const algebra::Shape& shape = rule_.types.at(frame.arguments[expr.tensor]);
    for (std::size_t d = 0; d < index.size(); ++d) append_range(range, index[d], shape[d]);
  } else {
    const auto& dims = frame.instance.intermediates[expr.tensor - frame.instance.inputs.size()].dims;
    for (std::size_t d = 0; d < index.size(); ++d) append_range(range, index[d], value(*dims[d], frame));
  }
  if (solver_.has_fault(Fault::RangeGuardsDropped)) range.clear();
  if (!simplify_guards(range, known)) return {};
  const ScopedGuards within(known, range);
  if (is_input)
    return with_guards(node_element(frame.arguments[expr.tensor], index, known), range, solver_.assumptions());
  const algebra::TensorDefinition& tensor = frame.instance.intermediates[expr.tensor - frame.instance.inputs.size()];
  return with_guards(definition(tensor, index, frame, known), range, solver_.assumptions());
}

Guards Lowering::bind(const ScalarExpr& expr, Frame& frame, std::vector<Atom>& bound) {
  Guards range;
  for (const algebra::BoundIndex& b : expr.bound) {
    Poly extent = value(*b.extent, frame);
    if (solver_.has_fault(Fault::ReductionOneShort)) extent -= 1;
    bound.push_back(supply_.next());
    if (frame.indices.size() <= b.slot) frame.indices.resize(b.slot + 1);
    frame.indices[b.slot] = Poly(bound.back());
    append_range(range, Poly(bound.back()), extent);
  }
  return range;
}

Sum Lowering::sum(const ScalarExpr& expr, Frame& frame, Guards& known) {
  std::vector<Atom> bound;
  const Guards range = bind(expr, frame, bound);
  Sum body;
  {
    const ScopedGuards within(known, range);
    const ScopedAppend inner(enclosing_, bound);
    body = expression(*expr.operands[0], frame, known);
  }
  for (Product& product : body) product.bound.insert(product.bound.end(), bound.begin(), bound.end());
  return with_guards(std::move(body), range, known);
}

Sum Lowering::maximum(const ScalarExpr& expr, Frame& frame, Guards& known) {
  std::vector<Atom> bound;
  Guards range = bind(expr, frame, bound);
  for (const Comparison& c : expr.guard) {
    const Poly difference = value(*c.b, frame) - value(*c.a, frame);
    RM_CHECK(c.relation != Relation::Ne, "a maximum's guard is a conjunction of =, < and <=");
    range.push_back({c.relation == Relation::Eq, c.relation == Relation::Lt ? difference - 1 : difference});
  }
  if (!simplify_guards(range, known)) return {};
  Sum body;
  {
    const ScopedGuards within(known, range);
    const ScopedAppend inner(enclosing_, bound);
    body = expression(*expr.operands[0], frame, known);
  }
  return make_maximum(std::move(bound), std::move(range), std::move(body), known, solver_);
}

Sum Lowering::apply(const ScalarExpr& expr, Frame& frame, Guards& known) {
  std::vector<Sum> arguments;
  for (const algebra::ScalarExprPtr& operand : expr.operands) arguments.push_back(expression(*operand, frame, known));
  Sum applied = apply_function(expr.function, std::move(arguments), known, bank_, solver_);
  if (depth_ == 1 && !is_partial_.empty() && is_partial_[expr.function]) record_applications(applied, known);
  return applied;
}

void Lowering::record_applications(const Sum& applied, const Guards& known) {
  for (const Product& product : applied) {
    Product& here = applications_.emplace_back(product);
    std::vector<Sum>& arguments = here.factors.at(0).arguments;
    const std::set<std::uint32_t> used = algebra::domain_arguments(bank_.library().functions()[here.factors[0].symbol]);
    for (std::uint32_t a = 0; a < arguments.size(); ++a) {
      if (!used.contains(a)) arguments[a].clear();
    }
    here.guards.insert(here.guards.end(), known.begin(), known.end());
    here.bound.insert(here.bound.end(), enclosing_.begin(), enclosing_.end());
  }
}

Sum Lowering::cases(const ScalarExpr& expr, Frame& frame, Guards& known) {
  Guards conjunction;
  std::vector<Poly> unequal;
  for (const Comparison& c : expr.guard) {
    const Poly difference = value(*c.b, frame) - value(*c.a, frame);
    if (c.relation == Relation::Ne) {
      unequal.push_back(difference);
    } else {
      conjunction.push_back({c.relation == Relation::Eq, c.relation == Relation::Lt ? difference - 1 : difference});
    }
  }
  Regions split = regions(conjunction, unequal);
  if (solver_.has_fault(Fault::ElseCaseDropped)) split.outside.clear();
  if (solver_.has_fault(Fault::ComplementOffByOne)) {
    for (Guards& guards : split.outside) guards.back().poly -= 1;
  }
  Sum result;
  const auto add = [&](const std::vector<Guards>& where, const ScalarExpr& body) {
    for (Guards guards : where) {
      if (!simplify_guards(guards, known, solver_.fault())) continue;
      const ScopedGuards within(known, guards);
      Sum part = expression(body, frame, known);
      append(result, with_guards(std::move(part), guards, solver_.assumptions()));
    }
  };
  add(split.inside, *expr.operands[0]);
  add(split.outside, *expr.operands[1]);
  return result;
}

/// 1 / (c · s · t) = 1/c · 1/s · 1/t
Sum Lowering::inverse(const Poly& divisor) const {
  Product product;
  const Poly::Term content = divisor.content();
  product.coefficient = algebra::make_rational(1, content.coefficient);
  const auto factor = [&](Poly poly) {
    Factor inverse;
    inverse.kind = Factor::Kind::Inverse;
    inverse.index.push_back(std::move(poly));
    product.factors.push_back(std::move(inverse));
  };
  for (const Atom atom : content.monomial) factor(Poly(atom));
  const Poly rest = *divisor.divided_by(content);
  if (rest.constant() != 1) factor(rest);
  return {std::move(product)};
}

}  // namespace rulemill::prove
