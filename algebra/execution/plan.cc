// Compiles the bodies of an instance into plans: each body is prepared once (index expressions made affine where they
// are, anything a step cannot hold hoisted into a step of its own), then unrolled over its output elements.
#include "algebra/execution/plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "algebra/execution/affine.h"
#include "algebra/sizes/checked.h"
#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

using Kind = ScalarExpr::Kind;

struct Guard {
  Relation relation;
  Offset a, b;
};

struct Loop {
  std::uint32_t slot;
  std::int64_t extent;
};

/// A prepared scalar expression: only what one step can hold.
struct Code {
  Kind kind = Kind::Constant;
  Rational value;
  std::uint16_t operand = 0;
  std::vector<Offset> offsets;
  std::vector<std::int64_t> dims;  // of the operand
  std::vector<Loop> loops;
  std::vector<Guard> guard;
  std::vector<Code> operands;
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
  Compiler(const Instance& instance, std::span<const std::vector<std::int64_t>> inputs, std::vector<std::int64_t> sizes,
           std::uint64_t most_points)
      : instance_(instance), sizes_(std::move(sizes)), indices_(instance.index_slots + 1), points_left_(most_points) {
    for (const std::vector<std::int64_t>& dims : inputs) check_size(dims);
    plan_.inputs = static_cast<std::uint32_t>(inputs.size());
    plan_.coefficients = {{1, 1}};
    operand_dims_.assign(inputs.begin(), inputs.end());
    tensor_operand_.resize(inputs.size() + instance.intermediates.size());
    for (std::uint32_t i = 0; i < inputs.size(); ++i) tensor_operand_[i] = static_cast<std::uint16_t>(i);
    extents_.resize(indices_.size());
  }

