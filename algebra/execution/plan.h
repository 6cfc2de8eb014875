// The evaluation plan of an operator instance at concrete shapes: data that the executors of all domains (field, reals)
// and devices run. Each step of a plan writes one tensor; an element is a function of a sum (or maximum) of products.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algebra/operators/enclosure.h"
#include "algebra/operators/function.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

/// A product of up to two elements. Operands number the instance's inputs first, then the tensors of earlier steps.
struct PlanProduct {
  static constexpr std::uint16_t none = 0xffff;
  std::uint16_t left = none;       // operand; none: the product is the coefficient
  std::uint16_t right = none;      // operand; none: left element · coefficient
  std::uint32_t left_element = 0;  // row-major offset
  std::uint32_t right_element = 0;
  std::uint32_t coefficient = 0;  // index into EvaluationPlan::coefficients
};

struct PlanStep {
  enum class Kind : std::uint8_t {
    Sum,    // element = Σ coefficient · left · right over its row
    Max,    // element = max of its row; an empty row gives 0
    Apply,  // element = functions[0](row[0], row[1], …): each entry coefficient · left
  };
  Kind kind = Kind::Sum;
  std::vector<std::uint32_t> functions;  // unary functions applied in order to the result (Apply: after the first)
  std::vector<std::uint32_t> rows;       // CSR offsets into terms, one more than elements
  std::vector<PlanProduct> products;
  std::uint32_t elements() const { return static_cast<std::uint32_t>(rows.size()) - 1; }
};

struct EvaluationPlan {
  std::vector<Rational> coefficients;  // coefficients[0] is 1
  std::vector<PlanStep> steps;
  std::uint32_t inputs = 0;
  std::vector<std::uint32_t> outputs;  // operand number of each output
  std::vector<std::vector<std::int64_t>> output_shapes;
  std::uint64_t multiply_add_count() const;  // of one evaluation
};

/// Compiles the plan; nullopt if the shapes are ill-typed. `size_parameters` are in slot order. Throws Overflow if the
/// loops visit more than `max_points` points or an operand has 2^32 elements or more.
std::optional<EvaluationPlan> compile(const OperatorInstance& instance,
                                      std::span<const std::vector<std::int64_t>> inputs,
                                      std::span<const std::int64_t> size_parameters,
                                      std::uint64_t max_points = 1ULL << 28);

/// Evaluates the plan. One row-major vector per tensor; `functions` are the library's.
std::vector<std::vector<double>> evaluate(std::span<const Function> functions, const EvaluationPlan& plan,
                                          std::span<const std::span<const double>> inputs);
/// The same with bounds of the real numbers. Sets `doubtful` where a function may be undefined (evaluate_strictly).
std::vector<std::vector<Enclosure>> evaluate(std::span<const Function> functions, const EvaluationPlan& plan,
                                             std::span<const std::span<const Enclosure>> inputs, bool& doubtful);

}  // namespace rulemill::algebra
