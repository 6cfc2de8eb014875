#include "prove/refuter/refute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "algebra/execution/plan.h"
#include "algebra/sizes/checked.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/term.h"
#include "prove/refuter/size_sampler.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Atom;
using algebra::Enclosure;
using algebra::NodeId;
using algebra::Poly;
using algebra::ScalarKind;
using algebra::TermId;

namespace {

class Collector {
 public:
  void add(const algebra::OperatorInstance& instance) {
    for (const algebra::Comparison& condition : instance.conditions) add(condition);
    for (const auto* tensors : {&instance.intermediates, &instance.outputs}) {
      for (const algebra::TensorDefinition& tensor : *tensors) {
        for (const algebra::IndexExprPtr& dim : tensor.dims) add(*dim);
        add(*tensor.body);
      }
    }
  }

  std::vector<std::int64_t> values() const { return {values_.begin(), values_.end()}; }

 private:
  static constexpr std::int64_t min_value = 8, max_value = 1000;

  void add(const algebra::IndexExpr& expr) {
    const std::int64_t value = expr.value < 0 ? -expr.value : expr.value;
    if (expr.kind == algebra::IndexExpr::Kind::Constant && value >= min_value && value <= max_value)
      values_.insert(value);
    if (expr.a) add(*expr.a);
    if (expr.b) add(*expr.b);
  }

  void add(const algebra::Comparison& comparison) {
    add(*comparison.a);
    add(*comparison.b);
  }

  void add(const algebra::ScalarExpr& expr) {
    for (const algebra::IndexExprPtr& index : expr.indices) add(*index);
    for (const algebra::BoundIndex& bound : expr.bound) add(*bound.extent);
    for (const algebra::Comparison& guard : expr.guard) add(guard);
    for (const algebra::ScalarExprPtr& operand : expr.operands) add(*operand);
  }

  std::set<std::int64_t> values_;
};

/// Returns the distinct constants in the nodes' definitions, ascending: larger than the sizes that are drawn anyway,
/// and small enough to be evaluated.
std::vector<std::int64_t> find_boundary_values(std::span<const algebra::NodeId> nodes, const algebra::TermBank& bank) {
  Collector collector;
  for (const algebra::NodeId node : nodes) collector.add(bank.library().instance(bank.node(node).instance));
  return collector.values();
}

using IntShape = std::vector<std::int64_t>;
/// The number at a position of a variable.
using Elements = std::function<double(std::size_t variable, std::size_t position)>;

class Refuter {
 public:
  Refuter(const algebra::TypedRule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
          std::uint64_t seed, const RefuteLimits& limits, Budget* budget)
      : rule_(rule),
        bank_(bank),
        symbols_(symbols),
        limits_(limits),
        budget_(budget),
        sampler_(rule, bank, symbols, seed) {
    std::vector<TermId> roots = rule.rule.source;
    roots.insert(roots.end(), rule.rule.target.begin(), rule.rule.target.end());
    nodes_ = bank.nodes(roots);
    partial_ = algebra::applies_partial_function(rule.rule, bank);
    find_scalar_kinds();
  }

  Refutation run() {
    Refutation result = compare_at({}, limits_.tries, limits_.attempts);
    if (result.compared == 0 && sampler_.start_at_bounds()) result = compare_at({}, limits_.tries, limits_.attempts);
    if (!result.counterexample) compare_special_values(result);
    if (result.counterexample) return result;
    const std::vector<std::int64_t> values = find_boundary_values(nodes_, bank_);
    if (values.empty()) return result;
    Refutation large = compare_at(values, limits_.large_tries, 4 * limits_.large_tries);
    large.compared += result.compared;
    return large;
  }

