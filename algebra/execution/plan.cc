// Compiles the bodies of an operator instance into plan steps. A body is lowered once: index expressions become affine,
// and subexpressions that a step cannot contain are hoisted into steps of their own. Then it is unrolled over its
// output elements.
#include "algebra/execution/plan.h"

#include <algorithm>
#include <array>

#include "algebra/execution/affine.h"
#include "algebra/sizes/checked.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using ExprKind = ScalarExpr::Kind;

struct Guard {
  Relation relation;
  AffineIndex a, b;
};

struct Loop {
  std::uint32_t slot;
  std::int64_t extent;
};

/// A lowered scalar expression, restricted to what one step can contain.
struct LoweredExpr {
  ExprKind kind = ExprKind::Constant;
  Rational value;
  std::uint16_t operand = 0;
  std::vector<AffineIndex> offsets;
  std::vector<std::int64_t> dims;  // of the operand
  std::vector<Loop> loops;
  std::vector<Guard> guard;
  std::vector<LoweredExpr> operands;
};

struct Factor {
  std::uint16_t operand;
  std::uint32_t element;
};

struct Product {
  Rational coefficient{1, 1};
  std::array<Factor, 2> factors{};
  std::uint8_t count = 0;
};

class Compiler {
 public:
  Compiler(const OperatorInstance& instance, std::span<const std::vector<std::int64_t>> inputs,
           std::vector<std::int64_t> sizes, std::uint64_t max_points)
      : instance_(instance), sizes_(std::move(sizes)), indices_(instance.index_slots + 1), points_left_(max_points) {
    for (const std::vector<std::int64_t>& dims : inputs) check_size(dims);
    plan_.inputs = static_cast<std::uint32_t>(inputs.size());
    plan_.coefficients = {{1, 1}};
    operand_dims_.assign(inputs.begin(), inputs.end());
    tensor_operand_.resize(inputs.size() + instance.intermediates.size());
    for (std::uint32_t i = 0; i < inputs.size(); ++i) tensor_operand_[i] = static_cast<std::uint16_t>(i);
    extents_.resize(indices_.size());
  }

