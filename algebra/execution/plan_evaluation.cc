// Evaluates plans in double precision and with bounds.
#include <array>
#include <cmath>

#include "algebra/execution/plan.h"
#include "algebra/operators/enclosure.h"
#include "algebra/operators/function_evaluation.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

/// `scalar` evaluates the scalar functions.
template <class Value, class Scalar>
std::vector<std::vector<Value>> evaluate_plan(std::span<const Function> functions, const EvaluationPlan& plan,
                                              std::span<const Value> coefficients,
                                              std::span<const std::span<const Value>> inputs, const Scalar& scalar) {
  std::vector<std::vector<Value>> results;
  std::vector<std::span<const Value>> operands(inputs.begin(), inputs.end());
  results.reserve(plan.steps.size());
  for (const PlanStep& step : plan.steps) {
    std::vector<Value>& result = results.emplace_back(step.elements());
    for (std::uint32_t e = 0; e < step.elements(); ++e) {
      Value value = 0;
      const std::span<const PlanProduct> row(step.products.data() + step.rows[e], step.rows[e + 1] - step.rows[e]);
      const auto evaluate_product = [&](const PlanProduct& product) {
        Value factor = coefficients[product.coefficient];
        if (product.left != PlanProduct::none) factor *= operands[product.left][product.left_element];
        if (product.right != PlanProduct::none) factor *= operands[product.right][product.right_element];
        return factor;
      };
      std::size_t first_function = 0;
      if (step.kind == PlanStep::Kind::Sum) {
        for (const PlanProduct& product : row) value += evaluate_product(product);
      } else if (step.kind == PlanStep::Kind::Max) {
        for (std::size_t i = 0; i < row.size(); ++i) {
          const Value next = evaluate_product(row[i]);
          value = i == 0 ? next : larger(value, next);
        }
      } else {
        std::array<Value, 8> arguments{};
        RM_CHECK(row.size() <= arguments.size(), "a scalar function of too many arguments");
        for (std::size_t i = 0; i < row.size(); ++i) arguments[i] = evaluate_product(row[i]);
        value = scalar(functions[step.functions[0]], std::span<const Value>(arguments.data(), row.size()));
        first_function = 1;
      }
      for (std::size_t f = first_function; f < step.functions.size(); ++f)
        value = scalar(functions[step.functions[f]], std::span<const Value>(&value, 1));
      result[e] = value;
    }
    operands.push_back(result);
  }
  std::vector<std::vector<Value>> outputs;
  for (std::uint32_t operand : plan.outputs) outputs.emplace_back(operands[operand].begin(), operands[operand].end());
  return outputs;
}

}  // namespace

std::vector<std::vector<double>> evaluate(std::span<const Function> functions, const EvaluationPlan& plan,
                                          std::span<const std::span<const double>> inputs) {
  std::vector<double> coefficients;
  for (const Rational& value : plan.coefficients)
    coefficients.push_back(static_cast<double>(value.num) / static_cast<double>(value.den));
  return evaluate_plan<double>(
      functions, plan, coefficients, inputs,
      [](const Function& function, std::span<const double> arguments) { return evaluate(function, arguments); });
}

std::vector<std::vector<Enclosure>> evaluate(std::span<const Function> functions, const EvaluationPlan& plan,
                                             std::span<const std::span<const Enclosure>> inputs, bool& doubtful) {
  const std::vector<Enclosure> coefficients(plan.coefficients.begin(), plan.coefficients.end());
  return evaluate_plan<Enclosure>(functions, plan, coefficients, inputs,
                                  [&](const Function& function, std::span<const Enclosure> arguments) {
                                    return evaluate_strictly(function, arguments, doubtful);
                                  });
}

}  // namespace rulemill::algebra
