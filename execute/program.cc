#include "execute/program.h"

#include <algorithm>

#include "execute/real_values.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace rulemill::execute {
namespace {

constexpr std::uint64_t function_stream = 0x66756e6374696f6eu;
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
  bool plain = true, scaled = false;
  for (const auto& term : step.terms) {
    const bool two = term.left != algebra::PlanTerm::none && term.right != algebra::PlanTerm::none;
    if (two && term.coefficient != 0) scaled = true;
    if (term.left == algebra::PlanTerm::none || two || term.coefficient != 0) plain = false;
  }
  if (scaled) return Kind::Scaled;
  if (!plain) return Kind::MixedProduct;
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

Pair coefficient_word(const algebra::Rational& value, algebra::Domain domain) {
  if (domain == algebra::Domain::Reals) return word_of(static_cast<double>(value.num) / static_cast<double>(value.den));
  const std::uint64_t element = field_element(value.num, value.den);
  return pair_of(element, element);
}

/// Factors that a product lacks are coefficients: c · left is (left, c), c alone is (c, 1), c · left · right is
/// (left, right) with c among the scales.
void add_term(Program& program, const algebra::PlanTerm& term, bool any_scaled) {
  const bool has_left = term.left != algebra::PlanTerm::none, has_right = term.right != algebra::PlanTerm::none;
  const std::uint32_t coefficient = address(program.coefficient_operand, term.coefficient);
  Factors factors;
  factors.left = has_left ? address(term.left, term.left_element) : coefficient;
  factors.right = has_right  ? address(term.right, term.right_element)
                  : has_left ? coefficient
                             : address(program.coefficient_operand, 0);
  program.factors.push_back(factors);
  if (any_scaled) program.scales.push_back(has_left && has_right ? term.coefficient : 0);
}

/// A step whose products all take their factors from the same two operands needs no lookup of the operand.
void specialize(ProgramStep& step, std::span<const Factors> factors) {
  if (step.kind != ProgramStep::Kind::MixedProduct || factors.empty()) return;
  const std::uint32_t left = factors[0].left >> operand_shift, right = factors[0].right >> operand_shift;
  const bool uniform = std::ranges::all_of(
      factors, [&](const Factors& f) { return f.left >> operand_shift == left && f.right >> operand_shift == right; });
  if (!uniform) return;
  step.kind = ProgramStep::Kind::Product;
  step.left_operand = left;
  step.right_operand = right;
}

void add_step(Program& program, const algebra::PlanStep& source, const Ground& ground, bool any_scaled) {
  ProgramStep step;
  step.kind = kind_of(source);
  step.elements = source.elements();
  step.first_row = static_cast<std::uint32_t>(program.rows.size());
  step.first_function = static_cast<std::uint32_t>(program.functions.size());
  step.function_count = static_cast<std::uint32_t>(source.functions.size());
  for (const std::uint32_t f : source.functions) {
    program.functions.push_back(ground.keys[f]);
    program.formulas.push_back(&ground.functions[f]);
  }

  const auto base = static_cast<std::uint32_t>(program.factors.size());
  for (const std::uint32_t row : source.rows) program.rows.push_back(base + row);
  if (step.kind == ProgramStep::Kind::Max || step.kind == ProgramStep::Kind::Apply) {
    for (std::size_t e = 0; e + 1 < source.rows.size(); ++e) {
      RM_CHECK(source.rows[e + 1] - source.rows[e] <= max_row, "a maximum is taken over too many elements");
    }
  }
  for (const algebra::PlanTerm& term : source.terms) add_term(program, term, any_scaled);
  specialize(step, std::span<const Factors>(program.factors).subspan(base));
  program.steps.push_back(step);
}

}  // namespace

Ground::Ground(algebra::Domain of, std::span<const algebra::Function> known, std::uint64_t seeded)
    : domain(of), seed(seeded), keys(function_keys(known, seeded)), functions(known) {}

