#include "optimize/verify/error_growth.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "optimize/cost/cost_model.h"
#include "optimize/model/rounding.h"

namespace rulemill::optimize {
namespace {

constexpr std::uint32_t max_steps = 20;
/// In all steps: about a second.
constexpr double max_operations = 3e8;
/// Inputs of one sign, so that sums of them do not cancel by chance.
constexpr Draw first_draw{1};
constexpr double noise = 0.25;  // of the largest element of an input
constexpr double contraction = 1.0 / 8, magnification = 8;

using Tensors = std::vector<GraphEvaluator::TensorPtr>;

class Climb {
 public:
  Climb(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
        const GraphEvaluator::Sizes& sizes)
      : bank_(bank),
        before_(before),
        sizes_(sizes),
        inputs_(bank, sizes, first_draw),
        largest_before_(before.size(), 0) {
    roots_.assign(before.begin(), before.end());
    roots_.insert(roots_.end(), after.begin(), after.end());
    for (const NodeId id : bank.live_nodes(roots_)) {
      const Node& node = bank.node(id);
      if (node.kind == Node::Kind::Constant || node.kind == Node::Kind::Algebra) continue;
      for (const ValueId output : node.outputs) {
        if (bank.value(output).type && is_float(bank.value(output).type.data_type)) leaves_.push_back(output);
      }
    }
  }

  ErrorGrowth run() {
    const auto steps = std::min<double>(max_steps, max_operations / std::max(1.0, operations()));
    if (leaves_.empty() || steps < 1) return {};
    ErrorGrowth best = evaluate();
    for (std::uint32_t step = 0; step < static_cast<std::uint32_t>(steps); ++step) {
      const RandomInputs kept = inputs_;
      move(step);
      const ErrorGrowth growth = evaluate();
      if (growth.ratio > best.ratio) {
        best = growth;
      } else {
        inputs_ = kept;
      }
    }
    return best;
  }

 private:
  /// Returns the arithmetic of one evaluation.
  double operations() const {
    double total = 0;
    const GraphEvaluator shapes(bank_, sizes_, {});
    for (const NodeId id : bank_.live_nodes(roots_)) {
      const Node& node = bank_.node(id);
      if (node.kind != Node::Kind::Algebra || node.constant) continue;
      std::vector<std::vector<std::int64_t>> arguments;
      for (const ValueId argument : node.arguments) arguments.push_back(shapes.dims(*bank_.value(argument).type));
      std::vector<std::int64_t> sizes = shapes.dims(node.sizes);
      const auto work = work_of(bank_.library(), bank_.instance(node), arguments, sizes);
      if (work) total += work->product_flops + work->scalar_flops;
    }
    return 2 * total;
  }

  enum class Move : std::uint8_t { Noise, Contract, ContractAll, Magnify, Count };

  void move(std::uint32_t step) {
    constexpr auto kinds = static_cast<std::uint32_t>(Move::Count);
    const Move kind = static_cast<Move>(step % kinds);
    const std::size_t chosen = step / kinds % leaves_.size();
    const bool moves_all = kind == Move::Noise || kind == Move::ContractAll;
    const double common_mean = mean_of(leaves_);
    std::mt19937_64 random(step);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (!moves_all && i != chosen) continue;
      const double mean = kind == Move::ContractAll ? common_mean : mean_of(std::span(&leaves_[i], 1));
      algebra::Tensor tensor = *inputs_(leaves_[i]);
      double largest = 0;
      for (const double value : tensor.values) largest = std::max(largest, std::fabs(value));
      const DataType type = bank_.value(leaves_[i]).type.data_type;
      for (double& value : tensor.values) {
        const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
        if (kind == Move::Noise) value += noise * largest * (2 * unit - 1);
        if (kind == Move::Contract || kind == Move::ContractAll) value = mean + contraction * (value - mean);
        if (kind == Move::Magnify) value *= magnification;
        value = rounded(value, type);
      }
      inputs_.set(leaves_[i], std::move(tensor));
    }
  }

  double mean_of(std::span<const ValueId> leaves) {
    double sum = 0, count = 0;
    for (const ValueId leaf : leaves) {
      const GraphEvaluator::TensorPtr tensor = inputs_(leaf);
      sum = std::accumulate(tensor->values.begin(), tensor->values.end(), sum);
      count += static_cast<double>(tensor->values.size());
    }
    return sum / std::max(count, 1.0);
  }

  Tensors values(std::span<const ValueId> roots, GraphEvaluator::Precision precision) {
    Tensors result(roots.size());
    GraphEvaluator evaluator(
        bank_, sizes_, [&](ValueId id) { return inputs_(id); }, precision);
    evaluator.run(roots, [&](std::size_t root, const GraphEvaluator::TensorPtr& tensor) { result[root] = tensor; });
    return result;
  }

  ErrorGrowth evaluate() {
    const Tensors reference = values(before_, GraphEvaluator::Precision::Float64),
                  typed = values(roots_, GraphEvaluator::Precision::AsTyped);
    ErrorGrowth growth;
    for (std::size_t root = 0; root < reference.size(); ++root) {
      const DataType type = bank_.value(before_[root]).type.data_type;
      if (!is_float(type) || type == DataType::Float64) continue;
      const algebra::Tensor& after = *typed[reference.size() + root];
      if (after.shape != typed[root]->shape) continue;
      RelativeErrors errors = measure_errors(reference[root]->values, typed[root]->values, after.values);
      if (!errors.same_nonfinite_positions || !is_well_conditioned(errors)) continue;
      // A small tensor may be exact by chance.
      if (after.values.size() < small_tensor_elements)
        errors.before = largest_before_[root] = std::max(largest_before_[root], errors.before);
      const double ratio = errors.after / (errors.before + unit_roundoff(type));
      if (ratio > growth.ratio) growth = {ratio, root, errors};
    }
    return growth;
  }

  const GraphBank& bank_;
  std::span<const ValueId> before_;
  const GraphEvaluator::Sizes& sizes_;
  RandomInputs inputs_;
  std::vector<ValueId> roots_, leaves_;
  std::vector<double> largest_before_;  // errors of the original over all evaluations, by root
};

}  // namespace

ErrorGrowth find_error_growth(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                              const GraphEvaluator::Sizes& sizes) {
  return Climb(bank, before, after, sizes).run();
}

}  // namespace rulemill::optimize
