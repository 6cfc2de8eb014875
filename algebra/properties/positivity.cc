#include "algebra/properties/positivity.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "algebra/operators/function_domain.h"
#include "algebra/operators/index_tree.h"

namespace rulemill::algebra {
namespace {

using IndexKind = IndexExpr::Kind;
constexpr Signs positive{false, false, true}, nonnegative{false, true, true};

class SignAnalysis {
 public:
  SignAnalysis(const OperatorInstance& instance, std::span<const Function> functions,
               const std::vector<bool>& positive_inputs)
      : instance_(instance), functions_(functions), positive_(positive_inputs) {
    for (const TensorDefinition& intermediate : instance.intermediates) positive_.push_back(is_positive(intermediate));
  }

  bool is_positive(const TensorDefinition& tensor) {
    extents_.clear();
    for (std::uint32_t d = 0; d < tensor.dims.size(); ++d) extents_[d] = tensor.dims[d];
    return signs(*tensor.body) == positive;
  }

  /// The first function found so far that may be applied outside its domain.
  const std::optional<std::string>& function_outside_domain() const { return function_outside_domain_; }

 private:
  Signs signs(const ScalarExpr& expr) {
    using Kind = ScalarExpr::Kind;
    switch (expr.kind) {
      case Kind::Constant:
        return sign_of(static_cast<double>(expr.value.num));
      case Kind::InverseSize:
        return positive;
      case Kind::Read:
        if (!positive_[expr.tensor]) return {};
        return is_inside(expr) ? positive : nonnegative;  // 0 outside the tensor
      case Kind::Add: {
        Signs all = sign_of(0);
        for (const ScalarExprPtr& operand : expr.operands) all = all + signs(*operand);
        return all;
      }
      case Kind::Mul: {
        Signs all = positive;
        for (const ScalarExprPtr& operand : expr.operands) all = all * signs(*operand);
        return all;
      }
      case Kind::Sum:
      case Kind::Max: {
        bool has_points = expr.guard.empty();
        for (const BoundIndex& bound : expr.bound) {
          extents_[bound.slot] = bound.extent;
          has_points = has_points && is_at_least_one(*bound.extent);
        }
        const Signs each = signs(*expr.operands[0]);
        const bool may_be_zero = !has_points || each.zero || (expr.kind == Kind::Sum && each.negative && each.positive);
        return {each.negative, may_be_zero, each.positive};
      }
      case Kind::Apply: {
        std::vector<Signs> arguments;
        for (const ScalarExprPtr& operand : expr.operands) arguments.push_back(signs(*operand));
        const FunctionRange range = range_of(functions_[expr.function], arguments);
        if (!range.defined && !function_outside_domain_) function_outside_domain_ = functions_[expr.function].name;
        return range.signs;
      }
      case Kind::Case: {
        const Signs a = signs(*expr.operands[0]), b = signs(*expr.operands[1]);
        return {a.negative || b.negative, a.zero || b.zero, a.positive || b.positive};
      }
    }
    return {};
  }

  /// Sizes are at least 1.
  static bool is_at_least_one(const IndexExpr& extent) {
    return extent.kind == IndexKind::Size || (extent.kind == IndexKind::Constant && extent.value >= 1);
  }

  const std::vector<IndexExprPtr>& dimensions(std::uint32_t tensor) const {
    const std::size_t inputs = instance_.inputs.size();
    return tensor < inputs ? instance_.inputs[tensor] : instance_.intermediates[tensor - inputs].dims;
  }

  /// Whether each index is bound by the dimension that it reads, or is 0.
  bool is_inside(const ScalarExpr& read) const {
    const std::vector<IndexExprPtr>& dims = dimensions(read.tensor);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const IndexExpr& index = *read.indices[d];
      const auto extent = index.kind == IndexKind::Index ? extents_.find(index.slot) : extents_.end();
      const bool whole = extent != extents_.end() && is_same(*extent->second, *dims[d]);
      const bool first = index.kind == IndexKind::Constant && index.value == 0 && is_at_least_one(*dims[d]);
      if (!whole && !first) return false;
    }
    return true;
  }

  const OperatorInstance& instance_;
  std::span<const Function> functions_;
  std::vector<bool> positive_;                     // by tensor: inputs, then intermediates
  std::map<std::uint32_t, IndexExprPtr> extents_;  // by index slot
  std::optional<std::string> function_outside_domain_;
};

}  // namespace

bool is_elementwise_exp(const OperatorInstance& instance, std::span<const Function> functions) {
  if (instance.inputs.size() != 1 || instance.outputs.size() != 1 || instance.size_parameter_count() > 0 ||
      !instance.conditions.empty())
    return false;
  const std::vector<IndexExprPtr>& dims = instance.inputs[0];
  const TensorDefinition& output = instance.outputs[0];
  const ScalarExpr& body = *output.body;
  if (output.dims.size() != dims.size() || body.kind != ScalarExpr::Kind::Apply) return false;
  const std::vector<Function::Instruction>& formula = functions[body.function].program;
  if (formula.size() != 2 || formula[0].op != Function::Op::Argument || formula[1].op != Function::Op::Exp ||
      body.operands.size() != 1)
    return false;
  const ScalarExpr& read = *body.operands[0];
  if (read.kind != ScalarExpr::Kind::Read || read.tensor != 0) return false;
  std::set<std::uint32_t> slots;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const IndexExpr& index = *read.indices[d];
    if (dims[d]->kind != IndexKind::Size || !slots.insert(dims[d]->slot).second ||
        !is_same(*output.dims[d], *dims[d]) || index.kind != IndexKind::Index || index.slot != d)
      return false;
  }
  return true;
}

std::vector<bool> positive_outputs(const OperatorInstance& instance, std::span<const Function> functions,
                                   const std::vector<bool>& positive_inputs) {
  SignAnalysis analysis(instance, functions, positive_inputs);
  std::vector<bool> result;
  for (const TensorDefinition& output : instance.outputs) result.push_back(analysis.is_positive(output));
  return result;
}

std::optional<std::string> find_function_outside_domain(const OperatorInstance& instance,
                                                        std::span<const Function> functions) {
  SignAnalysis analysis(instance, functions, std::vector<bool>(instance.inputs.size()));
  for (const TensorDefinition& output : instance.outputs) analysis.is_positive(output);
  return analysis.function_outside_domain();
}

bool keeps_undefined(const OperatorInstance& instance, std::span<const Function> functions, Undefined kind) {
  const auto is_strict = [&](const Function::Instruction& each) {
    if (kind == Undefined::NaN)  // arithmetic and functions of one number
      return each.op <= Function::Op::Div || is_unary(each.op);
    return each.op <= Function::Op::Mul || each.op == Function::Op::Log || each.op == Function::Op::Sqrt ||
           each.op == Function::Op::Abs;
  };
  const std::function<bool(const ScalarExpr&)> keeps = [&](const ScalarExpr& expr) {
    if (expr.kind == ScalarExpr::Kind::Max) return false;
    if (expr.kind == ScalarExpr::Kind::Apply && !std::ranges::all_of(functions[expr.function].program, is_strict))
      return false;
    return std::ranges::all_of(expr.operands, [&](const ScalarExprPtr& each) { return keeps(*each); });
  };
  const auto is_kept = [&](const TensorDefinition& tensor) {
    return tensor.scalar_kind != ScalarKind::Bool && tensor.scalar_kind != ScalarKind::Int && keeps(*tensor.body);
  };
  return std::ranges::all_of(instance.intermediates, is_kept) && std::ranges::all_of(instance.outputs, is_kept);
}

}  // namespace rulemill::algebra
