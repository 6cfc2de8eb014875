// Programs: evaluation plans in a compact encoding, with 32-bit operand addresses, the rows of all steps in one array,
// and coefficients converted to the domain. Immutable, shared by all threads.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "algebra/execution/domain.h"
#include "algebra/execution/plan.h"
#include "algebra/operators/function.h"
#include "execute/program/program_view.h"

namespace rulemill::execute {

/// The context of compilation. The library's functions must outlive it.
struct EvaluationContext {
  algebra::Domain domain = algebra::Domain::Field;
  std::uint64_t seed = 0;
  std::vector<FunctionKey> keys;                 // the functions over the field
  std::span<const algebra::Function> functions;  // the functions over the reals

  EvaluationContext(algebra::Domain domain, std::span<const algebra::Function> functions, std::uint64_t seed);
};

/// Derives a key per function from its name and the seed; the same in every run.
std::vector<FunctionKey> function_keys(std::span<const algebra::Function> functions, std::uint64_t seed);

struct Program {
  std::vector<ProgramStep> steps;
  std::vector<std::uint32_t> rows;
  std::vector<Factors> factors;
  std::vector<std::uint32_t> scales;  // coefficient of each term, parallel to factors; empty if no step is Scaled
  std::vector<FunctionKey> functions;
  std::vector<const algebra::Function*> formulas;  // for the reals, parallel to functions
  std::vector<FieldPair> coefficients;             // a block: each coefficient block_width times; coefficient 0 is one
  std::vector<std::uint32_t> outputs;              // by output: its operand
  std::vector<std::uint32_t> output_elements;      // by output: stored elements, see points_per_element()
  algebra::Domain domain = algebra::Domain::Field;
  std::uint32_t inputs = 0;
  std::uint32_t coefficient_operand = 0;
  std::uint64_t max_key = 0;
  std::uint64_t products = 0;  // multiply-adds of one evaluation

  ProgramView view() const {
    return {steps.data(),
            rows.data(),
            factors.data(),
            scales.data(),
            functions.data(),
            coefficients.data(),
            static_cast<std::uint32_t>(steps.size()),
            inputs,
            max_key};
  }
  /// Returns the degree of each output as a polynomial, from the inputs' degrees. A hashed value has degree 1.
  std::vector<std::uint32_t> degrees(std::span<const std::uint32_t> input_degrees) const;
};

/// A program with the type information that fingerprints need.
struct TypedProgram {
  Program program;
  std::vector<std::uint32_t> input_elements;  // by input: stored elements
  std::vector<std::uint64_t> type_keys;       // by output
};

/// Throws Error if the plan has more operands or elements than the encoding allows.
Program make_program(const algebra::EvaluationPlan& plan, const EvaluationContext& context);

/// Returns the hash of a type that enters a fingerprint.
std::uint64_t type_key(std::span<const std::int64_t> shape, std::uint64_t seed);

/// A node that exceeds the limits of executors; what() says which.
struct ProgramTooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Compiles a node for executors of `max_elements`. Its shapes and sizes must type (RM_CHECK). Throws ProgramTooLarge.
TypedProgram compile_node(const algebra::OperatorInstance& instance, std::span<const std::vector<std::int64_t>> shapes,
                          std::span<const std::int64_t> sizes, const EvaluationContext& context,
                          std::uint64_t max_elements);

}  // namespace rulemill::execute
