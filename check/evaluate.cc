// Evaluates both sides of a rule at given sizes, element by element by the definitions, without symbolic computation.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <unordered_map>

#include "algebra/operators/function_domain.h"
#include "algebra/operators/function_evaluation.h"
#include "check/evaluate.h"
#include "check/number.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using algebra::IndexExpr;
using algebra::ScalarExpr;
using algebra::TermId;

namespace {

struct TooLarge {};
/// Thrown where a side is not well-typed, or the rule does not apply, or says nothing as it only widens.
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

using Indices = std::vector<std::int64_t>;

/// Throws TooLarge beyond 64 bits.
std::int64_t element_count(const Indices& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count = checked_multiply(count, dim);
  return count;
}

std::string text_of(const SizesByName& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += (text.empty() ? " at " : ", ") + name + " = " + std::to_string(size);
  return text;
}

enum class Values : std::uint8_t { Any, Positive, SomeZero };

class EvaluationAtSizes {
 public:
  EvaluationAtSizes(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                    const SizesByName& sizes, std::uint64_t seed, Values values)
      : rule_(rule), bank_(bank), symbols_(symbols), sizes_(sizes), random_(seed), seed_(random_()), drawn_(values) {}

  /// Compares all elements of both sides, or, if these are too many and it may `choose`, some elements of the outputs.
  /// Throws TooLarge.
  std::optional<std::string> run(bool choose) {
    for (const auto& c : rule_.condition) {
      if (!algebra::holds(c.relation, value(c.left), value(c.right))) throw IllTyped{"its condition does not hold"};
    }
    for (std::size_t v = 0; v < rule_.variables.size(); ++v) {
      Indices& dims = shapes_[rule_.variables[v]] = values(rule_.shapes.at(v));
      if (std::ranges::any_of(dims, [](std::int64_t d) { return d < 1; })) throw IllTyped{"a dimension is less than 1"};
    }
    try {
      return compare(/*every_element=*/true);
    } catch (const TooLarge&) {
      if (!choose) throw;
    }
    return compare(/*every_element=*/false);
  }

 private:
  static constexpr std::int64_t max_elements = 3000, max_some = 6;

  /// A partial function and its arguments. Two of them are equal almost surely only if they are equal for all values of
  /// the variables.
  using PartialApplication = std::pair<std::uint32_t, std::vector<Number>>;
  /// A node with its size slots, the dimensions of its intermediates and outputs, and the elements evaluated so far.
  struct TypedNode {
    const algebra::Node* node;
    const algebra::OperatorInstance* instance;
    std::vector<std::int64_t> sizes;
    std::vector<Indices> intermediates, outputs;
    std::vector<std::unordered_map<std::int64_t, Value>> elements;  // of intermediates, then of outputs
    std::set<PartialApplication> partial_applications;
    bool is_undefined = false;  // at the variables' values
  };
  /// The evaluation of one element of a node: indices by slot.
  struct Frame {
    TypedNode& node;
    std::vector<std::int64_t> indices;
  };

  std::int64_t value(const Poly& poly) const {
    return symbols_.evaluate(poly, [&](Atom size) {
      const auto found = sizes_.find(symbols_.name(size));
      if (found == sizes_.end()) throw IllTyped{symbols_.name(size) + " has no value"};
      return found->second;
    });
  }
  Indices values(const std::vector<Poly>& polys) const {
    Indices result;
    for (const Poly& poly : polys) result.push_back(value(poly));
    return result;
  }

  std::optional<std::string> compare(bool every_element) {
    nodes_.clear();
    work_left_ = every_element ? 30000 : 3000000;
    compute(rule_.source, every_element);
    try {
      compute(rule_.target, every_element);
    } catch (const IllTyped& fault) {
      return "its target does not type where its source does: " + fault.what + text_of(sizes_);
    }
    for (std::size_t o = 0; o < rule_.source.size(); ++o) {
      const TermId a = rule_.source[o], b = rule_.target.at(o);
      if (shape(a) != shape(b)) return "its sides have different shapes" + text_of(sizes_);
      const std::int64_t count = element_count(shape(a));
      for (std::int64_t i = 0; i < (every_element ? count : std::min(count, max_some)); ++i) {
        const std::int64_t at = every_element ? i
                                : i == 0      ? count - 1
                                         : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
        const bool differ = !agree(element(a, at).number, element(b, at).number);
        if (rule_.widens && is_undefined(rule_.source)) throw IllTyped{"its source is undefined"};
        if (differ) return "its sides differ" + text_of(sizes_);
      }
    }
    if (rule_.widens)
      return is_undefined(rule_.target) ? std::optional("its target is undefined" + text_of(sizes_)) : std::nullopt;
    if (every_element && partial_applications(rule_.source) != partial_applications(rule_.target))
      return "its sides are not defined at the same points" + text_of(sizes_);
    return std::nullopt;
  }

