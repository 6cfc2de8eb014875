// Types and naive normal forms, from the operators' definitions alone.
#include <algorithm>

#include "check/normal_form.h"
#include "runtime/error.h"

namespace rulemill::check {

using algebra::IndexExpr;
using algebra::NodeId;
using algebra::Relation;
using algebra::ScalarExpr;
using algebra::TermId;

Guards guards_of(Relation relation, const Poly& left, const Poly& right) {
  switch (relation) {
    case Relation::Eq:
      return {{true, right - left}};
    case Relation::Lt:
      return {{false, right - left - 1}};
    case Relation::Le:
      return {{false, right - left}};
    case Relation::Ne:
      break;
  }
  return {};
}

namespace {

Poly value(const IndexExpr& e, const std::vector<Poly>& sizes, const std::vector<Poly>& indices, Atoms& atoms) {
  const auto of = [&](const algebra::IndexExprPtr& part) { return value(*part, sizes, indices, atoms); };
  switch (e.kind) {
    case IndexExpr::Kind::Constant:
      return e.value;
    case IndexExpr::Kind::Size:
      return sizes.at(e.slot);
    case IndexExpr::Kind::Index:
      return indices.at(e.slot);
    case IndexExpr::Kind::Add:
      return of(e.a) + of(e.b);
    case IndexExpr::Kind::Sub:
      return of(e.a) - of(e.b);
    case IndexExpr::Kind::Mul:
      return of(e.a) * of(e.b);
    case IndexExpr::Kind::Div:
      return atoms.quotient(of(e.a), of(e.b));
    case IndexExpr::Kind::Mod: {
      const Poly n = of(e.a), d = of(e.b);
      return n - d * atoms.quotient(n, d);
    }
    case IndexExpr::Kind::Min:
      return atoms.minimum(of(e.a), of(e.b));
    case IndexExpr::Kind::Max:
      return atoms.maximum(of(e.a), of(e.b));
  }
  throw Objection{"an index expression of no known kind"};
}

void append(Guards& to, const Guards& from) { to.insert(to.end(), from.begin(), from.end()); }

/// 0 ≤ index < extent
void append_range(Guards& guards, const Poly& index, const Poly& extent) {
  guards.push_back({false, index});
  guards.push_back({false, extent - 1 - index});
}

/// poly ≥ 0 fails where −poly − 1 ≥ 0; poly = 0 where poly ≥ 1 or poly ≤ −1.
Guards complement(const Guard& guard) {
  if (guard.equality) return {{false, guard.poly - 1}, {false, -guard.poly - 1}};
  return {{false, -guard.poly - 1}};
}

bool holds_always(const Guard& guard) {
  const auto constant = guard.poly.constant();
  return constant && (guard.equality ? *constant == 0 : *constant >= 0);
}

}  // namespace

namespace {

/// The names of the rule's sizes, in order.
std::set<std::string> size_names(const algebra::Rule& rule, const algebra::TermBank& bank,
                                 const algebra::Symbols& symbols) {
  std::set<std::string> names;
  const auto meet = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.insert(symbols.name(atom));
  };
  for (const auto& shape : rule.shapes) std::ranges::for_each(shape, meet);
  for (const algebra::SizeCondition& c : rule.condition) meet(c.left), meet(c.right);
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const NodeId node : bank.nodes(*side)) std::ranges::for_each(bank.node(node).sizes, meet);
  }
  return names;
}

}  // namespace