std::vector<FunctionKey> function_keys(std::span<const algebra::Function> functions, std::uint64_t seed) {
  std::vector<FunctionKey> keys;
  for (const algebra::Function& function : functions) {
    const std::uint64_t name = runtime::hash64(std::as_bytes(std::span(function.name)));
    keys.push_back({random_word(seed ^ function_stream, name), function.maps_zero_to_zero, function.idempotent,
                    function.commutative, function.arity});
  }
  return keys;
}

namespace {

void require_that_it_fits(const algebra::Plan& plan, std::uint64_t max_elements) {
  using Kind = algebra::PlanStep::Kind;
  if (plan.inputs + plan.steps.size() >= max_operands)
    throw TooLarge("its inputs and tensors on the way are " + std::to_string(plan.inputs + plan.steps.size()) +
                   "; at most " + std::to_string(max_operands - 1) + " can be evaluated");
  for (const algebra::PlanStep& step : plan.steps) {
    if (step.elements() > max_elements)
      throw TooLarge("a tensor on the way to its result has " + std::to_string(step.elements()) +
                     " elements, more than max_elements = " + std::to_string(max_elements));
    for (std::size_t e = 0; e + 1 < step.rows.size() && (step.kind == Kind::Max || step.kind == Kind::Apply); ++e) {
      const std::uint32_t row = step.rows[e + 1] - step.rows[e];
      if (row > max_row)
        throw TooLarge("a maximum is taken over " + std::to_string(row) + " elements; at most " +
                       std::to_string(max_row) + " can be compared");
    }
  }
}

}  // namespace

Program make_program(const algebra::Plan& plan, const Ground& ground) {
  Program program;
  program.domain = ground.domain;
  program.inputs = plan.inputs;
  program.coefficient_operand = plan.inputs + static_cast<std::uint32_t>(plan.steps.size());
  program.outputs = plan.outputs;
  program.max_key = random_word(ground.seed ^ max_stream, 0);
  program.products = plan.products();
  for (const auto& coefficient : plan.coefficients) {
    program.coefficients.insert(program.coefficients.end(), block_width, coefficient_word(coefficient, ground.domain));
  }
  const Pair one = coefficient_word({1, 1}, ground.domain);
  if (program.coefficients.empty()) program.coefficients.assign(block_width, one);
  RM_CHECK(program.coefficients[0] == one, "a plan's first coefficient is one");
  for (const auto& shape : plan.output_shapes) {
    program.output_elements.push_back(elements_of(shape) * points_of(ground.domain));
  }
  const bool any_scaled = std::ranges::any_of(
      plan.steps, [](const algebra::PlanStep& step) { return kind_of(step) == ProgramStep::Kind::Scaled; });
  for (const algebra::PlanStep& step : plan.steps) add_step(program, step, ground, any_scaled);
  return program;
}

std::uint64_t type_key(std::span<const std::int64_t> shape, std::uint64_t seed) {
  std::uint64_t key = mix(seed ^ type_stream) + shape.size();
  for (const std::int64_t dim : shape) key = mix(key) + static_cast<std::uint64_t>(dim);
  return mix(key);
}

TypedProgram compile_node(const algebra::Instance& instance, std::span<const std::vector<std::int64_t>> shapes,
                          std::span<const std::int64_t> sizes, const Ground& ground, std::uint64_t max_elements) {
  const auto plan = algebra::compile(instance, shapes, sizes);
  RM_CHECK(plan.has_value(), "a node that types has a plan");
  require_that_it_fits(*plan, max_elements);
  TypedProgram made{make_program(*plan, ground), {}, {}};
  for (const auto& shape : shapes) made.input_elements.push_back(elements_of(shape) * points_of(ground.domain));
  for (const auto& shape : plan->output_shapes) made.type_keys.push_back(type_key(shape, ground.seed));
  return made;
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