  EvaluationPlan run() {
    for (const TensorDefinition& output : instance_.outputs) {
      plan_.outputs.push_back(append_tensor(output));
      plan_.output_shapes.push_back(operand_dims_[plan_.outputs.back()]);
    }
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail_too_large() const {
    throw Overflow(instance_.name + ": its plan is too large for these shapes");
  }

  void check_size(std::span<const std::int64_t> dims) const {
    if (element_count(dims) >= std::int64_t{1} << 32) fail_too_large();
  }

  std::uint16_t append_tensor(const TensorDefinition& definition) {
    std::vector<Loop> loops;
    for (std::uint32_t d = 0; d < definition.dims.size(); ++d)
      loops.push_back({d, evaluate(*definition.dims[d], sizes_, {})});
    return append_step(definition.body, loops);
  }

  std::uint16_t tensor_operand(std::uint32_t tensor_number) {
    std::optional<std::uint16_t>& operand = tensor_operand_[tensor_number];
    if (!operand) {
      const std::vector<std::int64_t> saved_extents = extents_, saved_indices = indices_;
      operand = append_tensor(instance_.intermediates[tensor_number - instance_.inputs.size()]);
      extents_ = saved_extents;
      indices_ = saved_indices;
    }
    return *operand;
  }

  // ---- lowering ----

  std::vector<Guard> guards(const std::vector<Comparison>& comparisons) const {
    std::vector<Guard> result;
    for (const Comparison& comparison : comparisons)
      result.push_back({comparison.relation, make_affine(comparison.a, sizes_), make_affine(comparison.b, sizes_)});
    return result;
  }

  /// Appends one step for the body over the loops: the outermost functions of a sum, maximum or application.
  std::uint16_t append_step(const ScalarExprPtr& body, const std::vector<Loop>& loops) {
    for (const Loop& loop : loops) extents_[loop.slot] = loop.extent;
    std::vector<std::int64_t> shape;
    for (const Loop& loop : loops) shape.push_back(std::max<std::int64_t>(loop.extent, 0));
    check_size(shape);
    PlanStep step;
    const ScalarExpr* root = body.get();
    while (root->kind == ExprKind::Apply && root->operands.size() == 1) {
      step.functions.insert(step.functions.begin(), root->function);
      root = root->operands[0].get();
    }
    LoweredExpr lowered;
    if (root->kind == ExprKind::Max) {
      step.kind = PlanStep::Kind::Max;
      lowered.kind = ExprKind::Max;
      lowered.loops = bind_indices(*root);
      lowered.guard = guards(root->guard);
      lowered.operands = {read_or_hoist(root->operands[0])};
    } else if (root->kind == ExprKind::Apply) {
      step.kind = PlanStep::Kind::Apply;
      step.functions.insert(step.functions.begin(), root->function);
      lowered.kind = ExprKind::Apply;
      for (const ScalarExprPtr& operand : root->operands) lowered.operands.push_back(read_or_hoist(operand));
    } else {
      lowered = lower(*root);
    }
    unroll(lowered, loops, step);
    plan_.steps.push_back(std::move(step));
    operand_dims_.push_back(std::move(shape));
    RM_CHECK(operand_dims_.size() < PlanProduct::none, "a plan of too many steps");
    return static_cast<std::uint16_t>(operand_dims_.size() - 1);
  }

  std::vector<Loop> bind_indices(const ScalarExpr& expr) {
    std::vector<Loop> loops;
    for (const BoundIndex& bound : expr.bound) {
      loops.push_back({bound.slot, evaluate(*bound.extent, sizes_, {})});
      extents_[bound.slot] = loops.back().extent;
    }
    return loops;
  }

  /// The maximum number of reads in a product of this expression.
  static std::uint32_t max_reads(const ScalarExpr& expr) {
    if (expr.kind == ExprKind::Constant || expr.kind == ExprKind::InverseSize) return 0;
    if (expr.kind == ExprKind::Read || expr.kind == ExprKind::Apply || expr.kind == ExprKind::Max) return 1;
    std::uint32_t result = 0;
    for (const ScalarExprPtr& operand : expr.operands)
      result = expr.kind == ExprKind::Mul ? result + max_reads(*operand) : std::max(result, max_reads(*operand));
    return result;
  }

  LoweredExpr lower(const ScalarExpr& expr) {
    LoweredExpr lowered;
    lowered.kind = expr.kind;
    switch (expr.kind) {
      case ExprKind::Constant:
        lowered.value = expr.value;
        return lowered;
      case ExprKind::InverseSize:
        lowered.offsets = {make_affine(expr.indices[0], sizes_)};
        return lowered;
      case ExprKind::Read:
        lowered.operand = tensor_operand(expr.tensor);
        lowered.dims = operand_dims_[lowered.operand];
        for (const IndexExprPtr& index : expr.indices) lowered.offsets.push_back(make_affine(index, sizes_));
        return lowered;
      case ExprKind::Apply:
      case ExprKind::Max:
        return hoist(std::make_shared<ScalarExpr>(expr));
      case ExprKind::Sum:
        lowered.loops = bind_indices(expr);
        break;
      case ExprKind::Case:
        lowered.guard = guards(expr.guard);
        break;
      default:
        break;
    }
    const bool has_too_many_reads = expr.kind == ExprKind::Mul && max_reads(expr) > 2;
    for (const ScalarExprPtr& operand : expr.operands)
      lowered.operands.push_back(has_too_many_reads && max_reads(*operand) > 1 ? hoist(operand) : lower(*operand));
    if (has_too_many_reads && lowered.operands.size() > 2)
      throw runtime::Error("", instance_.name + ": a product of more than two tensors");
    return lowered;
  }

  LoweredExpr read_or_hoist(const ScalarExprPtr& expr) {
    return expr->kind == ExprKind::Read ? lower(*expr) : hoist(expr);
  }

  static void free_indices(const IndexExpr& expr, std::vector<std::uint32_t>& slots) {
    if (expr.kind == IndexExpr::Kind::Index) slots.push_back(expr.slot);
    if (expr.a) {
      free_indices(*expr.a, slots);
      free_indices(*expr.b, slots);
    }
  }

  static void free_indices(const ScalarExpr& expr, std::vector<std::uint32_t>& slots) {
    std::vector<std::uint32_t> inner;
    for (const IndexExprPtr& index : expr.indices) free_indices(*index, inner);
    for (const Comparison& guard : expr.guard) {
      free_indices(*guard.a, inner);
      free_indices(*guard.b, inner);
    }
    for (const ScalarExprPtr& operand : expr.operands) free_indices(*operand, inner);
    for (std::uint32_t slot : inner) {
      if (std::ranges::find(expr.bound, slot, &BoundIndex::slot) == expr.bound.end()) slots.push_back(slot);
    }
  }

  /// Appends a step for the expression over the indices that it uses, and returns a read of its tensor.
  LoweredExpr hoist(const ScalarExprPtr& expr) {
    std::vector<std::uint32_t> slots;
    free_indices(*expr, slots);
    std::ranges::sort(slots);
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    std::vector<Loop> loops;
    LoweredExpr lowered;
    lowered.kind = ExprKind::Read;
    for (std::uint32_t slot : slots) {
      loops.push_back({slot, extents_[slot]});
      lowered.dims.push_back(extents_[slot]);
      AffineIndex index;
      index.terms = {{slot, 1}};
      lowered.offsets.push_back(std::move(index));
    }
    lowered.operand = append_step(expr, loops);
    return lowered;
  }

  // ---- unrolling ----

  template <class Body>
  void each_point(std::span<const Loop> loops, const Body& body) {
    if (loops.empty()) return body();
    for (std::int64_t i = 0; i < loops[0].extent; ++i) {
      if (points_left_-- == 0) fail_too_large();
      indices_[loops[0].slot] = i;
      each_point(loops.subspan(1), body);
    }
  }

  bool all_hold(const std::vector<Guard>& guards) const {
    return std::ranges::all_of(guards, [&](const Guard& guard) {
      return holds(guard.relation, guard.a.at(sizes_, indices_), guard.b.at(sizes_, indices_));
    });
  }

  std::optional<Factor> read(const LoweredExpr& lowered) const {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < lowered.dims.size(); ++d) {
      const std::int64_t index = lowered.offsets[d].at(sizes_, indices_);
      if (index < 0 || index >= lowered.dims[d]) return std::nullopt;
      element = element * lowered.dims[d] + index;
    }
    return Factor{lowered.operand, static_cast<std::uint32_t>(element)};
  }