Statement::Statement(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                     Atoms& atoms)
    : rule_(rule), bank_(bank), atoms_(atoms) {
  // Numbered by name: what is written must not depend on what else the symbols have been used for.
  for (const std::string& name : size_names(rule, bank, symbols)) atoms.size(name);
  if (rule.shapes.size() != rule.variables.size()) throw Objection{"its variables have no shapes"};
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    Shape& dims = variables_[rule.variables[v]];
    for (const Poly& dim : rule.shapes[v]) {
      dims.push_back(atoms.import(dim, symbols));
      facts_.push_back({false, dims.back() - 1});
    }
  }
  for (const algebra::SizeCondition& c : rule.condition) {
    append(facts_, guards_of(c.relation, atoms.import(c.left, symbols), atoms.import(c.right, symbols)));
  }
  for (const NodeId node : bank.nodes(rule.source)) type(node, symbols, facts_);
  // What the target asks beyond that is to be shown.
  for (const NodeId node : bank.nodes(rule.target)) type(node, symbols, duties_);
  if (rule.source.size() != rule.target.size()) throw Objection{"its sides have different numbers of outputs"};
  for (std::size_t o = 0; o < rule.source.size(); ++o) {
    const Shape &a = shape(rule.source[o]), &b = shape(rule.target[o]);
    if (a.size() != b.size()) throw Objection{"its sides have different ranks"};
    for (std::size_t d = 0; d < a.size(); ++d) duties_.push_back({true, a[d] - b[d]});
  }
  const auto distinct = [&](const Guards& guards, const Guards& known) {
    Guards kept;
    for (const Guard& guard : guards) {
      const bool said = std::ranges::find(known, guard) != known.end() || std::ranges::find(kept, guard) != kept.end();
      if (!said && !holds_always(guard) && (guard.equality || !atoms.nonnegative(guard.poly))) kept.push_back(guard);
    }
    return kept;
  };
  facts_ = distinct(facts_, {});
  duties_ = distinct(duties_, facts_);
  for (std::size_t o = 0; o < rule.source.size(); ++o) differences_.push_back(lower(o));
}

void Statement::type(NodeId id, const algebra::Symbols& symbols, Guards& needs) {
  if (sizes_.contains(id)) return;
  const algebra::Node& node = bank_.node(id);
  const algebra::Instance& instance = bank_.library().instance(node.instance);
  std::vector<std::optional<Poly>> bound(instance.size_names.size());
  if (node.arguments.size() != instance.inputs.size())
    throw Objection{instance.name + " has another number of arguments"};
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const Shape& actual = shape(node.arguments[i]);
    if (actual.size() != instance.inputs[i].size()) throw Objection{instance.name + " has an argument of another rank"};
    for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
      const IndexExpr& formal = *instance.inputs[i][d];
      const Poly& dim = actual[d];
      if (formal.kind == IndexExpr::Kind::Constant)
        needs.push_back({true, dim - formal.value});
      else if (bound[formal.slot])
        needs.push_back({true, dim - *bound[formal.slot]});
      else
        bound[formal.slot] = dim;
    }
  }
  if (node.sizes.size() != instance.size_parameter_count())
    throw Objection{instance.name + " has another number of sizes"};
  for (std::size_t p = 0; p < node.sizes.size(); ++p) {
    const Poly given = atoms_.import(node.sizes[p], symbols);
    std::optional<Poly>& slot = bound[instance.first_size_parameter + p];
    if (slot)
      needs.push_back({true, given - *slot});
    else
      slot = given;
  }
  std::vector<Poly>& sizes = sizes_[id];
  for (const auto& slot : bound) {
    if (!slot) throw Objection{instance.name + " has a size that nothing gives"};
    sizes.push_back(*slot);
    needs.push_back({false, *slot - 1});
  }
  for (const algebra::Comparison& c : instance.conditions) {
    if (c.relation == Relation::Ne) throw Objection{instance.name + " demands an inequation"};
    append(needs, guards_of(c.relation, value(*c.a, sizes, {}, atoms_), value(*c.b, sizes, {}, atoms_)));
  }
  for (const algebra::TensorDefinition& output : instance.outputs) {
    Shape& dims = outputs_[id].emplace_back();
    for (const algebra::IndexExprPtr& dim : output.dims) {
      dims.push_back(value(*dim, sizes, {}, atoms_));
      needs.push_back({false, dims.back() - 1});
    }
  }
}

const Statement::Shape& Statement::shape(TermId id) const {
  const algebra::Term& term = bank_.term(id);
  if (!term.is_variable) return outputs_.at(term.node).at(term.output);
  const auto found = variables_.find(id);
  if (found == variables_.end()) throw Objection{"a variable is not declared"};
  return found->second;
}

