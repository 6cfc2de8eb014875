#include "optimize/equal/constant_agreement.h"

#include <algorithm>
#include <cmath>

#include "optimize/model/evaluate.h"
#include "optimize/model/rounding.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

/// Elements of the largest constant that is computed.
constexpr double max_computed_elements = 1 << 26;

}  // namespace

std::optional<double> constant_difference(const algebra::Tensor& a, const algebra::Tensor& b, DataType type) {
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

}  // namespace rulemill::optimize
