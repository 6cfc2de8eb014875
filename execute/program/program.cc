#include "execute/program/program.h"

#include <algorithm>

#include "execute/values/field.h"
#include "execute/values/real_values.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::execute {
namespace {

constexpr std::uint64_t function_stream = 0x66756e6374696f6eu;

}  // namespace

EvaluationContext::EvaluationContext(algebra::Domain values, std::span<const algebra::Function> library,
                                     std::uint64_t random_seed)
    : domain(values), seed(random_seed), keys(function_keys(library, random_seed)), functions(library) {}

std::vector<FunctionKey> function_keys(std::span<const algebra::Function> functions, std::uint64_t seed) {
  std::vector<FunctionKey> keys;
  for (const algebra::Function& function : functions) {
    const std::uint64_t name_hash = runtime::hash64(std::as_bytes(std::span(function.name)));
    keys.push_back({random_word(seed ^ function_stream, name_hash), function.maps_zero_to_zero, function.idempotent,
                    function.commutative, function.arity});
  }
  return keys;
}

namespace {

constexpr std::uint64_t type_stream = 0x747970652064696du;
constexpr std::uint64_t max_stream = 0x6d6178696d756d21u;

std::uint32_t address(std::uint32_t operand, std::uint32_t element) {
  RM_CHECK(operand < max_operands && element <= element_mask, "a plan is too large for the executor");
  return operand << operand_shift | element;
}

ProgramStep::Kind kind_of(const algebra::PlanStep& step) {
  using Kind = ProgramStep::Kind;
  if (step.kind == algebra::PlanStep::Kind::Max) return Kind::Max;
  if (step.kind == algebra::PlanStep::Kind::Apply) return Kind::Apply;
  bool only_left_factors = true, scaled = false;
  for (const auto& term : step.products) {
    const bool two = term.left != algebra::PlanProduct::none && term.right != algebra::PlanProduct::none;
    if (two && term.coefficient != 0) scaled = true;
    if (term.left == algebra::PlanProduct::none || two || term.coefficient != 0) only_left_factors = false;
  }
  if (scaled) return Kind::Scaled;
  if (!only_left_factors) return Kind::MixedProduct;
  for (std::size_t e = 0; e + 1 < step.rows.size(); ++e) {
    if (step.rows[e + 1] - step.rows[e] != 1) return Kind::Sum;
  }
  return Kind::Copy;
}

std::uint32_t elements_of(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape) elements *= dim;
  return static_cast<std::uint32_t>(elements);
}

FieldPair coefficient_word(const algebra::Rational& value, algebra::Domain domain) {
  if (domain == algebra::Domain::Reals) return word_of(static_cast<double>(value.num) / static_cast<double>(value.den));
  const std::uint64_t element = field_element(value.num, value.den);
  return pair_of(element, element);
}

/// Missing factors are replaced by coefficients: c · left is (left, c); c alone is (c, 1); c · left · right is (left,
/// right) with c in scales.
void add_term(Program& program, const algebra::PlanProduct& term, bool any_scaled) {
  const bool has_left = term.left != algebra::PlanProduct::none, has_right = term.right != algebra::PlanProduct::none;
  const std::uint32_t coefficient = address(program.coefficient_operand, term.coefficient);
  Factors factors;
  factors.left = has_left ? address(term.left, term.left_element) : coefficient;
  factors.right = has_right  ? address(term.right, term.right_element)
                  : has_left ? coefficient
                             : address(program.coefficient_operand, 0);
  program.factors.push_back(factors);
  if (any_scaled) program.scales.push_back(has_left && has_right ? term.coefficient : 0);
}

/// Turns a MixedProduct step with the same two operands in all products into a Product step, which looks them up once.
void use_common_operands(ProgramStep& step, std::span<const Factors> factors) {
  if (step.kind != ProgramStep::Kind::MixedProduct || factors.empty()) return;
  const std::uint32_t left = factors[0].left >> operand_shift, right = factors[0].right >> operand_shift;
  const bool uniform = std::ranges::all_of(
      factors, [&](const Factors& f) { return f.left >> operand_shift == left && f.right >> operand_shift == right; });
  if (!uniform) return;
  step.kind = ProgramStep::Kind::Product;
  step.left_operand = left;
  step.right_operand = right;
}

void add_step(Program& program, const algebra::PlanStep& source, const EvaluationContext& context, bool any_scaled) {
  ProgramStep step;
  step.kind = kind_of(source);
  step.elements = source.elements();
  step.first_row = static_cast<std::uint32_t>(program.rows.size());
  step.first_function = static_cast<std::uint32_t>(program.functions.size());
  step.function_count = static_cast<std::uint32_t>(source.functions.size());
  for (const std::uint32_t f : source.functions) {
    program.functions.push_back(context.keys[f]);
    program.formulas.push_back(&context.functions[f]);
  }

  const auto base = static_cast<std::uint32_t>(program.factors.size());
  for (const std::uint32_t row : source.rows) program.rows.push_back(base + row);
  if (step.kind == ProgramStep::Kind::Max || step.kind == ProgramStep::Kind::Apply) {
    for (std::size_t e = 0; e + 1 < source.rows.size(); ++e) {
      RM_CHECK(source.rows[e + 1] - source.rows[e] <= max_terms_per_row, "a maximum is taken over too many elements");
    }
  }
  for (const algebra::PlanProduct& term : source.products) add_term(program, term, any_scaled);
  use_common_operands(step, std::span<const Factors>(program.factors).subspan(base));
  program.steps.push_back(step);
}

