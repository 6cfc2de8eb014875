#include "optimize/equal/window_split.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "optimize/equal/prover/general_window.h"
#include "optimize/equal/random_draw.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using Elements = std::vector<double>;

/// Draws of the leaves and sizes: values are equal if they are equal in this many, out of those at which a window is
/// well-typed.
constexpr std::uint32_t compared_draws = 2, max_draws = 6;

/// Elements of the largest value that is computed.
constexpr double max_elements = 1 << 18;

/// Elements are equal if they differ by less, relative to the largest.
constexpr double split_tolerance = 1e-9;

/// Values of the first model that are paired with one of the second.
constexpr std::size_t max_partners = 3;

/// A window at one draw.
class WindowEvaluation {
 public:
  WindowEvaluation(const GraphBank& bank, const RandomDraw& draw)
      : bank_(bank), draw_(draw), sizes_(bank, draw.sizes(), nullptr) {}

  /// Returns the values, by number; nullopt if the window is ill-typed at these sizes, or too large.
  std::optional<std::vector<algebra::Tensor>> run(const GeneralWindow& window) {
    for (const GeneralLeaf& leaf : window.leaves) {
      if (leaf.computed) {
        if (!apply(*leaf.computed)) return std::nullopt;
      } else if (is_small(sizes_.dims(*leaf.type))) {
        values_.push_back(*draw_.elements(leaf.type, values_.size()));
      } else {
        return std::nullopt;
      }
    }
    if (!std::ranges::all_of(window.nodes, [&](const GeneralNode& node) { return apply(node); })) return std::nullopt;
    return std::move(values_);
  }

 private:
  static bool is_small(const std::vector<std::int64_t>& dims) {
    double elements = 1;
    for (const std::int64_t dim : dims) elements *= static_cast<double>(dim);
    return elements <= max_elements;
  }

  bool apply(const GeneralNode& node) {
    const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
    std::vector<std::vector<std::int64_t>> dims;
    std::vector<const algebra::Tensor*> arguments;
    for (const std::uint32_t argument : node.arguments) {
      arguments.push_back(&values_[argument]);
      dims.push_back(values_[argument].shape);
    }
    const std::vector<std::int64_t> sizes = sizes_.dims(node.sizes);
    const auto shapes = algebra::infer(instance, dims, sizes);
    if (!shapes || !std::ranges::all_of(*shapes, is_small)) return false;
    auto results = algebra::run_reference(bank_.library().functions(), instance, arguments, sizes);
    if (!results) return false;
    for (algebra::Tensor& result : *results) values_.push_back(std::move(result));
    return true;
  }

  const GraphBank& bank_;
  const RandomDraw& draw_;
  GraphEvaluator sizes_;
  std::vector<algebra::Tensor> values_;
};

/// Undefined elements equal each other, but not if all are undefined.
bool agree(const Elements& a, const Elements& b) {
  if (a.size() != b.size() || std::ranges::none_of(a, [](double x) { return std::isfinite(x); })) return false;
  double largest = 0;
  for (const double x : a) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  return std::ranges::equal(a, b, [&](double x, double y) {
    return x == y || std::abs(x - y) <= split_tolerance * largest || (std::isnan(x) && std::isnan(y));
  });
}

/// The elements of a window's values in several draws.
class WindowSamples {
 public:
  WindowSamples(const GraphBank& bank, const GeneralWindow& window) {
    const std::vector<algebra::Atom> atoms = atoms_of(bank, window);
    for (std::uint32_t number = 0; number < max_draws && draws_.size() < compared_draws; ++number) {
      const RandomDraw draw(bank, number, atoms);
      if (auto values = WindowEvaluation(bank, draw).run(window)) draws_.push_back(std::move(*values));
    }
  }

  bool are_equal(std::uint32_t a, std::uint32_t b) const {
    return draws_.size() == compared_draws &&
           std::ranges::all_of(draws_, [&](const auto& draw) { return agree(draw[a].values, draw[b].values); });
  }

 private:
  static std::vector<algebra::Atom> atoms_of(const GraphBank& bank, const GeneralWindow& window) {
    std::set<algebra::Atom> found;
    const auto add = [&](const std::vector<algebra::Poly>& sizes) {
      for (const algebra::Poly& size : sizes) {
        for (const algebra::Atom atom : bank.symbols().atoms(size)) found.insert(atom);
      }
    };
    for (const GeneralLeaf& leaf : window.leaves) add(leaf.computed ? leaf.computed->sizes : *leaf.type);
    for (const GeneralNode& node : window.nodes) add(node.sizes);
    return {found.begin(), found.end()};
  }

  std::vector<std::vector<algebra::Tensor>> draws_;
};

}  // namespace

std::vector<ValuePair> WindowSplit::inner_pairs(const EqualityWindow& window,
                                                const std::unordered_set<NodeId>& common) {
  const Region& region = window.region;
  const WindowSamples samples(bank_, generalize(bank_, constants_, operators_, region, sizes_));
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
      if (is_whole_window || !samples.are_equal(other, number)) continue;
      const auto partner = with_type_of(before, value);
      if (!partner || *partner == value) continue;
      pairs.push_back({*partner, value});
      if (++partners == max_partners) break;
    }
  }
  return pairs;
}

/// Returns the first value, reshaped if its type is another one.
std::optional<ValueId> WindowSplit::with_type_of(ValueId before, ValueId after) {
  const ValueType given = bank_.value(before).type, wanted = bank_.value(after).type;  // copies: the bank grows
  if (given == wanted) return before;
  if (given.data_type != wanted.data_type) return std::nullopt;
  const std::uint32_t ranks[] = {static_cast<std::uint32_t>(given->size()), static_cast<std::uint32_t>(wanted->size())};
  const auto reshaped = bank_.apply(bank_.library().instantiate("reshape", {}, ranks).id, std::span(&before, 1),
                                    *wanted, wanted.data_type);
  return reshaped ? std::optional(bank_.node(*reshaped).outputs[0]) : std::nullopt;
}

}  // namespace rulemill::optimize