  /// Types the nodes of a side, and evaluates all their elements if asked for.
  void compute(const std::vector<TermId>& side, bool every_element) {
    for (const algebra::NodeId id : bank_.nodes(side)) {
      if (nodes_.contains(id)) continue;
      TypedNode& node = nodes_[id] = type(id);
      const std::size_t tensors = node.intermediates.size() + node.outputs.size();
      for (std::size_t t = 0; every_element && t < tensors; ++t) {
        const std::int64_t count = element_count(dims(node, t));
        if (count > max_elements) throw TooLarge{};
        for (std::int64_t i = 0; i < count; ++i) element(node, t, i);
      }
    }
  }

  TypedNode type(algebra::NodeId id) {
    const algebra::Node& node = bank_.node(id);
    const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
    TypedNode typed{&node, &instance, std::vector<std::int64_t>(instance.size_names.size()), {}, {}, {}, {}};
    const auto bind = [&](std::int64_t& slot, std::int64_t size) {
      if (size < 1 || (slot != 0 && slot != size)) throw IllTyped{instance.name + " has arguments of mismatched sizes"};
      slot = size;
    };
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      const Indices& dims = shape(node.arguments.at(i));
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& formal = *instance.inputs[i][d];
        std::int64_t constant = formal.value;
        bind(formal.kind == IndexExpr::Kind::Constant ? constant : typed.sizes.at(formal.slot), dims.at(d));
      }
    }
    for (std::size_t p = 0; p < node.sizes.size(); ++p)
      bind(typed.sizes.at(instance.first_size_parameter + p), value(node.sizes[p]));
    const Frame frame{typed, {}};
    for (const algebra::Comparison& c : instance.conditions) {
      if (!algebra::holds(c.relation, index(*c.a, frame), index(*c.b, frame)))
        throw IllTyped{"a condition of " + instance.name + " fails"};
    }
    const auto add_dims = [&](const algebra::TensorDefinition& definition, std::vector<Indices>& into) {
      Indices& dims = into.emplace_back();
      for (const auto& dim : definition.dims) {
        dims.push_back(index(*dim, frame));
        if (dims.back() < 1) throw IllTyped{"a dimension is " + std::to_string(dims.back())};
      }
    };
    for (const algebra::TensorDefinition& definition : instance.intermediates)
      add_dims(definition, typed.intermediates);
    for (const algebra::TensorDefinition& definition : instance.outputs) add_dims(definition, typed.outputs);
    typed.elements.resize(typed.intermediates.size() + typed.outputs.size());
    return typed;
  }

  const Indices& shape(TermId id) const {
    const algebra::Term& term = bank_.term(id);
    return term.is_variable ? shapes_.at(id) : nodes_.at(term.node).outputs.at(term.output);
  }
  static const Indices& dims(const TypedNode& node, std::size_t tensor) {
    const std::size_t intermediates = node.intermediates.size();
    return tensor < intermediates ? node.intermediates[tensor] : node.outputs.at(tensor - intermediates);
  }

  /// An element by its number in row-major order.
  Value element(TermId id, std::int64_t number) {
    const algebra::Term& term = bank_.term(id);
    if (!term.is_variable)
      return element(nodes_.at(term.node), nodes_.at(term.node).intermediates.size() + term.output, number);
    std::uint64_t bits = seed_ + (static_cast<std::uint64_t>(id) << 40U) + static_cast<std::uint64_t>(number);
    for (int round = 0; round < 2; ++round) bits = (bits ^ (bits >> 31U)) * 0x9e3779b97f4a7c15ULL;
    Number drawn = random_number(bits);
    if (drawn_ != Values::Any && drawn.real < 0) drawn = drawn_ == Values::SomeZero ? from_integer(0) : negate(drawn);
    return {drawn, {}};
  }
  Value element(TypedNode& node, std::size_t tensor, std::int64_t number) {
    if (const auto found = node.elements[tensor].find(number); found != node.elements[tensor].end())
      return found->second;
    Frame frame{node, std::vector<std::int64_t>(node.instance->index_slots + 16)};
    const Indices& of = dims(node, tensor);
    std::int64_t rest = number;
    for (std::size_t d = of.size(); d-- > 0; rest /= of[d]) frame.indices.at(d) = rest % of[d];
    const std::size_t intermediates = node.intermediates.size();
    const algebra::TensorDefinition& definition =
        tensor < intermediates ? node.instance->intermediates[tensor] : node.instance->outputs[tensor - intermediates];
    const Value result = scalar(*definition.body, frame);
    node.elements[tensor].emplace(number, result);
    return result;
  }

  /// The uses of partial functions in a side. The side is defined wherever all of these are.
  std::set<PartialApplication> partial_applications(const std::vector<TermId>& side) const {
    std::set<PartialApplication> all;
    for (const algebra::NodeId node : bank_.nodes(side)) {
      const auto& own = nodes_.at(node).partial_applications;
      all.insert(own.begin(), own.end());
    }
    return all;
  }

  bool is_undefined(const std::vector<TermId>& side) const {
    return std::ranges::any_of(bank_.nodes(side), [&](algebra::NodeId node) { return nodes_.at(node).is_undefined; });
  }

  std::int64_t index(const IndexExpr& e, const Frame& frame) {
    switch (e.kind) {
      case IndexExpr::Kind::Constant:
        return e.value;
      case IndexExpr::Kind::Size:
        return frame.node.sizes.at(e.slot);
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
      return algebra::holds(c.relation, index(*c.a, frame), index(*c.b, frame));
    });
  }

  Value scalar(const ScalarExpr& e, Frame& frame) {
    if (--work_left_ < 0) throw TooLarge{};
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
    std::vector<double> reals;
    for (const Value& argument : arguments) reals.push_back(static_cast<double>(argument.number.real));
    if (!std::isfinite(algebra::evaluate(f, reals))) frame.node.is_undefined = true;
    const std::set<std::uint32_t> used = algebra::domain_arguments(f);
    for (std::uint32_t a = 0; a < f.arity; ++a) {
      if (!used.contains(a)) numbers[a] = from_integer(0);
    }
    frame.node.partial_applications.emplace(function, std::move(numbers));
    return {value, range.signs};
  }

  Value read(const ScalarExpr& e, const Frame& frame) {
    const std::size_t inputs = frame.node.instance->inputs.size();
    const bool is_input = e.tensor < inputs;
    const Indices& from =
        is_input ? shape(frame.node.node->arguments.at(e.tensor)) : dims(frame.node, e.tensor - inputs);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < e.indices.size(); ++d) {
      const std::int64_t i = index(*e.indices[d], frame);
      if (i < 0 || i >= from.at(d)) return {};
      place = checked_add(checked_multiply(place, from[d]), i);
    }
    return is_input ? element(frame.node.node->arguments[e.tensor], place)
                    : element(frame.node, e.tensor - inputs, place);
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
  const SizesByName& sizes_;
  std::mt19937_64 random_;
  const std::uint64_t seed_;
  const Values drawn_;
  std::map<TermId, Indices> shapes_;  // of variables
  std::map<algebra::NodeId, TypedNode> nodes_;
  std::int64_t work_left_ = 0;
};

}  // namespace

Evaluation evaluate(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                    std::span<const SizesByName> sizes, std::uint64_t seed) {
  const std::size_t enough = rule.widens ? 9 : 3;
  constexpr std::size_t max_failures = 3;  // a choice of elements that fails takes most of the time
  Evaluation result;
  std::size_t failures = 0;
  result.obstacle = "no sizes were found at which it applies";
  for (const SizesByName& each : sizes) {
    for (const Values values : {Values::Any, Values::Positive, Values::SomeZero}) {
      if (result.evaluated == enough || result.difference || (values != Values::Any && !rule.widens)) break;
      try {
        result.difference =
            EvaluationAtSizes(rule, bank, symbols, each, seed + result.evaluated, values).run(failures < max_failures);
        ++result.evaluated;
      } catch (const TooLarge&) {
        ++failures;
        result.obstacle = "it is too expensive" + text_of(each);
      } catch (const Undecided&) {
        result.obstacle = "its values are too close to compare" + text_of(each);
      } catch (const IllTyped&) {        // it does not apply
      } catch (const runtime::Error&) {  // a division by zero
      }
    }
  }
  return result;
}

}  // namespace rulemill::check