void require_within_limits(const algebra::EvaluationPlan& plan, std::uint64_t max_elements) {
  using Kind = algebra::PlanStep::Kind;
  if (plan.inputs + plan.steps.size() >= max_operands)
    throw ProgramTooLarge("the number of its inputs and intermediate tensors is " +
                          std::to_string(plan.inputs + plan.steps.size()) + "; the limit is " +
                          std::to_string(max_operands - 1));
  for (const algebra::PlanStep& step : plan.steps) {
    if (step.elements() > max_elements)
      throw ProgramTooLarge("an intermediate tensor has " + std::to_string(step.elements()) +
                            " elements, more than max_elements = " + std::to_string(max_elements));
    for (std::size_t e = 0; e + 1 < step.rows.size() && (step.kind == Kind::Max || step.kind == Kind::Apply); ++e) {
      const std::uint32_t row = step.rows[e + 1] - step.rows[e];
      if (row > max_terms_per_row)
        throw ProgramTooLarge("a maximum is taken over " + std::to_string(row) + " elements; at most " +
                              std::to_string(max_terms_per_row) + " can be compared");
    }
  }
}

}  // namespace

Program make_program(const algebra::EvaluationPlan& plan, const EvaluationContext& context) {
  Program program;
  program.domain = context.domain;
  program.inputs = plan.inputs;
  program.coefficient_operand = plan.inputs + static_cast<std::uint32_t>(plan.steps.size());
  program.outputs = plan.outputs;
  program.max_key = random_word(context.seed ^ max_stream, 0);
  program.products = plan.multiply_add_count();
  for (const auto& coefficient : plan.coefficients) {
    program.coefficients.insert(program.coefficients.end(), block_width, coefficient_word(coefficient, context.domain));
  }
  const FieldPair one = coefficient_word({1, 1}, context.domain);
  if (program.coefficients.empty()) program.coefficients.assign(block_width, one);
  RM_CHECK(program.coefficients[0] == one, "a plan's first coefficient is one");
  for (const auto& shape : plan.output_shapes) {
    program.output_elements.push_back(elements_of(shape) * points_per_element(context.domain));
  }
  const bool any_scaled = std::ranges::any_of(
      plan.steps, [](const algebra::PlanStep& step) { return kind_of(step) == ProgramStep::Kind::Scaled; });
  for (const algebra::PlanStep& step : plan.steps) add_step(program, step, context, any_scaled);
  return program;
}

std::uint64_t type_key(std::span<const std::int64_t> shape, std::uint64_t seed) {
  std::uint64_t key = mix(seed ^ type_stream) + shape.size();
  for (const std::int64_t dim : shape) key = mix(key) + static_cast<std::uint64_t>(dim);
  return mix(key);
}

TypedProgram compile_node(const algebra::OperatorInstance& instance, std::span<const std::vector<std::int64_t>> shapes,
                          std::span<const std::int64_t> sizes, const EvaluationContext& context,
                          std::uint64_t max_elements) {
  const auto plan = algebra::compile(instance, shapes, sizes);
  RM_CHECK(plan.has_value(), "a node that types has a plan");
  require_within_limits(*plan, max_elements);
  TypedProgram result{make_program(*plan, context), {}, {}};
  for (const auto& shape : shapes)
    result.input_elements.push_back(elements_of(shape) * points_per_element(context.domain));
  for (const auto& shape : plan->output_shapes) result.type_keys.push_back(type_key(shape, context.seed));
  return result;
}

std::vector<std::uint32_t> Program::degrees(std::span<const std::uint32_t> input_degrees) const {
  std::vector<std::uint32_t> degree(input_degrees.begin(), input_degrees.end());
  degree.resize(coefficient_operand + 1, 0);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const ProgramStep& step = steps[s];
    std::uint32_t largest = 0;
    std::uint32_t seen = 0xffffffffu;
    for (std::uint32_t t = rows[step.first_row]; t < rows[step.first_row + step.elements]; ++t) {
      const std::uint32_t left = factors[t].left >> operand_shift, right = factors[t].right >> operand_shift;
      const std::uint32_t operands = left << 8 | right;
      if (operands == seen) continue;
      seen = operands;
      const bool product = step.kind != ProgramStep::Kind::Copy && step.kind != ProgramStep::Kind::Sum;
      largest = std::max(largest, degree[left] + (product ? degree[right] : 0));
    }
    const bool hashed =
        step.kind == ProgramStep::Kind::Max || step.kind == ProgramStep::Kind::Apply || step.function_count != 0;
    degree[inputs + s] = hashed ? 1 : largest;
  }
  std::vector<std::uint32_t> result;
  for (const std::uint32_t operand : outputs) result.push_back(degree[operand]);
  return result;
}

}  // namespace rulemill::execute