  void multiply_out(const LoweredExpr& lowered, std::vector<Product>& out) {
    switch (lowered.kind) {
      case ExprKind::Constant:
        if (lowered.value.num != 0) out.push_back({lowered.value, {}, 0});
        return;
      case ExprKind::InverseSize:
        out.push_back({make_rational(1, lowered.offsets[0].at(sizes_, indices_)), {}, 0});
        return;
      case ExprKind::Read:
        if (const std::optional<Factor> factor = read(lowered)) out.push_back({{1, 1}, {*factor}, 1});
        return;
      case ExprKind::Add:
        for (const LoweredExpr& operand : lowered.operands) multiply_out(operand, out);
        return;
      case ExprKind::Sum:
        return each_point(lowered.loops, [&] { multiply_out(lowered.operands[0], out); });
      case ExprKind::Case:
        return multiply_out(lowered.operands[all_hold(lowered.guard) ? 0 : 1], out);
      case ExprKind::Mul:
        return multiply(lowered, out);
      default:
        throw runtime::Error("", "an expression that no step can contain");
    }
  }

  void multiply(const LoweredExpr& lowered, std::vector<Product>& out) {
    const LoweredExpr &a = lowered.operands[0], &b = lowered.operands[1];
    if (lowered.operands.size() == 2 && a.kind == ExprKind::Read && b.kind == ExprKind::Read) {
      const std::optional<Factor> left = read(a);
      const std::optional<Factor> right = left ? read(b) : std::nullopt;
      if (right) out.push_back({{1, 1}, {*left, *right}, 2});
      return;
    }
    std::vector<Product> partial(1);
    for (const LoweredExpr& operand : lowered.operands) {
      std::vector<Product> products, next;
      multiply_out(operand, products);
      for (const Product& p : partial) {
        for (const Product& q : products) {
          Product product = p;
          product.coefficient = p.coefficient * q.coefficient;
          for (std::uint8_t i = 0; i < q.count; ++i) product.factors.at(product.count++) = q.factors[i];
          if (points_left_-- == 0) fail_too_large();
          next.push_back(product);
        }
      }
      partial = std::move(next);
    }
    out.insert(out.end(), partial.begin(), partial.end());
  }

