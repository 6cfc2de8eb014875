#include "enumerate/terms/instance_facts.h"

#include <algorithm>

namespace rulemill::enumerate {
namespace {

using algebra::IndexExpr;
using algebra::IndexExprPtr;
using algebra::ScalarExpr;

bool has_index(const IndexExpr& expr) {
  if (expr.kind == IndexExpr::Kind::Index) return true;
  return (expr.a && has_index(*expr.a)) || (expr.b && has_index(*expr.b));
}

IndexExprPtr combine(IndexExpr::Kind kind, IndexExprPtr a, IndexExprPtr b) {
  auto result = std::make_shared<IndexExpr>();
  result->kind = kind;
  result->a = std::move(a);
  result->b = std::move(b);
  return result;
}

/// Whether the expression is index `slot` plus a shift without indices. Sets the shift; null for 0.
bool is_index_plus_shift(const IndexExprPtr& expr, std::uint32_t slot, IndexExprPtr& shift) {
  switch (expr->kind) {
    case IndexExpr::Kind::Index:
      shift = nullptr;
      return expr->slot == slot;
    case IndexExpr::Kind::Add: {
      const bool left = has_index(*expr->a);
      const IndexExprPtr& rest = left ? expr->b : expr->a;
      if (has_index(*rest) || !is_index_plus_shift(left ? expr->a : expr->b, slot, shift)) return false;
      shift = shift ? combine(IndexExpr::Kind::Add, shift, rest) : rest;
      return true;
    }
    case IndexExpr::Kind::Sub: {
      if (has_index(*expr->b) || !is_index_plus_shift(expr->a, slot, shift)) return false;
      auto zero = std::make_shared<IndexExpr>();
      shift = combine(IndexExpr::Kind::Sub, shift ? shift : zero, expr->b);
      return true;
    }
    default:
      return false;
  }
}

void collect_reads(const ScalarExpr& expr, std::size_t inputs, std::vector<const ScalarExpr*>& reads) {
  if (expr.kind == ScalarExpr::Kind::Read && expr.tensor < inputs) reads.push_back(&expr);
  for (const auto& operand : expr.operands) collect_reads(*operand, inputs, reads);
}

/// Collects the summands of a + b + …. Returns whether all of them are dimensions of inputs.
bool collect_summands(const IndexExprPtr& expr, std::uint32_t first_size_parameter,
                      std::vector<IndexExprPtr>& summands) {
  if (expr->kind == IndexExpr::Kind::Add)
    return collect_summands(expr->a, first_size_parameter, summands) &&
           collect_summands(expr->b, first_size_parameter, summands);
  summands.push_back(expr);
  return expr->kind == IndexExpr::Kind::Size && expr->slot < first_size_parameter;
}

void sort_unique(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

InstanceFacts analyze_instance(const algebra::OperatorInstance& instance) {
  InstanceFacts facts;
  facts.cuts.resize(instance.size_parameter_count());
  for (const algebra::TensorDefinition& output : instance.outputs) {
    std::vector<const ScalarExpr*> reads;
    collect_reads(*output.body, instance.inputs.size(), reads);
    auto& axes = facts.outputs.emplace_back(output.dims.size());
    for (std::uint32_t d = 0; d < output.dims.size(); ++d) {
      for (const ScalarExpr* read : reads) {
        for (std::uint32_t axis = 0; axis < read->indices.size(); ++axis) {
          IndexExprPtr shift;
          if (!is_index_plus_shift(read->indices[axis], d, shift)) continue;
          axes[d].flows.push_back({read->tensor, axis, shift});
          // An unshifted output dimension that is a size parameter: the parameter splits the argument's axis.
          const IndexExpr& dim = *output.dims[d];
          if (!shift && dim.kind == IndexExpr::Kind::Size && dim.slot >= instance.first_size_parameter) {
            auto& cut = facts.cuts[dim.slot - instance.first_size_parameter];
            if (!cut) cut = CutAxis{read->tensor, axis};
          }
        }
      }
      std::vector<IndexExprPtr> summands;
      if (collect_summands(output.dims[d], instance.first_size_parameter, summands) && summands.size() > 1)
        axes[d].summands = std::move(summands);
    }
  }
  return facts;
}

Positions output_positions(const InstanceFacts& facts, std::size_t output, const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& slots, const std::vector<const Positions*>& arguments) {
  const std::vector<AxisFacts>& axes = facts.outputs[output];
  Positions positions(shape.size());
  bool any = false;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    std::vector<std::int64_t>& here = positions[d];
    std::int64_t boundary = 0;
    for (const IndexExprPtr& part : axes[d].summands) {
      boundary += algebra::evaluate(*part, slots, {});
      if (boundary < shape[d]) here.push_back(boundary);
    }
    for (const AxisFlow& flow : axes[d].flows) {
      const Positions& source = *arguments[flow.argument];
      if (source.empty() || source[flow.axis].empty()) continue;
      const std::int64_t shift = flow.shift ? algebra::evaluate(*flow.shift, slots, {}) : 0;
      for (const std::int64_t position : source[flow.axis]) {
        if (position - shift > 0 && position - shift < shape[d]) here.push_back(position - shift);
      }
    }
    sort_unique(here);
    any = any || !here.empty();
  }
  if (!any) positions.clear();
  return positions;
}

}  // namespace rulemill::enumerate
