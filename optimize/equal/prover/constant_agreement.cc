#include "optimize/equal/prover/constant_agreement.h"

#include <algorithm>
#include <cmath>

#include "optimize/model/evaluate.h"
#include "optimize/model/rounding.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

/// Elements of the largest constant that is computed.
constexpr double max_computed_elements = 1 << 26;

/// Elements of a constant that are kept, about.
constexpr std::size_t max_samples = 64;

/// Returns the elements of a value that depends on constants only, computed in float64; nullptr if they are too many.
std::shared_ptr<const algebra::Tensor> constant_elements(const GraphBank& bank, ValueId value) {
  double count = 1;
  for (const algebra::Poly& dim : bank.value(value).type.value_or({}))
    count *= static_cast<double>(dim.constant().value_or(0));
  if (!bank.value(value).type || count == 0 || count > max_computed_elements) return nullptr;
  GraphEvaluator evaluator(bank, {}, [](ValueId) -> GraphEvaluator::TensorPtr {
    throw runtime::Error("constant folding", "a constant depends on an input");
  });
  return evaluator.value(value);
}

/// Returns the largest difference of elements, relative to the largest element; nullopt if the constants do not agree.
std::optional<double> largest_relative_difference(const algebra::Tensor& a, const algebra::Tensor& b, DataType type) {
  if (a.shape != b.shape) return std::nullopt;
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    if (std::isfinite(x) && std::isfinite(y)) {
      largest = std::max(largest, std::abs(x));
      difference = std::max(difference, std::abs(x - y));
    } else if (x != y && !(std::isnan(x) && std::isnan(y))) {
      return std::nullopt;
    }
  }
  const double relative = difference == 0 ? 0 : difference / largest;
  return relative <= max_constant_roundoffs * unit_roundoff(type) ? std::optional(relative) : std::nullopt;
}

}  // namespace

const ConstantComparison::Sample& ConstantComparison::sample(ValueId value) {
  const auto [found, is_new] = samples_.try_emplace(value);
  Sample& sample = found->second;
  const auto elements = is_new ? constant_elements(*bank_, value) : nullptr;
  if (!elements) return sample;
  sample.computable = true;
  for (const double element : elements->values) {
    if (std::isfinite(element)) sample.largest = std::max(sample.largest, std::abs(element));
  }
  const std::size_t step = std::max<std::size_t>(1, elements->values.size() / max_samples);
  for (std::size_t i = 0; i < elements->values.size(); i += step) sample.elements.push_back(elements->values[i]);
  return sample;
}

std::optional<double> ConstantComparison::difference(ValueId a, ValueId b) {
  if (a == b) return 0;
  const bool are_stored =
      bank_->node_of(a).kind == Node::Kind::Constant && bank_->node_of(b).kind == Node::Kind::Constant;
  const ValueType& type = bank_->value(a).type;
  if (are_stored || !type || type != bank_->value(b).type || !is_float(type.data_type)) return std::nullopt;
  const Sample first = sample(a);  // a copy, because the table may grow
  const Sample& second = sample(b);
  if (!first.computable || !second.computable) return std::nullopt;
  const double limit = max_constant_roundoffs * unit_roundoff(type.data_type) * std::max(first.largest, second.largest);
  for (std::size_t i = 0; i < first.elements.size(); ++i) {
    if (std::abs(first.elements[i] - second.elements[i]) > limit) return std::nullopt;
  }
  const auto [known, is_new] = differences_.try_emplace({a, b});
  if (is_new) {
    const auto before = constant_elements(*bank_, a), after = constant_elements(*bank_, b);
    known->second = largest_relative_difference(*before, *after, type.data_type);
  }
  return known->second;
}

}  // namespace rulemill::optimize
