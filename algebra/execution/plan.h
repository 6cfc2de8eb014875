// The evaluation plan of an instance at concrete shapes: data for one executor, on any domain (field, reals) and
// device. A plan is a few steps; each writes one tensor whose every element is a function of a sum (or maximum) of
// products.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"

namespace rulemill::algebra {

/// Operand tensors are numbered: the instance's inputs first, then the tensors of earlier steps.
struct PlanTerm {
  static constexpr std::uint16_t none = 0xffff;
  std::uint16_t left = none;       // operand; none: the product is the coefficient alone
  std::uint16_t right = none;      // operand; none: left element · coefficient
  std::uint32_t left_element = 0;  // row-major offset
  std::uint32_t right_element = 0;
  std::uint32_t coefficient = 0;  // index into Plan::coefficients
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
  std::vector<PlanTerm> terms;
  std::uint32_t elements() const { return static_cast<std::uint32_t>(rows.size()) - 1; }
};

struct Plan {
  std::vector<Rational> coefficients;  // coefficients[0] is 1
  std::vector<PlanStep> steps;
  std::uint32_t inputs = 0;
  std::vector<std::uint32_t> outputs;  // operand number of each output
  std::vector<std::vector<std::int64_t>> output_shapes;
  std::uint64_t products() const;  // multiply-adds of one evaluation
};

/// The plan, or nothing if the shapes do not type. `size_parameters` in slot order. Throws Overflow where its loops
/// visit more than `most_points` points, or an operand has more elements than 32 bits can address.
std::optional<Plan> compile(const Instance& instance, std::span<const std::vector<std::int64_t>> inputs,
                            std::span<const std::int64_t> size_parameters, std::uint64_t most_points = 1ULL << 28);

/// Reference execution over the reals, in double: one vector a tensor, row-major. `functions` are the library's.
std::vector<std::vector<double>> evaluate(std::span<const Function> functions, const Plan& plan,
                                          std::span<const std::span<const double>> inputs);
/// The same with values of scalar functions by `scalar`. A NaN among a maximum's values is the maximum.
using ScalarEvaluation = std::function<double(const Function&, std::span<const double>)>;
std::vector<std::vector<double>> evaluate(std::span<const Function> functions, const Plan& plan,
                                          std::span<const std::span<const double>> inputs,
                                          const ScalarEvaluation& scalar);

}  // namespace rulemill::algebra