  std::uint32_t coefficient(Rational value) {
    const auto found = std::ranges::find(plan_.coefficients, value);
    if (found != plan_.coefficients.end()) return static_cast<std::uint32_t>(found - plan_.coefficients.begin());
    plan_.coefficients.push_back(value);
    return static_cast<std::uint32_t>(plan_.coefficients.size() - 1);
  }

  PlanProduct plan_product(const Product& product) {
    PlanProduct result;
    result.coefficient = coefficient(product.coefficient);
    if (product.count > 0) {
      result.left = product.factors[0].operand;
      result.left_element = product.factors[0].element;
    }
    if (product.count > 1) {
      result.right = product.factors[1].operand;
      result.right_element = product.factors[1].element;
    }
    return result;
  }

  /// An operand of a maximum or application: a read, or the constant 0 outside the tensor.
  PlanProduct operand_element(const LoweredExpr& lowered) {
    const std::optional<Factor> factor = read(lowered);
    return factor ? plan_product({{1, 1}, {*factor}, 1}) : plan_product({{0, 1}, {}, 0});
  }

  void unroll(const LoweredExpr& lowered, const std::vector<Loop>& loops, PlanStep& step) {
    std::vector<Product> row;
    step.rows.push_back(0);
    each_point(loops, [&] {
      if (lowered.kind == ExprKind::Max) {
        each_point(lowered.loops, [&] {
          if (all_hold(lowered.guard)) step.products.push_back(operand_element(lowered.operands[0]));
        });
      } else if (lowered.kind == ExprKind::Apply) {
        for (const LoweredExpr& operand : lowered.operands) step.products.push_back(operand_element(operand));
      } else {
        row.clear();
        multiply_out(lowered, row);
        for (const Product& product : row) step.products.push_back(plan_product(product));
      }
      step.rows.push_back(static_cast<std::uint32_t>(step.products.size()));
    });
  }

  const OperatorInstance& instance_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> indices_, extents_;  // by index slot
  std::vector<std::vector<std::int64_t>> operand_dims_;
  std::vector<std::optional<std::uint16_t>> tensor_operand_;
  std::uint64_t points_left_;
  EvaluationPlan plan_;
};

}  // namespace

std::uint64_t EvaluationPlan::multiply_add_count() const {
  std::uint64_t count = 0;
  for (const PlanStep& step : steps) count += step.products.size();
  return count;
}

std::optional<EvaluationPlan> compile(const OperatorInstance& instance,
                                      std::span<const std::vector<std::int64_t>> inputs,
                                      std::span<const std::int64_t> size_parameters, std::uint64_t max_points) {
  std::vector<std::int64_t> sizes;
  if (!infer(instance, inputs, size_parameters, &sizes)) return std::nullopt;
  return Compiler(instance, inputs, std::move(sizes), max_points).run();
}

}  // namespace rulemill::algebra
