#include "optimize/model/value_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "algebra/sizes/checked.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

/// Dynamic dimensions that the user does not set.
constexpr std::int64_t small_size = 16;
/// Values at most this factor below the largest number of their type nearly overflow.
constexpr double nearly = 0.98;
constexpr int max_evaluations = 14;  // for one input

double largest_number(DataType type) {
  switch (type) {
    case DataType::Float16:
      return 65504;
    case DataType::BFloat16:
      return 0x1.FEp127;
    case DataType::Float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

/// Where a graph comes closest to overflow.
struct Peak {
  double size = 0;  // |value| / largest number of its type
  ValueId value{};
};

bool is_long_float(DataType type) { return type == DataType::Float32 || type == DataType::Float64; }

/// One random input: a tensor for each leaf, with signs and a magnitude of its own. Or given inputs.
class RangeProbe {
 public:
  RangeProbe(const RangeQuery& query, std::uint32_t draw, const GivenInputs* given = nullptr)
      : bank_(query.bank), sizes_(given ? given->sizes : query.sizes), draw_(draw), given_(given) {
    for (const auto roots : {query.before, query.after}) {
      for (const NodeId id : bank_.live_nodes(roots)) add_sizes(id);
    }
  }

  /// Returns the peak of the computed values of some types if the input is multiplied by 2 to the `exponent`.
  Peak peak(std::span<const ValueId> roots, double exponent, bool (*has_type)(DataType) = is_short_float) const {
    GraphEvaluator evaluator(bank_, sizes_, [&](ValueId id) { return leaf(id, std::exp2(exponent)); });
    std::vector<ValueId> values;
    for (const NodeId id : bank_.live_nodes(roots)) {
      if (bank_.node(id).constant) continue;
      for (const ValueId output : bank_.node(id).outputs) {
        const ValueType& type = bank_.value(output).type;
        if (type && has_type(type.data_type)) values.push_back(output);
      }
    }
    Peak peak;
    evaluator.run(values, [&](std::size_t i, const GraphEvaluator::TensorPtr& tensor) {
      const double largest = largest_number(bank_.value(values[i]).type.data_type);
      for (const double value : tensor->values) {
        if (std::fabs(value) / largest > peak.size) peak = {std::fabs(value) / largest, values[i]};
      }
    });
    return peak;
  }

 private:
  void add_sizes(NodeId id) {
    for (const ValueId output : bank_.node(id).outputs) {
      if (!bank_.value(output).type) continue;
      for (const algebra::Poly& dim : *bank_.value(output).type) {
        for (const algebra::Atom atom : bank_.symbols().atoms(dim)) sizes_.emplace(atom, small_size);
      }
    }
  }

  GraphEvaluator::TensorPtr leaf(ValueId id, double scale) const {
    const Value& value = bank_.value(id);
    if (!value.type) return nullptr;
    if (given_ && bank_.node(value.node).kind == Node::Kind::Input) return given_leaf(value, scale);
    std::uint64_t words[] = {draw_, bank_.node(value.node).source,
                             value.output * 2ull + (bank_.node(value.node).kind == Node::Kind::Opaque ? 1 : 0)};
    std::mt19937_64 random(runtime::hash64(runtime::bytes_of(words)));
    algebra::Tensor tensor{GraphEvaluator(bank_, sizes_, {}).dims(*value.type), {}};
    tensor.values.resize(static_cast<std::size_t>(algebra::element_count(tensor.shape)));
    // The first input has one sign and one magnitude, so that sums grow.
    if (draw_ > 0) scale *= std::exp2(static_cast<double>(random() % 13) - 6);
    for (double& element : tensor.values) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      if (value.type.data_type == DataType::Bool) {
        element = unit < 0.5 ? 0 : 1;
      } else if (value.type.data_type == DataType::Integer) {
        element = static_cast<double>(random() % 3);
      } else {
        element = scale * (draw_ == 0 ? (unit + 1) / 2 : 2 * unit - 1);
      }
    }
    return std::make_shared<algebra::Tensor>(std::move(tensor));
  }

  GraphEvaluator::TensorPtr given_leaf(const Value& value, double scale) const {
    const GraphEvaluator::TensorPtr& tensor = given_->tensors.at(bank_.node(value.node).source);
    if (scale == 1 || !is_float(value.type.data_type)) return tensor;
    auto scaled = std::make_shared<algebra::Tensor>(*tensor);
    for (double& element : scaled->values) element *= scale;
    return scaled;
  }

  const GraphBank& bank_;
  GraphEvaluator::Sizes sizes_;
  std::uint64_t draw_;
  const GivenInputs* given_;
};

/// Returns the exponent at which the graph nearly overflows; nullopt if there is none. Secant steps on logarithms find
/// it at once for values that grow like a power of the input; otherwise the interval is halved.
std::optional<double> exponent_before_overflow(const RangeProbe& probe, std::span<const ValueId> roots) {
  double low = -60, high = 140, exponent = 0, slope = 1, last_exponent = 0, last_log = 0;
  std::optional<double> best;
  for (int i = 0; i < max_evaluations && high - low > 0.01; ++i) {
    const double size = probe.peak(roots, exponent).size;
    if (size <= 1) best = low = exponent;
    if (size > 1) high = exponent;
    if (size <= 1 && size >= nearly) return best;
    const double log = std::log2(size);
    if (i > 0 && std::isfinite(log) && std::isfinite(last_log) && exponent != last_exponent)
      slope = (log - last_log) / (exponent - last_exponent);
    last_exponent = exponent;
    last_log = log;
    exponent += (std::log2((1 + nearly) / 2) - log) / slope;
    if (!(exponent > low && exponent < high)) exponent = (low + high) / 2;
  }
  return best;
}

}  // namespace

bool is_short_float(DataType type) { return type == DataType::Float16 || type == DataType::BFloat16; }

bool has_short_floats(const GraphBank& bank, std::span<const ValueId> roots) {
  return std::ranges::any_of(bank.live_nodes(roots), [&](NodeId id) {
    return std::ranges::any_of(bank.node(id).outputs, [&](ValueId output) {
      return bank.value(output).type && is_short_float(bank.value(output).type.data_type);
    });
  });
}

std::optional<ValueId> find_overflow(const RangeQuery& query) {
  if (!has_short_floats(query.bank, query.after)) return std::nullopt;
  for (std::uint32_t draw = 0; draw < query.draws; ++draw) {
    const RangeProbe probe(query, draw);
    const auto exponent = exponent_before_overflow(probe, query.before);
    if (!exponent) continue;
    if (const Peak peak = probe.peak(query.after, *exponent); peak.size > 1) return peak.value;
  }
  for (const GivenInputs& given : query.given) {
    const RangeProbe probe(query, 0, &given);
    if (probe.peak(query.before, 0).size > 1) continue;
    const double exponent = exponent_before_overflow(probe, query.before).value_or(0);
    for (const double each : {0.0, exponent}) {
      if (const Peak peak = probe.peak(query.after, each); peak.size > 1) return peak.value;
    }
  }
  return std::nullopt;
}

double range_growth(const RangeQuery& query) {
  double growth = 0;
  for (std::uint32_t draw = 0; draw < query.draws; ++draw) {
    const RangeProbe probe(query, draw);
    const double before = probe.peak(query.before, 0, is_long_float).size;
    const double after = probe.peak(query.after, 0, is_long_float).size;
    if (before > 0 && std::isfinite(before)) growth = std::max(growth, after / before);
  }
  return growth;
}

}  // namespace rulemill::optimize
