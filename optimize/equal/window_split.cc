#include "optimize/equal/window_split.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "optimize/equal/prover/general_window.h"
#include "optimize/equal/random_draw.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using Elements = std::vector<double>;

/// Draws of the leaves and sizes at which a window is well-typed: equal values are equal in this many.
constexpr std::uint32_t compared_draws = 2, max_draws = 6;

/// Elements of the largest value that is computed.
constexpr double max_elements = 1 << 18;

/// Elements are equal if they differ by less, relative to the largest.
constexpr double split_tolerance = 1e-9;

/// Values of the first model that are paired with one of the second.
constexpr std::size_t max_partners = 3;

/// Undefined elements equal each other, but not if all are undefined.
bool agree(const Elements& a, const Elements& b) {
  if (a.size() != b.size() || std::ranges::none_of(a, [](double x) { return std::isfinite(x); })) return false;
  const double largest = largest_of(a);
  return std::ranges::equal(a, b, [&](double x, double y) {
    return x == y || std::abs(x - y) <= split_tolerance * largest || (std::isnan(x) && std::isnan(y));
  });
}

/// The elements of a window's values in several draws.
class WindowSamples {
 public:
  WindowSamples(GraphBank& bank, const GeneralWindow& window) : bank_(bank) {
    if (!build(window)) return;
    const std::vector<algebra::Atom> open = open_sizes_of(bank, values_);
    for (std::uint32_t number = 0; number < max_draws && draws_.size() < compared_draws; ++number)
      add_draw(RandomDraw(bank, number, open));
  }

  bool is_complete() const { return draws_.size() == compared_draws; }
  bool are_equal(std::uint32_t a, std::uint32_t b) const {
    return is_complete() &&
           std::ranges::all_of(draws_, [&](const auto& draw) { return agree(draw[a]->values, draw[b]->values); });
  }

 private:
  /// Returns false if the window is ill-typed.
  bool build(const GeneralWindow& window) {
    std::vector<ValueId> parts;  // of the leaf's term
    const auto apply = [&](const TermNode& node) {
      std::vector<ValueId> arguments;
      for (const std::uint32_t argument : node.arguments)
        arguments.push_back(argument >= TermNode::inner ? parts[argument - TermNode::inner] : values_[argument]);
      const auto created = bank_.apply(node.instance, arguments, node.sizes);
      if (created) parts.push_back(bank_.node(*created).outputs[node.output]);
      return created ? bank_.node(*created).outputs : std::vector<ValueId>();
    };
    const auto is_typed = [&](const TermNode& node) { return !apply(node).empty(); };
    values_.resize(window.leaves.size());
    for (const std::uint32_t number : window.leaf_order) {
      const GeneralLeaf& leaf = window.leaves[number];
      // In float32: evaluation is in float64, and only compares.
      const DataType type = is_float(leaf.type.data_type) ? DataType::Float32 : leaf.type.data_type;
      parts.clear();
      if (!std::ranges::all_of(leaf.computed, is_typed)) return false;
      values_[number] =
          leaf.computed.empty() ? bank_.input("leaf " + std::to_string(number), {*leaf.type, type}) : parts.back();
    }
    for (const TermNode& node : window.nodes) {
      const std::vector<ValueId> made = apply(node);
      if (made.empty()) return false;
      values_.insert(values_.end(), made.begin(), made.end());
    }
    return true;
  }

  /// Adds nothing if the window is ill-typed at these sizes, or too large.
  void add_draw(const RandomDraw& draw) {
    GraphEvaluator evaluator(bank_, draw.sizes(), [&](ValueId leaf) {
      return draw.elements(bank_.value(leaf).type, bank_.node_of(leaf).source);
    });
    const auto is_small = [&](ValueId value) {
      double elements = 1;
      for (const std::int64_t dim : evaluator.dims(*bank_.value(value).type)) elements *= static_cast<double>(dim);
      return elements <= max_elements;
    };
    if (!std::ranges::all_of(values_, is_small)) return;
    std::vector<GraphEvaluator::TensorPtr> tensors(values_.size());
    try {
      evaluator.run(values_, [&](std::size_t root, const auto& tensor) { tensors[root] = tensor; });
      draws_.push_back(std::move(tensors));
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {  // ill-typed at these sizes
    }
  }

  GraphBank& bank_;
  std::vector<ValueId> values_;  // by number
  std::vector<std::vector<GraphEvaluator::TensorPtr>> draws_;
};

}  // namespace

