#include "execute/real_kernel.h"

#include <array>

#include "execute/kernel_body.h"
#include "execute/real_functions.h"
#include "execute/real_values.h"
#include "execute/single_lane.h"
#include "runtime/error.h"

namespace rulemill::execute {
namespace {

using algebra::Function;
using Kind = ProgramStep::Kind;

/// One element of eight tensors at all points.
constexpr std::uint32_t width = real_points * block_width;
using Values = std::array<double, width>;

class Runner {
 public:
  Runner(const Program& program, const Pair* const* operands) : program_(program), operands_(operands) {}

  /// One element of a step, with its functions.
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
  /// What is undefined is the maximum of all it is compared with.
  static double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

  Values factor(std::uint32_t packed) const {
    const std::uint32_t operand = packed >> operand_shift, element = packed & element_mask;
    Values result;
    if (operand == program_.coefficient_operand) {
      result.fill(real_of(operands_[operand][std::size_t{element} * block_width]));
    } else {
      const Pair* words = operands_[operand] + std::size_t{element} * width;
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

  /// The function's formula, one step after the other. It is undefined where a step is, whatever becomes of it.
  static Values apply(const Function& function, std::span<const Values> arguments) {
    std::vector<Values> stack;
    std::array<bool, width> undefined{};
    const auto note = [&](const Values& values) {
      for (std::uint32_t i = 0; i < width; ++i) undefined[i] |= std::isnan(values[i]);
    };
    for (const Values& argument : arguments) note(argument);
    for (const Function::Node& node : function.real) {
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
  const Pair* const* operands_;
};

/// Adds an element at a point to the lanes' hashes, under the keys of its place.
void add_words(std::array<TensorHash<SingleLane>, block_width>& hashes, const Pair* words, const Pair* keys,
               std::uint32_t stored) {
  for (std::uint32_t lane = 0; lane < block_width; ++lane) {
    const Pair word = mix(rounded_word(real_of(words[lane]))) & pair_of(prime, prime);
    add_to_hash(hashes[lane], SingleLane{word}, keys, stored);
  }
}

void put(const std::array<TensorHash<SingleLane>, block_width>& hashes, std::uint64_t* words) {
  for (std::uint32_t lane = 0; lane < block_width; ++lane) {
    words[lane] = hashes[lane].first.v;
    words[block_width + lane] = hashes[lane].second.v;
  }
}

}  // namespace

void hash_reals(const Pair* block, std::uint32_t elements, const Pair* keys, std::uint64_t* hashes) {
  std::array<TensorHash<SingleLane>, block_width> sums{};
  for (std::uint32_t e = 0; e < elements; ++e) add_words(sums, block + std::size_t{e} * block_width, keys, e);
  put(sums, hashes);
}

void run_reals(const Program& program, const Pair* const* operands, const Pair* keys, std::uint64_t* hashes) {
  const Runner runner(program, operands);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const ProgramStep& step = program.steps[s];
    // A step's tensor is written through the pointer by which later steps read it.
    auto* out = const_cast<Pair*>(operands[program.inputs + s]);
    for (std::uint32_t e = 0; e < step.elements; ++e) {
      const Values values = runner.element(step, e);
      for (std::uint32_t i = 0; i < width; ++i) out[std::size_t{e} * width + i] = word_of(values[i]);
    }
    hash_reals(out, step.elements * real_points, keys, hashes + 2 * s * block_width);
  }
}

}  // namespace rulemill::execute
