// Evaluates both sides of a rule at random sizes, element by element by the definitions, without symbolic computation.
#include <algorithm>
#include <random>
#include <set>

#include "algebra/operators/function_domain.h"
#include "check/evaluate.h"
#include "check/kernel/statement.h"
#include "check/number.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using algebra::IndexExpr;
using algebra::Relation;
using algebra::ScalarExpr;
using algebra::TermId;

namespace {

struct TooLarge {};
struct IllTyped {
  std::string what;
};

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) throw TooLarge{};
  return a;
}
std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  if (__builtin_mul_overflow(a, b, &a)) throw TooLarge{};
  return a;
}
std::int64_t floor_divide(std::int64_t n, std::int64_t d) {
  if (d < 1) throw IllTyped{"division by " + std::to_string(d)};
  return n >= 0 ? n / d : -((-(n + 1)) / d) - 1;
}

/// A number, and the signs that it can have for all values of the variables.
struct Value {
  Number number;
  algebra::Signs signs{false, true, false};
};
Value constant(std::int64_t n) { return {from_integer(n), algebra::sign_of(static_cast<double>(n))}; }
Value operator+(const Value& a, const Value& b) { return {add(a.number, b.number), a.signs + b.signs}; }
Value operator*(const Value& a, const Value& b) {
  const bool is_square = a.number == b.number;
  return {multiply(a.number, b.number), is_square ? algebra::square(a.signs) : a.signs * b.signs};
}
Value maximum(const Value& a, const Value& b) {
  const algebra::Signs signs{a.signs.negative && b.signs.negative, a.signs.zero || b.signs.zero,
                             a.signs.positive || b.signs.positive};
  return {is_less(a.number, b.number) ? b.number : a.number, signs};
}

struct Tensor {
  std::vector<std::int64_t> dims;
  std::vector<Value> values;
};

class Evaluation {
 public:
  Evaluation(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
             std::uint64_t seed)
      : rule_(rule), bank_(bank), symbols_(symbols), random_(seed) {
    for (const auto& shape : rule.shapes) shapes_.push_back(import(shape));
    for (const auto& c : rule.condition)
      conditions_.push_back({c.relation, atoms_.import(c.left, symbols), atoms_.import(c.right, symbols)});
    for (const auto* side : {&rule.source, &rule.target}) {
      for (const algebra::NodeId node : bank.nodes(*side)) node_sizes_[node] = import(bank.node(node).sizes);
    }
  }

