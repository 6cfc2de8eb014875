#include "optimize/equal/random_draw.h"

#include <fmt/format.h>

#include <random>
#include <set>
#include <utility>

#include "optimize/model/rounding.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

struct InputRange {
  double lower, upper;
};
/// The small ones show differences of numbers that are added to squares, such as epsilons.
constexpr InputRange input_ranges[] = {{-1, 1}, {0.25, 2}, {-0.001, 0.001}, {-8, 8}, {0, 1}, {-100, 100}};

/// Mostly odd, so that errors of windows and splits have an effect.
constexpr std::int64_t open_sizes[] = {3, 5, 2, 7, 4, 6};

/// Elements of the largest tensor that is drawn.
constexpr double max_drawn_elements = 1 << 26;

}  // namespace

std::vector<algebra::Atom> open_sizes_of(const GraphBank& bank, std::span<const ValueId> roots) {
  std::set<algebra::Atom> found;
  const auto add = [&](const std::vector<algebra::Poly>& sizes) {
    for (const algebra::Poly& size : sizes)
      for (const algebra::Atom atom : bank.symbols().atoms(size)) found.insert(atom);
  };
  for (const NodeId id : bank.live_nodes(roots)) {
    add(bank.node(id).sizes);
    for (const ValueId output : bank.node(id).outputs) add(bank.value(output).type.value_or({}));
  }
  return {found.begin(), found.end()};
}

RandomDraw::RandomDraw(const GraphBank& bank, std::uint32_t number, const std::vector<algebra::Atom>& open)
    : bank_(&bank), number_(number) {
  for (std::size_t i = 0; i < open.size(); ++i)
    sizes_.emplace(open[i], open_sizes[(i + number) % std::size(open_sizes)]);
}

std::string RandomDraw::description() const {
  const InputRange range = input_ranges[number_ % std::size(input_ranges)];
  return fmt::format("elements in [{}, {}], draw {}", range.lower, range.upper, number_);
}

GraphEvaluator::TensorPtr RandomDraw::elements(const ValueType& type, std::uint64_t seed) const {
  const GraphEvaluator evaluator(*bank_, sizes_, nullptr);
  algebra::Tensor drawn{evaluator.dims(*type), {}};
  double count = 1;
  for (const std::int64_t dim : drawn.shape) count *= static_cast<double>(dim);
  if (count > max_drawn_elements) throw runtime::Error("evaluation", "an input is too large");
  const std::uint64_t seeds[] = {number_, seed};
  std::mt19937_64 random(runtime::hash64(runtime::bytes_of(seeds)));
  const InputRange range = input_ranges[number_ % std::size(input_ranges)];
  drawn.values.resize(static_cast<std::size_t>(count));
  for (double& value : drawn.values) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    value = rounded(range.lower + (range.upper - range.lower) * unit, type.data_type);
    if (type.data_type == DataType::Bool) value = unit < 0.5 ? 0 : 1;
    // Integers are small, because most of them are indices.
    if (type.data_type == DataType::Integer) value = static_cast<double>(random() % 3);
  }
  return std::make_shared<const algebra::Tensor>(std::move(drawn));
}

}  // namespace rulemill::optimize