 private:
  /// Finds the terms that operators use as truth values or integers, directly or moved by operators on real numbers.
  /// Users come after the nodes that they use.
  void find_scalar_kinds() {
    for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) {
      const algebra::Node& node = bank_.node(*id);
      const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
      ScalarKind moved = ScalarKind::Real;
      for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
        const auto used = kinds_.find(term_of(*id, o));
        if (instance.outputs[o].scalar_kind == ScalarKind::Real && used != kinds_.end()) moved = used->second;
      }
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        const ScalarKind declared = instance.input_scalar_kinds[i];
        const ScalarKind kind = declared == ScalarKind::Real ? moved : declared;
        if (kind != ScalarKind::Real) kinds_.emplace(node.arguments[i], kind);
      }
    }
  }

  /// Returns the value of a variable that a number stands for: no other numbers are truth values or integers.
  double to_value(TermId variable, double number) const {
    const auto kind = kinds_.find(variable);
    if (kind == kinds_.end()) return number;
    return kind->second == ScalarKind::Bool ? static_cast<double>(number > 0) : std::floor(number);
  }

  void spend(std::uint64_t steps) {
    if (budget_ != nullptr) budget_->spend(steps);
  }

  Refutation compare_at(std::span<const std::int64_t> boundary_values, std::uint32_t tries, std::uint32_t attempts) {
    Refutation result;
    for (std::uint32_t attempt = 0; attempt < attempts && result.compared < tries; ++attempt) {
      spend(100 * (1 + sampler_.sizes().size()));
      if (!draw_sizes(attempt, boundary_values)) continue;
      compare_with([&](std::size_t, std::size_t) { return draw_element(attempt); }, result);
      if (result.counterexample) break;
    }
    return result;
  }

  /// Compares at numbers around which functions change, where all sizes are 1: there, most arithmetic is exact, and
  /// comparisons are decided.
  void compare_special_values(Refutation& result) {
    constexpr std::array values = {0.0, 0.5, -0.5, 1.0, -1.0};
    constexpr std::array large_values = {1024.0, -1024.0, 0.5};
    const std::optional<SizeValues> ones = sampler_.all_ones();
    if (!ones) return;
    sizes_ = *ones;
    const auto combine = [&](std::span<const double> numbers) {
      for (std::size_t n = 0; n < numbers.size() && !result.counterexample; ++n) {
        compare_with(
            [&](std::size_t v, std::size_t e) { return numbers[(n * (v % 4 + 1) + v / 4 + e) % numbers.size()]; },
            result);
      }
    };
    combine(values);
    if (limits_.all_special_values && partial_) compare_all_combinations(values, result);
    combine(large_values);
  }

  /// Compares at all combinations of the numbers, one for each variable, if there are few variables: a side may be
  /// undefined only where one of them is 0 and another is not.
  void compare_all_combinations(std::span<const double> numbers, Refutation& result) {
    const std::size_t variables = rule_.rule.variables.size();
    if (variables > 4) return;
    std::size_t combinations = 1;
    for (std::size_t v = 0; v < variables; ++v) combinations *= numbers.size();
    for (std::size_t n = 0; n < combinations && !result.counterexample; ++n) {
      compare_with(
          [&](std::size_t v, std::size_t) {
            std::size_t digits = n;
            for (; v > 0; --v) digits /= numbers.size();
            return numbers[digits % numbers.size()];
          },
          result);
    }
  }

  /// Does nothing if the sizes are too large or the rule does not type at them.
  void compare_with(const Elements& elements, Refutation& result) {
    const std::optional<bool> differs = try_compare(elements);
    if (!differs) return;
    ++result.compared;
    if (*differs) result.counterexample = std::move(counterexample_);
  }

  std::int64_t at(const Poly& poly) const {
    return symbols_.evaluate(poly, [&](Atom atom) { return sizes_.at(atom); });
  }

  /// Draws sizes from ranges of alternating width. Narrow ranges satisfy equations more often; wide ones distinguish
  /// more rules.
  bool draw_sizes(std::uint32_t attempt, std::span<const std::int64_t> boundary_values) {
    constexpr std::uint64_t ranges[] = {3, 2, 4, 6};
    std::optional<SizeValues> drawn = sampler_.draw(ranges[attempt % 4], boundary_values);
    if (drawn) sizes_ = std::move(*drawn);
    return drawn.has_value();
  }

  double draw_element(std::uint32_t attempt) {
    // Mostly mixed signs; sometimes only positive numbers, for which square roots and logarithms are defined.
    const auto drawn = static_cast<double>(sampler_.random()() % 7);
    if (partial_ && attempt % 4 == 1) return drawn < 3 ? drawn - 3 : drawn - 2;  // nonzero: quotients are defined
    return attempt % 4 == 3 || (partial_ && attempt % 4 == 0) ? drawn + 1 : drawn - 3;
  }

  /// The same as compare; sizes beyond 64 bits count as too large.
  std::optional<bool> try_compare(const Elements& elements) {
    try {
      return compare(elements);
    } catch (const algebra::Overflow&) {
      return std::nullopt;
    }
  }

  /// Returns whether the sides differ at the drawn sizes; none if the sizes are too large or the rule does not type.
  std::optional<bool> compare(const Elements& elements) {
    values_.clear();
    shapes_.clear();
    possibly_undefined_ = false;
    std::uint64_t total = 0;
    for (std::size_t v = 0; v < rule_.rule.variables.size(); ++v) {
      IntShape shape;
      for (const Poly& dim : rule_.rule.shapes[v]) {
        shape.push_back(at(dim));
        if (shape.back() < 1) return std::nullopt;
      }
      const auto count = static_cast<std::uint64_t>(algebra::element_count(shape));
      total += count;
      if (total > limits_.elements) return std::nullopt;
      std::vector<Enclosure> values(count);
      for (std::size_t e = 0; e < count; ++e) values[e] = to_value(rule_.rule.variables[v], elements(v, e));
      values_[rule_.rule.variables[v]] = std::move(values);
      shapes_[rule_.rule.variables[v]] = std::move(shape);
    }
    std::uint64_t products = 0;
    for (const NodeId id : nodes_) {
      if (!run_node(id, total, products)) return std::nullopt;
    }
    if (possibly_undefined_) return false;
    const bool source_undefined = partial_ && is_undefined(rule_.rule.source);
    const bool target_undefined = partial_ && is_undefined(rule_.rule.target);
    if (rule_.rule.widens && source_undefined) return false;
    if (source_undefined != target_undefined) {
      set_counterexample(0, 0, source_undefined, target_undefined);
      return true;
    }
    for (std::size_t o = 0; o < rule_.rule.source.size() && !source_undefined; ++o) {
      if (differs(o)) return true;
    }
    return false;
  }

  bool run_node(NodeId id, std::uint64_t& elements, std::uint64_t& products) {
    const algebra::Node& node = bank_.node(id);
    const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
    std::vector<IntShape> inputs;
    std::vector<std::span<const Enclosure>> operands;
    for (const TermId argument : node.arguments) {
      inputs.push_back(shapes_.at(argument));
      operands.emplace_back(values_.at(argument));
    }
    std::vector<std::int64_t> parameters;
    for (const Poly& size : node.sizes) parameters.push_back(at(size));
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      IntShape shape;
      for (const Poly& dim : rule_.types.at(term_of(id, o))) shape.push_back(std::max<std::int64_t>(at(dim), 1));
      elements += static_cast<std::uint64_t>(algebra::element_count(shape));
    }
    if (elements > limits_.elements) return false;
    const std::optional<algebra::EvaluationPlan> plan =
        algebra::compile(instance, inputs, parameters, 64 * limits_.products);
    if (!plan) return false;
    products += plan->multiply_add_count();
    spend(10 * (elements + plan->multiply_add_count()));
    if (products > limits_.products) return false;
    std::vector<std::vector<Enclosure>> outputs =
        algebra::evaluate(bank_.library().functions(), *plan, operands, possibly_undefined_);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const TermId term = term_of(id, o);
      values_[term] = std::move(outputs[o]);
      shapes_[term] = plan->output_shapes[o];
    }
    return true;
  }

  TermId term_of(NodeId id, std::uint32_t output) const {
    for (const auto& [term, shape] : rule_.types) {
      if (!bank_.term(term).is_variable && bank_.term(term).node == id && bank_.term(term).output == output)
        return term;
    }
    RM_CHECK(false, "a node without a type");
    return {};
  }

  /// Returns whether an element of some tensor of the side is undefined.
  bool is_undefined(const std::vector<TermId>& side) const {
    for (const NodeId node : bank_.nodes(side)) {
      for (std::uint32_t o = 0; o < bank_.library().instance(bank_.node(node).instance).outputs.size(); ++o) {
        if (std::ranges::any_of(values_.at(term_of(node, o)), &Enclosure::is_undefined)) return true;
      }
    }
    return false;
  }

  bool differs(std::size_t output) {
    const TermId a = rule_.rule.source[output];
    const TermId b = rule_.rule.target[output];
    if (shapes_.at(a) != shapes_.at(b)) return false;
    for (std::size_t e = 0; e < values_.at(a).size(); ++e) {
      if (!algebra::certainly_differ(values_.at(a)[e], values_.at(b)[e])) continue;
      set_counterexample(output, e, false, false);
      return true;
    }
    return false;
  }

  void set_counterexample(std::size_t output, std::size_t element, bool source_undefined, bool target_undefined) {
    const auto value_of = [&](const std::vector<TermId>& side, bool undefined) {
      return undefined ? std::numeric_limits<double>::quiet_NaN() : values_.at(side[output])[element].middle();
    };
    counterexample_ = {};
    for (const TermId variable : rule_.rule.variables) {
      counterexample_.shapes.emplace_back(bank_.term(variable).name, shapes_.at(variable));
      std::vector<double>& input = counterexample_.inputs.emplace_back();
      for (const Enclosure& element_value : values_.at(variable)) input.push_back(element_value.low);
    }
    for (const Atom atom : sampler_.sizes()) counterexample_.sizes.emplace_back(symbols_.name(atom), sizes_.at(atom));
    counterexample_.output = output;
    const IntShape& shape = shapes_.at(rule_.rule.source[output]);
    counterexample_.position.resize(shape.size());
    auto rest = static_cast<std::int64_t>(element);
    for (std::size_t d = shape.size(); d-- > 0;) {
      counterexample_.position[d] = rest % shape[d];
      rest /= shape[d];
    }
    counterexample_.source = value_of(rule_.rule.source, source_undefined);
    counterexample_.target = value_of(rule_.rule.target, target_undefined);
  }

  const algebra::TypedRule& rule_;
  const algebra::TermBank& bank_;
  const algebra::Symbols& symbols_;
  const RefuteLimits& limits_;
  Budget* budget_;
  SizeSampler sampler_;
  std::vector<NodeId> nodes_;
  SizeValues sizes_;
  std::unordered_map<TermId, std::vector<Enclosure>> values_;
  std::unordered_map<TermId, IntShape> shapes_;
  std::unordered_map<TermId, ScalarKind> kinds_;  // of terms that are not real
  bool partial_ = false;                          // a partial function is applied
  bool possibly_undefined_ = false;               // a function whose domain rounding would decide was applied
  Counterexample counterexample_;
};

}  // namespace

Refutation refute(const algebra::TypedRule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                  std::uint64_t seed, const RefuteLimits& limits, Budget* budget) {
  return Refuter(rule, bank, symbols, seed, limits, budget).run();
}

}  // namespace rulemill::prove