  std::optional<std::string> run(std::size_t& evaluated) {
    constexpr std::size_t attempts = 300, max_evaluated = 3;
    constexpr std::int64_t ranges[] = {3, 6, 4, 2};
    for (std::size_t attempt = 0; attempt < attempts && evaluated < max_evaluated; ++attempt) {
      sizes_.clear();
      range_ = ranges[attempt % 4];
      try {
        if (!draw_inputs()) continue;
        auto difference = compare();
        ++evaluated;
        if (difference) return difference;
      } catch (const TooLarge&) {
      } catch (const Undecided&) {
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t max_elements = 3000;
  static constexpr std::size_t max_work = 30000;

  struct Condition {
    Relation relation;
    Poly left, right;
  };
  /// A partial function and its arguments. Two of them are equal almost surely only if they are equal for all values of
  /// the variables.
  using PartialApplication = std::pair<std::uint32_t, std::vector<Number>>;
  /// The evaluation of one definition: sizes and indices by slot, and the tensors that it reads.
  struct Frame {
    std::vector<std::int64_t> sizes, indices;
    std::vector<const Tensor*> tensors;
    std::set<PartialApplication>* partial_applications = nullptr;
  };

  std::vector<Poly> import(const std::vector<Poly>& polys) {
    std::vector<Poly> result;
    for (const Poly& poly : polys) result.push_back(atoms_.import(poly, symbols_));
    return result;
  }

  /// Draws each size at its first use.
  std::int64_t value(const Poly& poly) {
    std::int64_t sum = 0;
    for (const Poly::Term& term : poly.terms()) {
      std::int64_t product = term.coefficient;
      for (const Atom atom : term.monomial) product = checked_multiply(product, value(atom));
      sum = checked_add(sum, product);
    }
    return sum;
  }
  std::int64_t value(Atom atom) {
    if (!atoms_.is_compound(atom)) {
      return sizes_.try_emplace(atom, 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(range_)))
          .first->second;
    }
    const std::int64_t l = value(atoms_.left(atom)), r = value(atoms_.right(atom));
    if (atoms_.kind(atom) == Atoms::Kind::Quotient) return floor_divide(l, r);
    return atoms_.kind(atom) == Atoms::Kind::Min ? std::min(l, r) : std::max(l, r);
  }

  static bool holds(Relation relation, std::int64_t a, std::int64_t b) {
    switch (relation) {
      case Relation::Eq:
        return a == b;
      case Relation::Ne:
        return a != b;
      case Relation::Lt:
        return a < b;
      case Relation::Le:
        return a <= b;
    }
    return false;
  }

  /// Draws sizes and inputs. Returns false if the condition does not hold at these sizes.
  bool draw_inputs() {
    for (const Condition& c : conditions_) {
      if (!holds(c.relation, value(c.left), value(c.right))) return false;
    }
    results_.clear();
    partial_applications_.clear();
    work_ = 0;
    for (std::size_t v = 0; v < rule_.variables.size(); ++v) {
      Tensor tensor;
      for (const Poly& dim : shapes_.at(v)) tensor.dims.push_back(value(dim));
      if (std::ranges::any_of(tensor.dims, [](std::int64_t d) { return d < 1; })) return false;
      tensor.values.resize(count(tensor.dims));
      for (Value& element : tensor.values) element = {random_number(random_()), {}};
      variables_[rule_.variables[v]] = std::move(tensor);
    }
    return true;
  }

  std::optional<std::string> compare() {
    try {
      for (const algebra::NodeId node : bank_.nodes(rule_.source)) compute(node);
    } catch (const IllTyped&) {
      throw TooLarge{};  // the rule does not apply at these sizes
    }
    try {
      for (const algebra::NodeId node : bank_.nodes(rule_.target)) compute(node);
    } catch (const IllTyped& fault) {
      return "its target does not type where its source does: " + fault.what + sizes_text();
    }
    for (std::size_t o = 0; o < rule_.source.size(); ++o) {
      const Tensor &a = tensor(rule_.source[o]), &b = tensor(rule_.target.at(o));
      if (a.dims != b.dims) return "its sides have different shapes" + sizes_text();
      if (!std::ranges::equal(a.values, b.values, agree, &Value::number, &Value::number))
        return "its sides differ" + sizes_text();
    }
    if (partial_applications(rule_.source) != partial_applications(rule_.target))
      return "its sides are not defined at the same points" + sizes_text();
    return std::nullopt;
  }

  /// The uses of partial functions in a side. The side is defined wherever all of these are.
  std::set<PartialApplication> partial_applications(const std::vector<TermId>& side) const {
    std::set<PartialApplication> all;
    for (const algebra::NodeId node : bank_.nodes(side)) {
      if (const auto found = partial_applications_.find(node); found != partial_applications_.end())
        all.insert(found->second.begin(), found->second.end());
    }
    return all;
  }

  std::string sizes_text() const {
    std::string text;
    for (const auto& [atom, size] : sizes_)
      text += (text.empty() ? " at " : ", ") + atoms_.text(Poly(atom)) + " = " + std::to_string(size);
    return text;
  }

  static std::size_t count(const std::vector<std::int64_t>& dims) {
    std::int64_t product = 1;
    for (const std::int64_t dim : dims) product = checked_multiply(product, dim);
    if (product > max_elements) throw TooLarge{};
    return static_cast<std::size_t>(product);
  }

  const Tensor& tensor(TermId id) const {
    const algebra::Term& term = bank_.term(id);
    return term.is_variable ? variables_.at(id) : results_.at(term.node).at(term.output);
  }

  void compute(algebra::NodeId id) {
    if (results_.contains(id)) return;
    const algebra::Node& node = bank_.node(id);
    const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
    Frame frame;
    frame.partial_applications = &partial_applications_[id];
    frame.sizes.resize(instance.size_names.size());
    const auto bind = [&](std::int64_t& slot, std::int64_t size) {
      if (size < 1 || (slot != 0 && slot != size)) throw IllTyped{instance.name + " has arguments of mismatched sizes"};
      slot = size;
    };
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      frame.tensors.push_back(&tensor(node.arguments.at(i)));
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& formal = *instance.inputs[i][d];
        std::int64_t constant = formal.value;
        bind(formal.kind == IndexExpr::Kind::Constant ? constant : frame.sizes.at(formal.slot),
             frame.tensors.back()->dims.at(d));
      }
    }
    const std::vector<Poly>& given = node_sizes_.at(id);
    for (std::size_t p = 0; p < given.size(); ++p)
      bind(frame.sizes.at(instance.first_size_parameter + p), value(given[p]));
    frame.indices.resize(instance.index_slots + 16);
    for (const algebra::Comparison& c : instance.conditions) {
      if (!holds(c.relation, index(*c.a, frame), index(*c.b, frame)))
        throw IllTyped{"a condition of " + instance.name + " fails"};
    }
    std::vector<Tensor> intermediates;
    intermediates.reserve(instance.intermediates.size());
    for (const algebra::TensorDefinition& definition : instance.intermediates) {
      intermediates.push_back(elements(definition, frame));
      frame.tensors.push_back(&intermediates.back());
    }
    std::vector<Tensor> outputs;
    for (const algebra::TensorDefinition& definition : instance.outputs) outputs.push_back(elements(definition, frame));
    results_[id] = std::move(outputs);
  }