std::vector<ValuePair> WindowSplit::inner_pairs(const EqualityWindow& window,
                                                const std::unordered_set<NodeId>& common) {
  const Region& region = window.region;
  std::optional<WindowSamples> samples;
  for (const NumberForm form : {NumberForm::Products, NumberForm::SmallLiteral}) {
    samples.emplace(bank_, generalize(bank_, constants_, operators_, region, form, sizes_));
    if (samples->is_complete()) break;
  }
  std::vector<std::pair<std::uint32_t, ValueId>> first, second;  // with their numbers
  for (std::uint32_t leaf = 0; leaf < region.leaves.size(); ++leaf) {
    if (!region.leaves[leaf].constant) first.emplace_back(leaf, region.leaves[leaf].value);
  }
  for (std::size_t n = 0; n < window.nodes.size(); ++n) {
    auto& values = common.contains(window.nodes[n]) ? first : second;
    std::uint32_t number = region.graph.nodes[n].first_output;
    for (const ValueId output : bank_.node(window.nodes[n]).outputs) values.emplace_back(number++, output);
  }
  std::vector<ValuePair> pairs;
  for (const auto& [number, value] : second) {
    std::size_t partners = 0;
    for (const auto& [other, before] : first) {
      const bool is_whole_window = before == region.outputs[0] && value == region.outputs[1];
      if (is_whole_window || !samples->are_equal(other, number)) continue;
      pairs.push_back({before, value});
      if (++partners == max_partners) break;
    }
  }
  return pairs;
}

std::vector<ValuePair> WindowSplit::in_one_form(ValuePair pair, Form form) {
  const ValueType first = bank_.value(pair.before).type, second = bank_.value(pair.after).type;  // the bank grows
  if (!first || !second || first.data_type != second.data_type) return {};
  const auto before = (this->*form)(pair.before, second), after = (this->*form)(pair.after, first);
  if (!before || !after) return {};
  return {{*before, pair.after}, {pair.before, *after}};
}

std::optional<ValueId> WindowSplit::transposed(ValueId value, const ValueType& type) {
  const algebra::Shape shape = *bank_.value(value).type;
  std::vector<std::int64_t> perm;
  for (const algebra::Poly& size : *type) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto axis = static_cast<std::int64_t>(d);
      if (shape[d] != size || std::ranges::find(perm, axis) != perm.end()) continue;
      perm.push_back(axis);
      break;
    }
  }
  if (perm.size() != type->size() || perm.size() != shape.size()) return std::nullopt;
  const std::uint32_t ranks[] = {static_cast<std::uint32_t>(shape.size())};
  const algebra::InstanceId transpose = bank_.library().instantiate("transpose", {{"perm", perm}}, ranks).id;
  const auto node = bank_.apply(transpose, std::span(&value, 1), {}, type.data_type);
  return node ? std::optional(bank_.node(*node).outputs[0]) : std::nullopt;
}

std::optional<ValueId> WindowSplit::reshaped(ValueId value, const ValueType& type) {
  const std::uint32_t ranks[] = {static_cast<std::uint32_t>(bank_.value(value).type->size()),
                                 static_cast<std::uint32_t>(type->size())};
  const algebra::InstanceId reshape = bank_.library().instantiate("reshape", {}, ranks).id;
  const auto node = bank_.apply(reshape, std::span(&value, 1), *type, type.data_type);
  return node ? std::optional(bank_.node(*node).outputs[0]) : std::nullopt;
}

}  // namespace rulemill::optimize