  Plan run() {
    for (const TensorDefinition& output : instance_.outputs) {
      plan_.outputs.push_back(tensor(output));
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

  std::uint16_t tensor(const TensorDefinition& definition) {
    std::vector<Loop> loops;
    for (std::uint32_t d = 0; d < definition.dims.size(); ++d)
      loops.push_back({d, evaluate(*definition.dims[d], sizes_, {})});
    return step(definition.body, loops);
  }

  std::uint16_t operand_of(std::uint32_t tensor_number) {
    std::optional<std::uint16_t>& operand = tensor_operand_[tensor_number];
    if (!operand) {
      const std::vector<std::int64_t> saved_extents = extents_, saved_indices = indices_;
      operand = tensor(instance_.intermediates[tensor_number - instance_.inputs.size()]);
      extents_ = saved_extents;
      indices_ = saved_indices;
    }
    return *operand;
  }

  // ---- preparing ----

  std::vector<Guard> guards(const std::vector<Comparison>& comparisons) const {
    std::vector<Guard> result;
    for (const Comparison& comparison : comparisons)
      result.push_back({comparison.relation, offset(comparison.a, sizes_), offset(comparison.b, sizes_)});
    return result;
  }

  /// One step for the whole body over the loops: its outermost functions, then a sum, maximum or application.
  std::uint16_t step(const ScalarExprPtr& body, const std::vector<Loop>& loops) {
    for (const Loop& loop : loops) extents_[loop.slot] = loop.extent;
    std::vector<std::int64_t> shape;
    for (const Loop& loop : loops) shape.push_back(std::max<std::int64_t>(loop.extent, 0));
    check_size(shape);
    PlanStep made;
    const ScalarExpr* root = body.get();
    while (root->kind == Kind::Apply && root->operands.size() == 1) {
      made.functions.insert(made.functions.begin(), root->function);
      root = root->operands[0].get();
    }
    Code code;
    if (root->kind == Kind::Max) {
      made.kind = PlanStep::Kind::Max;
      code.kind = Kind::Max;
      code.loops = bind(*root);
      code.guard = guards(root->guard);
      code.operands = {read_or_hoist(root->operands[0])};
    } else if (root->kind == Kind::Apply) {
      made.kind = PlanStep::Kind::Apply;
      made.functions.insert(made.functions.begin(), root->function);
      code.kind = Kind::Apply;
      for (const ScalarExprPtr& operand : root->operands) code.operands.push_back(read_or_hoist(operand));
    } else {
      code = prepare(*root);
    }
    unroll(code, loops, made);
    plan_.steps.push_back(std::move(made));
    operand_dims_.push_back(std::move(shape));
    RM_CHECK(operand_dims_.size() < PlanTerm::none, "a plan of too many steps");
    return static_cast<std::uint16_t>(operand_dims_.size() - 1);
  }

  std::vector<Loop> bind(const ScalarExpr& expr) {
    std::vector<Loop> loops;
    for (const BoundIndex& bound : expr.bound) {
      loops.push_back({bound.slot, evaluate(*bound.extent, sizes_, {})});
      extents_[bound.slot] = loops.back().extent;
    }
    return loops;
  }

  /// How many reads a product of this expression may hold.
  static std::uint32_t degree(const ScalarExpr& expr) {
    if (expr.kind == Kind::Constant || expr.kind == Kind::InverseSize) return 0;
    if (expr.kind == Kind::Read || expr.kind == Kind::Apply || expr.kind == Kind::Max) return 1;
    std::uint32_t result = 0;
    for (const ScalarExprPtr& operand : expr.operands) {
      result = expr.kind == Kind::Mul ? result + degree(*operand) : std::max(result, degree(*operand));
    }
    return result;
  }

  Code prepare(const ScalarExpr& expr) {
    Code code;
    code.kind = expr.kind;
    switch (expr.kind) {
      case Kind::Constant:
        code.value = expr.value;
        return code;
      case Kind::InverseSize:
        code.offsets = {offset(expr.indices[0], sizes_)};
        return code;
      case Kind::Read:
        code.operand = operand_of(expr.tensor);
        code.dims = operand_dims_[code.operand];
        for (const IndexExprPtr& index : expr.indices) code.offsets.push_back(offset(index, sizes_));
        return code;
      case Kind::Apply:
      case Kind::Max:
        return hoist(std::make_shared<ScalarExpr>(expr));
      case Kind::Sum:
        code.loops = bind(expr);
        break;
      case Kind::Case:
        code.guard = guards(expr.guard);
        break;
      default:
        break;
    }
    const bool too_many = expr.kind == Kind::Mul && degree(expr) > 2;
    for (const ScalarExprPtr& operand : expr.operands) {
      code.operands.push_back(too_many && degree(*operand) > 1 ? hoist(operand) : prepare(*operand));
    }
    if (too_many && code.operands.size() > 2)
      throw runtime::Error("", instance_.name + ": a product of more than two tensors");
    return code;
  }

  Code read_or_hoist(const ScalarExprPtr& expr) { return expr->kind == Kind::Read ? prepare(*expr) : hoist(expr); }

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

  /// A step of its own over the indices that the expression uses, and a read of it.
  Code hoist(const ScalarExprPtr& expr) {
    std::vector<std::uint32_t> slots;
    free_indices(*expr, slots);
    std::ranges::sort(slots);
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    std::vector<Loop> loops;
    Code code;
    code.kind = Kind::Read;
    for (std::uint32_t slot : slots) {
      loops.push_back({slot, extents_[slot]});
      code.dims.push_back(extents_[slot]);
      Offset same;
      same.linear = {{slot, 1}};
      code.offsets.push_back(std::move(same));
    }
    code.operand = step(expr, loops);
    return code;
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

  bool hold(const std::vector<Guard>& guards) const {
    return std::ranges::all_of(guards, [&](const Guard& guard) {
      return holds(guard.relation, guard.a.at(sizes_, indices_), guard.b.at(sizes_, indices_));
    });
  }

  std::optional<Factor> read(const Code& code) const {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < code.dims.size(); ++d) {
      const std::int64_t index = code.offsets[d].at(sizes_, indices_);
      if (index < 0 || index >= code.dims[d]) return std::nullopt;
      element = element * code.dims[d] + index;
    }
    return Factor{code.operand, static_cast<std::uint32_t>(element)};
  }

  void lower(const Code& code, std::vector<Product>& out) {
    switch (code.kind) {
      case Kind::Constant:
        if (code.value.num != 0) out.push_back({code.value, {}, 0});
        return;
      case Kind::InverseSize:
        out.push_back({make_rational(1, code.offsets[0].at(sizes_, indices_)), {}, 0});
        return;
      case Kind::Read:
        if (const std::optional<Factor> factor = read(code)) out.push_back({{1, 1}, {*factor}, 1});
        return;
      case Kind::Add:
        for (const Code& operand : code.operands) lower(operand, out);
        return;
      case Kind::Sum:
        return each_point(code.loops, [&] { lower(code.operands[0], out); });
      case Kind::Case:
        return lower(code.operands[hold(code.guard) ? 0 : 1], out);
      case Kind::Mul:
        return multiply(code, out);
      default:
        throw runtime::Error("", "an expression that no step can hold");
    }
  }

  void multiply(const Code& code, std::vector<Product>& out) {
    const Code &a = code.operands[0], &b = code.operands[1];
    if (code.operands.size() == 2 && a.kind == Kind::Read && b.kind == Kind::Read) {
      const std::optional<Factor> left = read(a);
      const std::optional<Factor> right = left ? read(b) : std::nullopt;
      if (right) out.push_back({{1, 1}, {*left, *right}, 2});
      return;
    }
    std::vector<Product> partial(1);
    for (const Code& operand : code.operands) {
      std::vector<Product> terms, next;
      lower(operand, terms);
      for (const Product& p : partial) {
        for (const Product& q : terms) {
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

  PlanTerm term(const Product& product) {
    PlanTerm result;
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

  /// An entry of a maximum's or application's row: a read, or the constant 0 outside the tensor.
  PlanTerm entry(const Code& code) {
    const std::optional<Factor> factor = read(code);
    return factor ? term({{1, 1}, {*factor}, 1}) : term({{0, 1}, {}, 0});
  }

  void unroll(const Code& code, const std::vector<Loop>& loops, PlanStep& made) {
    std::vector<Product> row;
    made.rows.push_back(0);
    each_point(loops, [&] {
      if (code.kind == Kind::Max) {
        each_point(code.loops, [&] {
          if (hold(code.guard)) made.terms.push_back(entry(code.operands[0]));
        });
      } else if (code.kind == Kind::Apply) {
        for (const Code& operand : code.operands) made.terms.push_back(entry(operand));
      } else {
        row.clear();
        lower(code, row);
        for (const Product& product : row) made.terms.push_back(term(product));
      }
      made.rows.push_back(static_cast<std::uint32_t>(made.terms.size()));
    });
  }

  const Instance& instance_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> indices_, extents_;  // by index slot
  std::vector<std::vector<std::int64_t>> operand_dims_;
  std::vector<std::optional<std::uint16_t>> tensor_operand_;
  std::uint64_t points_left_;
  Plan plan_;
};

}  // namespace

std::uint64_t Plan::products() const {
  std::uint64_t count = 0;
  for (const PlanStep& step : steps) count += step.terms.size();
  return count;
}

std::optional<Plan> compile(const Instance& instance, std::span<const std::vector<std::int64_t>> inputs,
                            std::span<const std::int64_t> size_parameters, std::uint64_t most_points) {
  std::vector<std::int64_t> sizes;
  if (!infer(instance, inputs, size_parameters, &sizes)) return std::nullopt;
  return Compiler(instance, inputs, std::move(sizes), most_points).run();
}

std::vector<std::vector<double>> evaluate(std::span<const Function> functions, const Plan& plan,
                                          std::span<const std::span<const double>> inputs) {
  return evaluate(functions, plan, inputs, [](const Function& function, std::span<const double> arguments) {
    return evaluate(function, arguments);
  });
}

std::vector<std::vector<double>> evaluate(std::span<const Function> functions, const Plan& plan,
                                          std::span<const std::span<const double>> inputs,
                                          const ScalarEvaluation& scalar) {
  std::vector<std::vector<double>> made;
  std::vector<double> coefficients;
  for (const Rational& value : plan.coefficients)
    coefficients.push_back(static_cast<double>(value.num) / static_cast<double>(value.den));
  std::vector<std::span<const double>> operands(inputs.begin(), inputs.end());
  made.reserve(plan.steps.size());
  for (const PlanStep& step : plan.steps) {
    std::vector<double>& result = made.emplace_back(step.elements());
    for (std::uint32_t e = 0; e < step.elements(); ++e) {
      double value = 0;
      const std::span<const PlanTerm> row(step.terms.data() + step.rows[e], step.rows[e + 1] - step.rows[e]);
      auto product = [&](const PlanTerm& term) {
        double factor = coefficients[term.coefficient];
        if (term.left != PlanTerm::none) factor *= operands[term.left][term.left_element];
        if (term.right != PlanTerm::none) factor *= operands[term.right][term.right_element];
        return factor;
      };
      std::size_t first_function = 0;
      if (step.kind == PlanStep::Kind::Sum) {
        for (const PlanTerm& term : row) value += product(term);
      } else if (step.kind == PlanStep::Kind::Max) {
        for (std::size_t i = 0; i < row.size(); ++i) {
          const double next = product(row[i]);
          if (i == 0 || next > value || std::isnan(next)) value = next;
        }
      } else {
        std::array<double, 8> arguments{};
        RM_CHECK(row.size() <= arguments.size(), "a scalar function of too many arguments");
        for (std::size_t i = 0; i < row.size(); ++i) arguments[i] = product(row[i]);
        value = scalar(functions[step.functions[0]], std::span<const double>(arguments.data(), row.size()));
        first_function = 1;
      }
      for (std::size_t f = first_function; f < step.functions.size(); ++f) {
        value = scalar(functions[step.functions[f]], std::span<const double>(&value, 1));
      }
      result[e] = value;
    }
    operands.push_back(result);
  }
  std::vector<std::vector<double>> outputs;
  for (std::uint32_t operand : plan.outputs) {
    outputs.emplace_back(operands[operand].begin(), operands[operand].end());
  }
  return outputs;
}

}  // namespace rulemill::algebra