  Tensor elements(const algebra::TensorDefinition& definition, Frame& frame) {
    Tensor result;
    for (const auto& dim : definition.dims) {
      result.dims.push_back(index(*dim, frame));
      if (result.dims.back() < 1) throw IllTyped{"a dimension is " + std::to_string(result.dims.back())};
    }
    result.values.resize(count(result.dims));
    for (std::size_t e = 0; e < result.values.size(); ++e) {
      auto rest = static_cast<std::int64_t>(e);
      for (std::size_t d = result.dims.size(); d-- > 0; rest /= result.dims[d])
        frame.indices.at(d) = rest % result.dims[d];
      result.values[e] = scalar(*definition.body, frame);
    }
    return result;
  }

  std::int64_t index(const IndexExpr& e, const Frame& frame) {
    switch (e.kind) {
      case IndexExpr::Kind::Constant:
        return e.value;
      case IndexExpr::Kind::Size:
        return frame.sizes.at(e.slot);
      case IndexExpr::Kind::Index:
        return frame.indices.at(e.slot);
      default:
        break;
    }
    const std::int64_t a = index(*e.a, frame), b = index(*e.b, frame);
    switch (e.kind) {
      case IndexExpr::Kind::Add:
        return checked_add(a, b);
      case IndexExpr::Kind::Sub:
        return checked_add(a, checked_multiply(b, -1));
      case IndexExpr::Kind::Mul:
        return checked_multiply(a, b);
      case IndexExpr::Kind::Div:
        return floor_divide(a, b);
      case IndexExpr::Kind::Mod:
        return a - b * floor_divide(a, b);
      case IndexExpr::Kind::Min:
        return std::min(a, b);
      default:
        return std::max(a, b);
    }
  }

  bool all_hold(const std::vector<algebra::Comparison>& comparisons, const Frame& frame) {
    return std::ranges::all_of(comparisons, [&](const algebra::Comparison& c) {
      return holds(c.relation, index(*c.a, frame), index(*c.b, frame));
    });
  }

