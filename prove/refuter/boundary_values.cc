#include "prove/refuter/boundary_values.h"

#include <set>

namespace rulemill::prove {
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

}  // namespace

std::vector<std::int64_t> find_boundary_values(std::span<const algebra::NodeId> nodes, const algebra::TermBank& bank) {
  Collector collector;
  for (const algebra::NodeId node : nodes) collector.add(bank.library().instance(bank.node(node).instance));
  return collector.values();
}

}  // namespace rulemill::prove
