// Runs definitions as loops. A sum of products of two reads whose indices are linear in the bound indices (matrix
// products, convolutions, pooling) becomes strided loops over the points inside both tensors. The rest is interpreted.
#include "algebra/execution/reference.h"

#include <algorithm>
#include <array>
#include <limits>

#include "algebra/execution/affine.h"
#include "algebra/execution/strided_sum.h"
#include "algebra/operators/function_evaluation.h"
#include "algebra/sizes/checked.h"
#include "runtime/mpi/thread_pool.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using ExprKind = ScalarExpr::Kind;
using View = TensorView;

/// The type in which functions are evaluated, and results are stored.
template <class Real>
using ResultOf = std::conditional_t<std::is_same_v<Real, Tracked>, Tracked, double>;

/// One scalar expression at fixed sizes, with index expressions compiled once; all arithmetic is in Real.
template <class Real>
class Interpreter {
 public:
  Interpreter(std::span<const Function> functions, const ScalarExpr& expr, std::span<const std::int64_t> sizes,
              std::span<const View> tensors)
      : functions_(functions), expr_(expr), sizes_(sizes), tensors_(tensors) {
    for (const IndexExprPtr& index : expr.indices) offsets_.push_back(make_affine(index, sizes));
    for (const BoundIndex& bound : expr.bound) extents_.push_back(evaluate(*bound.extent, sizes, {}));
    for (const Comparison& guard : expr.guard)
      guards_.push_back({make_affine(guard.a, sizes), make_affine(guard.b, sizes)});
    for (const ScalarExprPtr& operand : expr.operands) operands_.emplace_back(functions, *operand, sizes, tensors);
  }

  /// The value of a sum or product whose operand `operand` has a known value.
  Real value_with(std::size_t operand, Real known, std::span<std::int64_t> indices) const {
    Real result = expr_.kind == ExprKind::Add ? 0 : 1;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Real each = i == operand ? known : operands_[i].value(indices);
      result = expr_.kind == ExprKind::Add ? result + each : result * each;
    }
    return result;
  }

  Real value(std::span<std::int64_t> indices) const {
    switch (expr_.kind) {
      case ExprKind::Constant:
        return rounded_number(
            static_cast<Real>(static_cast<double>(expr_.value.num) / static_cast<double>(expr_.value.den)));
      case ExprKind::InverseSize:
        return rounded_number(Real(1 / static_cast<Elementary>(offsets_[0].at(sizes_, indices))));
      case ExprKind::Read:
        return read(indices);
      case ExprKind::Add:
      case ExprKind::Mul:
        return value_with(operands_.size(), Real{0}, indices);
      case ExprKind::Sum: {
        typename Accumulator<Real>::Type sum{};
        each_point(0, indices, [&] { sum += operands_[0].value(indices); });
        return sum;
      }
      case ExprKind::Max: {
        std::optional<Real> best;
        each_point(0, indices, [&] {
          if (guards_hold(indices))
            best = larger(best.value_or(-std::numeric_limits<double>::infinity()), operands_[0].value(indices));
        });
        return best.value_or(Real{0});
      }
      case ExprKind::Apply: {
        std::array<Result, 8> arguments{};
        for (std::size_t i = 0; i < operands_.size(); ++i) arguments.at(i) = operands_[i].value(indices);
        const std::span<const Result> given(arguments.data(), operands_.size());
        return static_cast<Real>(evaluate(functions_[expr_.function], given));
      }
      default:
        return operands_[guards_hold(indices) ? 0 : 1].value(indices);
    }
  }

 private:
  using Result = ResultOf<Real>;

  using Elementary = std::conditional_t<std::is_same_v<Real, float>, float, double>;

  static Real rounded_number(Real number) {
    if constexpr (std::is_same_v<Real, Tracked>)
      number.error = number.value == std::floor(number.value) ? 0 : std::abs(number.value);
    return number;
  }

  Real read(std::span<std::int64_t> indices) const {
    const View& tensor = tensors_[expr_.tensor];
    std::int64_t element = 0;
    for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
      const std::int64_t index = offsets_[d].at(sizes_, indices);
      if (index < 0 || index >= tensor.dims[d]) return Real{0};
      element = element * tensor.dims[d] + index;
    }
    return element_at<Real>(tensor.values.data(), tensor.errors.data(), element);
  }

  bool guards_hold(std::span<std::int64_t> indices) const {
    for (std::size_t i = 0; i < guards_.size(); ++i) {
      if (!holds(expr_.guard[i].relation, guards_[i].first.at(sizes_, indices), guards_[i].second.at(sizes_, indices)))
        return false;
    }
    return true;
  }

  template <class Body>
  void each_point(std::size_t level, std::span<std::int64_t> indices, const Body& body) const {
    if (level == extents_.size()) return body();
    for (std::int64_t i = 0; i < extents_[level]; ++i) {
      indices[expr_.bound[level].slot] = i;
      each_point(level + 1, indices, body);
    }
  }

  std::span<const Function> functions_;
  const ScalarExpr& expr_;
  std::span<const std::int64_t> sizes_;
  std::span<const View> tensors_;
  std::vector<AffineIndex> offsets_;
  std::vector<std::int64_t> extents_;
  std::vector<std::pair<AffineIndex, AffineIndex>> guards_;
  std::vector<Interpreter> operands_;
};

constexpr std::int64_t elements_at_a_time = 64;

Tensor to_tensor(std::vector<std::int64_t> dims, std::vector<double> values) {
  return {std::move(dims), std::move(values)};
}