Guards Statement::ranges(std::size_t output) {
  Guards guards;
  const Shape& dims = shape(rule_.source.at(output));
  for (std::size_t d = 0; d < dims.size(); ++d) append_range(guards, atoms_.output(d), dims[d]);
  return guards;
}

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
    const algebra::Node& node = statement_.bank_.node(term.node);
    const algebra::Instance& instance = statement_.bank_.library().instance(node.instance);
    return definition(instance.outputs.at(term.output), {instance, node, statement_.sizes_.at(term.node), index},
                      std::move(known));
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

  static Guards joined(Guards a, const Guards& b) {
    append(a, b);
    return a;
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
        for (Product& product : body) product.bound.insert(product.bound.begin(), bound.begin(), bound.end());
        return body;
      }
      case ScalarExpr::Kind::Max: {
        Factor factor{Factor::Kind::Max, 0, {}, {}, {}, {}};
        factor.guards = bind(e, frame, factor.bound);
        append(factor.guards, conjunction(e, frame));
        factor.arguments.push_back(expression(*e.operands[0], frame, joined(known, factor.guards)));
        return alone(std::move(factor));
      }
      case ScalarExpr::Kind::Apply: {
        Factor factor{Factor::Kind::Apply, e.function, {}, {}, {}, {}};
        for (const auto& operand : e.operands) factor.arguments.push_back(expression(*operand, frame, known));
        return alone(std::move(factor));
      }
      case ScalarExpr::Kind::Case:
        return cases(e, frame, known);
    }
    throw Objection{"an expression of no known kind"};
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
      append(all, guards_of(c.relation, value(c.a, frame), value(c.b, frame)));
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
};

Sum Statement::lower(std::size_t output) {
  std::vector<Poly> index;
  for (std::size_t d = 0; d < shape(rule_.source.at(output)).size(); ++d) index.push_back(atoms_.output(d));
  Guards known = facts_;
  append(known, ranges(output));
  Sum sum = Lowering(*this).element(rule_.source[output], index, known);
  for (Product& product : Lowering(*this).element(rule_.target.at(output), index, known)) {
    product.coefficient = product.coefficient * Rational{-1, 1};
    sum.push_back(std::move(product));
  }
  return sum;
}

std::string Statement::text(const Factor& factor) const {
  std::string list;
  for (const Poly& poly : factor.index) list += (list.empty() ? "" : ", ") + atoms_.text(poly);
  if (factor.kind == Factor::Kind::Read) return bank_.term(rule_.variables[factor.symbol]).name + "[" + list + "]";
  if (factor.kind == Factor::Kind::Inverse) return "1/(" + list + ")";
  if (factor.kind == Factor::Kind::Whole) return "(" + list + ")";
  for (const Sum& argument : factor.arguments) list += (list.empty() ? "" : ", ") + text(argument);
  if (factor.kind == Factor::Kind::Apply) return function(factor.symbol).name + "(" + list + ")";
  std::string range;
  for (const Atom atom : factor.bound) range += " " + atoms_.text(Poly(atom));
  for (const Guard& guard : factor.guards) range += " [" + atoms_.text(guard) + "]";
  return "max(" + range.substr(range.empty() ? 0 : 1) + ": " + list + ")";
}

std::string Statement::text(const Product& product) const {
  std::string result = algebra::to_string(product.coefficient);
  for (const Atom atom : product.bound) result += (atom == product.bound[0] ? " sum " : " ") + atoms_.text(Poly(atom));
  for (const Guard& guard : product.guards) result += " [" + atoms_.text(guard) + "]";
  for (const Factor& factor : product.factors) result += " " + text(factor);
  return result;
}

std::string Statement::text(const Sum& sum) const {
  std::string result;
  for (const Product& product : sum) result += (result.empty() ? "" : " + ") + text(product);
  return sum.empty() ? "0" : result;
}

}  // namespace rulemill::check
