#include "optimize/onnx/mapping/random_node.h"

#include <algorithm>
#include <numeric>

#include "optimize/onnx/mapping/node_bindings.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using algebra::GenericOnnxMapping;
using algebra::ParameterKind;
using List = std::vector<std::int64_t>;

constexpr std::uint32_t max_pack_length = 3;
constexpr std::int64_t max_size = 6;

class NodeGenerator {
 public:
  NodeGenerator(algebra::Library& library, const GenericOnnxMapping& generic, std::mt19937_64& random)
      : library_(library), generic_(generic), random_(random) {}

  std::optional<RandomNode> run(int max_opset) {
    const int last = std::min(max_opset, generic_.until - 1);
    if (last < generic_.since) return std::nullopt;
    RandomNode node;
    node.opset = below(2) == 0 ? last : static_cast<int>(between(std::max(generic_.since, std::min(last, 7)), last));
    const algebra::Parameters given = parameters();  // also sets ranks_
    node.instance = &library_.instantiate(generic_.operator_name, given, ranks_);
    const auto mapping = std::ranges::find_if(
        node.instance->onnx, [&](const auto& one) { return one.index == generic_.index && !one.activation; });
    if (mapping == node.instance->onnx.end()) return std::nullopt;
    return with_sizes(node, *mapping);
  }

 private:
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }

  /// Draws the parameters, except those that the mapping fixes, and sets the ranks.
  algebra::Parameters parameters() {
    pack_ = static_cast<std::uint32_t>(below(4) == 0 ? below(max_pack_length + 1) : between(1, max_pack_length));
    algebra::Parameters result;
    for (const GenericOnnxMapping::Spread& spread : generic_.spreads) {
      if (below(2) == 0) result.emplace(spread.parameter, random_spread());
    }
    for (const GenericOnnxMapping::Operand& operand : generic_.operands) {
      const auto spread = result.find(operand.spread);
      std::uint32_t length = operand.has_pack ? pack_ : 0;
      if (spread != result.end())
        length -=
            static_cast<std::uint32_t>(std::ranges::count(std::get<List>(spread->second), algebra::spread_absent));
      ranks_.push_back(operand.fixed + length);
    }
    if (library_.has_explicit_rank(generic_.operator_name)) ranks_.push_back(static_cast<std::uint32_t>(between(1, 4)));
    const std::int64_t rank = ranks_.empty() ? 0 : ranks_[0];
    for (const GenericOnnxMapping::Parameter& parameter : generic_.parameters) {
      if (result.contains(parameter.name)) continue;
      if (auto value = random_value(parameter, rank)) result.emplace(parameter.name, *value);
    }
    return result;
  }

  /// Draws a spread: absent dimensions first, then whole and single ones.
  List random_spread() {
    List result;
    const std::int64_t absent = below(pack_ + 1);
    for (std::int64_t d = 0; d < pack_; ++d)
      result.push_back(d < absent      ? algebra::spread_absent
                       : below(2) == 0 ? algebra::spread_one
                                       : algebra::spread_whole);
    return result;
  }

  std::optional<algebra::ParameterValue> random_value(const GenericOnnxMapping::Parameter& parameter,
                                                      std::int64_t rank) {
    if (auto required = required_value(generic_, parameter)) return required;
    if (generic_.activation_parameter == parameter.name) return std::string("none");
    switch (parameter.kind) {
      case ParameterKind::Enum: {
        const auto enum_values = library_.domain(generic_.operator_name, parameter.name, ranks_);
        return enum_values[static_cast<std::size_t>(below(static_cast<std::int64_t>(enum_values.size())))];
      }
      case ParameterKind::Int: {
        const auto numbers = library_.domain(generic_.operator_name, parameter.name, ranks_);
        if (!numbers.empty())
          return numbers[static_cast<std::size_t>(below(static_cast<std::int64_t>(numbers.size())))];
        return between(0, 3);
      }
      case ParameterKind::Ints: {
        if (parameter.has_default && below(3) == 0) return std::nullopt;
        List list;
        const auto length = library_.pack_length(generic_.operator_name, ranks_, {}, parameter.pack);
        for (std::uint32_t i = 0; i < length; ++i) list.push_back(below(3) == 0 ? between(0, 3) : between(1, 2));
        return list;
      }
      case ParameterKind::Axis:
        return rank > 0 ? std::optional(algebra::ParameterValue(below(rank))) : std::nullopt;
      case ParameterKind::Axes:
      case ParameterKind::NewAxes: {
        if (rank == 0 && parameter.kind == ParameterKind::Axes) return std::nullopt;
        const std::int64_t count =
            parameter.kind == ParameterKind::Axes ? between(1, std::max<std::int64_t>(rank, 1)) : between(1, 2);
        List all(static_cast<std::size_t>(parameter.kind == ParameterKind::Axes ? rank : rank + count));
        std::iota(all.begin(), all.end(), 0);
        std::ranges::shuffle(all, random_);
        all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
        return all;
      }
      case ParameterKind::Permutation: {
        List all(static_cast<std::size_t>(rank));
        std::iota(all.begin(), all.end(), 0);
        std::ranges::shuffle(all, random_);
        return all;
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<RandomNode> with_sizes(RandomNode node, const algebra::OnnxMapping& mapping) {
    const algebra::OperatorInstance& instance = *node.instance;
    List sizes;
    for (std::size_t slot = 0; slot < instance.size_names.size(); ++slot) sizes.push_back(between(1, max_size));
    List with_outputs = sizes;
    with_outputs.push_back(static_cast<std::int64_t>(instance.outputs.size()));
    for (const auto& [slot, expr] : mapping.computed_sizes) sizes[slot] = algebra::evaluate(*expr, with_outputs, {});
    for (const auto& input : instance.inputs) {
      auto& shape = node.shapes.emplace_back();
      for (const auto& dim : input) shape.push_back(algebra::evaluate(*dim, sizes, {}));
    }
    node.size_parameters.assign(sizes.begin() + instance.first_size_parameter, sizes.end());
    auto outputs = algebra::infer(instance, node.shapes, node.size_parameters);
    if (!outputs) return std::nullopt;
    node.outputs = std::move(*outputs);
    algebra::Symbols symbols;
    const std::vector<algebra::Poly> slots(sizes.begin(), sizes.end());
    auto spec = emit(mapping, slots, symbols);
    if (!spec) return std::nullopt;
    node.spec = std::move(*spec);
    return node;
  }

  algebra::Library& library_;
  const GenericOnnxMapping& generic_;
  std::mt19937_64& random_;
  std::uint32_t pack_ = 0;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace

std::optional<RandomNode> random_node(algebra::Library& library, const GenericOnnxMapping& generic, int max_opset,
                                      std::mt19937_64& random) {
  try {
    return NodeGenerator(library, generic, random).run(max_opset);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return std::nullopt;  // the operator rejects these parameters
  }
}

}  // namespace rulemill::optimize