  Value scalar(const ScalarExpr& e, Frame& frame) {
    if (++work_ > max_work) throw TooLarge{};
    switch (e.kind) {
      case ScalarExpr::Kind::Constant:
        return {multiply(from_integer(e.value.num), reciprocal(from_integer(e.value.den))),
                constant(e.value.num).signs};
      case ScalarExpr::Kind::InverseSize: {
        const std::int64_t size = index(*e.indices[0], frame);
        if (size < 1) throw IllTyped{"division by " + std::to_string(size)};
        return {reciprocal(from_integer(size)), constant(1).signs};
      }
      case ScalarExpr::Kind::Read:
        return read(e, frame);
      case ScalarExpr::Kind::Add: {
        Value sum;
        for (const auto& operand : e.operands) sum = sum + scalar(*operand, frame);
        return sum;
      }
      case ScalarExpr::Kind::Mul: {
        Value product = constant(1);
        for (const auto& operand : e.operands) product = product * scalar(*operand, frame);
        return product;
      }
      case ScalarExpr::Kind::Sum: {
        Value sum;
        for_each_point(e, 0, frame, [&](const Value& value) { sum = sum + value; });
        return sum;
      }
      case ScalarExpr::Kind::Max: {
        std::optional<Value> largest;
        for_each_point(e, 0, frame, [&](const Value& value) { largest = largest ? maximum(*largest, value) : value; });
        return largest.value_or(Value{});
      }
      case ScalarExpr::Kind::Apply: {
        std::vector<Value> arguments;
        for (const auto& operand : e.operands) arguments.push_back(scalar(*operand, frame));
        return apply_function(e.function, arguments, frame);
      }
      case ScalarExpr::Kind::Case:
        return scalar(*e.operands[all_hold(e.guard, frame) ? 0 : 1], frame);
    }
    return {};
  }

  Value apply_function(std::uint32_t function, const std::vector<Value>& arguments, Frame& frame) {
    const algebra::Function& f = bank_.library().functions()[function];
    std::vector<Number> numbers;
    std::vector<algebra::Signs> signs;
    for (const Value& argument : arguments) {
      numbers.push_back(argument.number);
      signs.push_back(argument.signs);
      signs.back().natural = to_natural(argument.number).has_value();
    }
    const algebra::FunctionRange range = algebra::range_of(f, signs);
    const Number value = apply(f, function, numbers);
    if (f.parity != 0) numbers[0] = std::min(numbers[0], negate(numbers[0]));  // defined at both or at neither
    if (range.defined) return {value, range.signs};
    const std::set<std::uint32_t> used = algebra::domain_arguments(f);
    for (std::uint32_t a = 0; a < f.arity; ++a) {
      if (!used.contains(a)) numbers[a] = from_integer(0);
    }
    frame.partial_applications->emplace(function, std::move(numbers));
    return {value, range.signs};
  }

  Value read(const ScalarExpr& e, const Frame& frame) {
    const Tensor& from = *frame.tensors.at(e.tensor);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < e.indices.size(); ++d) {
      const std::int64_t i = index(*e.indices[d], frame);
      if (i < 0 || i >= from.dims.at(d)) return {};
      place = place * from.dims[d] + i;
    }
    return from.values.at(static_cast<std::size_t>(place));
  }

  template <class Visit>
  void for_each_point(const ScalarExpr& e, std::size_t b, Frame& frame, const Visit& visit) {
    if (b == e.bound.size()) {
      if (all_hold(e.guard, frame)) visit(scalar(*e.operands[0], frame));
      return;
    }
    const std::int64_t extent = index(*e.bound[b].extent, frame);
    const std::int64_t outer = frame.indices.at(e.bound[b].slot);
    for (std::int64_t i = 0; i < extent; ++i) {
      frame.indices[e.bound[b].slot] = i;
      for_each_point(e, b + 1, frame, visit);
    }
    frame.indices[e.bound[b].slot] = outer;
  }

  const algebra::Rule& rule_;
  const algebra::TermBank& bank_;
  const algebra::Symbols& symbols_;
  std::mt19937_64 random_;
  Atoms atoms_;
  std::vector<std::vector<Poly>> shapes_;
  std::vector<Condition> conditions_;
  std::map<algebra::NodeId, std::vector<Poly>> node_sizes_;
  std::int64_t range_ = 3;
  std::map<Atom, std::int64_t> sizes_;
  std::map<TermId, Tensor> variables_;
  std::map<algebra::NodeId, std::vector<Tensor>> results_;
  std::map<algebra::NodeId, std::set<PartialApplication>> partial_applications_;
  std::size_t work_ = 0;
};

}  // namespace

std::optional<std::string> evaluate(const algebra::Rule& rule, const algebra::TermBank& bank,
                                    const algebra::Symbols& symbols, std::uint64_t seed, std::size_t* evaluated) {
  std::size_t count = 0;
  auto difference = Evaluation(rule, bank, symbols, seed).run(count);
  if (evaluated) *evaluated = count;
  return difference;
}

}  // namespace rulemill::check