Tensor to_tensor(std::vector<std::int64_t> dims, const std::vector<Tracked>& results) {
  Tensor tensor{std::move(dims), {}};
  for (const Tracked& result : results) {
    tensor.values.push_back(result.value);
    tensor.errors.push_back(result.error);
  }
  return tensor;
}

/// Computes one tensor; the elements of a large one are distributed over the cores.
template <class Real>
Tensor compute_tensor(std::span<const Function> functions, const OperatorInstance& instance,
                      const TensorDefinition& definition, std::span<const std::int64_t> sizes,
                      std::span<const View> tensors) {
  using Result = ResultOf<Real>;
  std::vector<std::int64_t> dims;
  for (const IndexExprPtr& dim : definition.dims) dims.push_back(std::max<std::int64_t>(evaluate(*dim, sizes, {}), 0));
  const std::int64_t elements = element_count(dims);
  std::vector<Result> result(static_cast<std::size_t>(elements));
  std::vector<std::uint32_t> outer_functions;  // outermost last
  const ScalarExpr* root = definition.body.get();
  while (root->kind == ExprKind::Apply && root->operands.size() == 1) {
    outer_functions.insert(outer_functions.begin(), root->function);
    root = root->operands[0].get();
  }
  const std::uint32_t row_slot = dims.empty() ? 0 : static_cast<std::uint32_t>(dims.size() - 1);
  auto strided = StridedSum<Real>::make(*root, row_slot, sizes, tensors);
  std::size_t strided_operand = root->operands.size();  // of a sum or a product, such as a convolution with a bias
  if (root->kind == ExprKind::Add || root->kind == ExprKind::Mul) {
    for (std::size_t i = 0; i < root->operands.size() && !strided; ++i) {
      strided = StridedSum<Real>::make(*root->operands[i], row_slot, sizes, tensors);
      if (strided) strided_operand = i;
    }
  }
  const Interpreter<Real> interpreter(functions, *root, sizes, tensors);
  const auto set_indices = [&](std::int64_t element, std::vector<std::int64_t>& indices) {
    for (std::size_t d = dims.size(); d-- > 0; element /= dims[d]) indices[d] = element % dims[d];
  };
  const auto compute_range = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> indices(instance.index_slots + dims.size() + 1);
    std::vector<typename StridedSum<Real>::Box> boxes;  // of elements that are not summed yet
    const std::int64_t row = dims.empty() ? 1 : dims.back();
    for (std::int64_t element = begin, count = 1; element < end; element += count) {
      set_indices(element, indices);
      Result* const value = &result[static_cast<std::size_t>(element)];
      if (!strided) {
        *value = interpreter.value(indices);
        continue;
      }
      count = std::min({row - element % row, end - element, elements_at_a_time});
      strided->add_row(indices, count, boxes);
      if (std::ssize(boxes) < elements_at_a_time && element + count < end) continue;
      strided->values(boxes, value + count - std::ssize(boxes));
      boxes.clear();
    }
    const bool is_operand = strided && strided_operand < root->operands.size();
    for (std::int64_t element = begin; element < end && (is_operand || !outer_functions.empty()); ++element) {
      Result& value = result[static_cast<std::size_t>(element)];
      if (is_operand) {
        set_indices(element, indices);
        value = interpreter.value_with(strided_operand, static_cast<Real>(value), indices);
      }
      for (std::uint32_t function : outer_functions)
        value = evaluate(functions[function], std::span<const Result>(&value, 1));
    }
  };
  const runtime::ThreadPool pool(elements < 4096 ? 1 : std::min(runtime::available_cores(), 64U));
  const std::int64_t chunks = pool.threads();
  pool.run(pool.threads(), [&](std::size_t w, unsigned) {
    const auto chunk = static_cast<std::int64_t>(w);
    compute_range(elements * chunk / chunks, elements * (chunk + 1) / chunks);
  });
  return to_tensor(std::move(dims), std::move(result));
}

}  // namespace

std::optional<std::vector<Tensor>> run_reference(std::span<const Function> functions, const OperatorInstance& instance,
                                                 std::span<const Tensor* const> inputs,
                                                 std::span<const std::int64_t> size_parameters, Arithmetic arithmetic) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Tensor* input : inputs) shapes.push_back(input->shape);
  std::vector<std::int64_t> sizes;
  if (!infer(instance, shapes, size_parameters, &sizes)) return std::nullopt;
  std::vector<View> tensors;
  for (const Tensor* input : inputs) {
    RM_CHECK(static_cast<std::int64_t>(input->values.size()) == element_count(input->shape),
             "a tensor's values do not fill its shape");
    tensors.push_back({input->values, input->shape, input->errors});
  }
  const auto compute = arithmetic == Arithmetic::Float32   ? compute_tensor<float>
                       : arithmetic == Arithmetic::Tracked ? compute_tensor<Tracked>
                                                           : compute_tensor<double>;
  std::vector<Tensor> intermediates, outputs;
  intermediates.reserve(instance.intermediates.size());
  for (const TensorDefinition& intermediate : instance.intermediates) {
    const Tensor& tensor = intermediates.emplace_back(compute(functions, instance, intermediate, sizes, tensors));
    tensors.push_back({tensor.values, tensor.shape, tensor.errors});
  }
  for (const TensorDefinition& output : instance.outputs)
    outputs.push_back(compute(functions, instance, output, sizes, tensors));
  return outputs;
}

}  // namespace rulemill::algebra
