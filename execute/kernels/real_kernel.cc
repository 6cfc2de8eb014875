#include "execute/kernels/real_kernel.h"

#include <array>

#include "execute/kernels/kernel_body.h"
#include "execute/kernels/real_functions.h"
#include "execute/kernels/single_lane.h"
#include "execute/values/real_values.h"
#include "runtime/text/error.h"

namespace rulemill::execute {
namespace {

using algebra::Function;
using Kind = ProgramStep::Kind;

/// Values of one element of eight tensors at all points.
constexpr std::uint32_t width = real_points * block_width;
using Values = std::array<double, width>;

class StepEvaluator {
 public:
  StepEvaluator(const Program& program, const FieldPair* const* operands) : program_(program), operands_(operands) {}

  /// Computes one element of a step, with its functions.
  Values element(const ProgramStep& step, std::uint32_t number) const {
    const std::uint32_t begin = program_.rows[step.first_row + number];
    const std::uint32_t end = program_.rows[step.first_row + number + 1];
    Values result{};
    std::uint32_t next = 0;
    if (step.kind == Kind::Max) {
      for (std::uint32_t t = begin; t < end; ++t) {
        const Values value = product(step, t);
        for (std::uint32_t i = 0; i < width; ++i) result[i] = t == begin ? value[i] : larger(result[i], value[i]);
      }
    } else if (step.kind == Kind::Apply) {
      std::vector<Values> arguments;
      for (std::uint32_t t = begin; t < end; ++t) arguments.push_back(product(step, t));
      result = apply(function(step, next++), arguments);
    } else {
      for (std::uint32_t t = begin; t < end; ++t) {
        const Values value = product(step, t);
        for (std::uint32_t i = 0; i < width; ++i) result[i] += value[i];
      }
    }
    for (; next < step.function_count; ++next) result = apply(function(step, next), std::span(&result, 1));
    for (double& value : result) value = canonical(value);
    return result;
  }

 private:
  const Function& function(const ProgramStep& step, std::uint32_t number) const {
    return *program_.formulas[step.first_function + number];
  }
  /// The maximum with an undefined value is undefined.
  static double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

  Values factor(std::uint32_t packed) const {
    const std::uint32_t operand = packed >> operand_shift, element = packed & element_mask;
    Values result;
    if (operand == program_.coefficient_operand) {
      result.fill(real_of(operands_[operand][std::size_t{element} * block_width]));
    } else {
      const FieldPair* words = operands_[operand] + std::size_t{element} * width;
      for (std::uint32_t i = 0; i < width; ++i) result[i] = real_of(words[i]);
    }
    return result;
  }

  Values product(const ProgramStep& step, std::uint32_t term) const {
    const Factors& factors = program_.factors[term];
    Values result = factor(factors.left);
    if (step.kind == Kind::Copy || step.kind == Kind::Sum) return result;
    if (factors.right != program_.coefficient_operand << operand_shift) {  // coefficient 0 is one
      const Values right = factor(factors.right);
      for (std::uint32_t i = 0; i < width; ++i) result[i] *= right[i];
    }
    if (step.kind == Kind::Scaled && program_.scales[term] != 0) {
      const double scale = real_of(program_.coefficients[std::size_t{program_.scales[term]} * block_width]);
      for (double& value : result) value *= scale;
    }
    return result;
  }

  /// Evaluates the function's formula. The result is undefined if any operation is, even if its value is not used.
  static Values apply(const Function& function, std::span<const Values> arguments) {
    std::vector<Values> stack;
    std::array<bool, width> undefined{};
    const auto note = [&](const Values& values) {
      for (std::uint32_t i = 0; i < width; ++i) undefined[i] |= std::isnan(values[i]);
    };
    for (const Values& argument : arguments) note(argument);
    for (const Function::Instruction& node : function.program) {
      if (node.op == Function::Op::Argument) {
        stack.push_back(arguments[node.argument]);
      } else if (node.op == Function::Op::Number) {
        stack.emplace_back().fill(node.number);
      } else {
        const Values b = stack.back();
        if (!algebra::is_unary(node.op)) stack.pop_back();
        Values& a = stack.back();
        for (std::uint32_t i = 0; i < width; ++i) a[i] = undefined[i] ? 0 : real_step(node.op, a[i], b[i]);
        note(a);
      }
    }
    RM_CHECK(!stack.empty(), "a function without a formula");
    Values result = stack.back();
    for (std::uint32_t i = 0; i < width; ++i) {
      if (undefined[i]) result[i] = std::numeric_limits<double>::quiet_NaN();
    }
    return result;
  }

  const Program& program_;
  const FieldPair* const* operands_;
};

/// Adds a stored element to the hashes of the lanes, under its keys.
void add_to_hashes(std::array<TensorHash<SingleLane>, block_width>& hashes, const FieldPair* words,
                   const FieldPair* keys, std::uint32_t stored) {
  for (std::uint32_t lane = 0; lane < block_width; ++lane) {
    const FieldPair word = mix(quantize(real_of(words[lane]))) & pair_of(prime, prime);
    add_to_hash(hashes[lane], SingleLane{word}, keys, stored);
  }
}

void store_hashes(const std::array<TensorHash<SingleLane>, block_width>& hashes, std::uint64_t* words) {
  for (std::uint32_t lane = 0; lane < block_width; ++lane) {
    words[lane] = hashes[lane].first.v;
    words[block_width + lane] = hashes[lane].second.v;
  }
}

}  // namespace

void hash_reals(const FieldPair* block, std::uint32_t elements, const FieldPair* keys, std::uint64_t* hashes) {
  std::array<TensorHash<SingleLane>, block_width> sums{};
  for (std::uint32_t e = 0; e < elements; ++e) add_to_hashes(sums, block + std::size_t{e} * block_width, keys, e);
  store_hashes(sums, hashes);
}

void run_reals(const Program& program, const FieldPair* const* operands, const FieldPair* keys, std::uint64_t* hashes) {
  const StepEvaluator evaluator(program, operands);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const ProgramStep& step = program.steps[s];
    // Later steps read a step's tensor through the pointer that it is written to.
    auto* out = const_cast<FieldPair*>(operands[program.inputs + s]);
    for (std::uint32_t e = 0; e < step.elements; ++e) {
      const Values values = evaluator.element(step, e);
      for (std::uint32_t i = 0; i < width; ++i) out[std::size_t{e} * width + i] = word_of(values[i]);
    }
    hash_reals(out, step.elements * real_points, keys, hashes + 2 * s * block_width);
  }
}

}  // namespace rulemill::execute
