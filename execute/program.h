// A program is an evaluation plan made compact for one executor: operand addresses as 32-bit offsets, the rows of every
// step in one array, rational coefficients as values of its domain. Immutable, shared by all threads.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "algebra/execution/plan.h"
#include "execute/ground.h"
#include "execute/program_view.h"

namespace rulemill::execute {

struct Program {
  std::vector<ProgramStep> steps;
  std::vector<std::uint32_t> rows;
  std::vector<Factors> factors;
  std::vector<std::uint32_t> scales;  // Scaled: coefficient of each term, parallel to factors; else empty
  std::vector<FunctionKey> functions;
  std::vector<const algebra::Function*> formulas;  // over the reals: parallel to functions
  std::vector<Pair> coefficients;                  // a block: each coefficient block_width times; the first is one
  std::vector<std::uint32_t> outputs;              // operand of each output
  std::vector<std::uint32_t> output_elements;      // as they are stored: see points_of()
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
  /// The degree of each output as a polynomial in the variables, given the inputs' degrees. A hashed value counts as 1.
  std::vector<std::uint32_t> degrees(std::span<const std::uint32_t> input_degrees) const;
};

/// A program and what fingerprints take from the types of a node that runs it.
struct TypedProgram {
  Program program;
  std::vector<std::uint32_t> input_elements;  // as they are stored
  std::vector<std::uint64_t> type_keys;       // of the outputs
};

/// Throws Error if the plan has more operands or elements than the encoding holds.
Program make_program(const algebra::Plan& plan, const Ground& ground);

/// What the fingerprint takes from the type.
std::uint64_t type_key(std::span<const std::int64_t> shape, std::uint64_t seed);

/// A node that no executor can run; says why.
struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The program of a node, for executors of `max_elements`. Its shapes and size parameters type: RM_CHECK otherwise.
/// Throws TooLarge.
TypedProgram compile_node(const algebra::Instance& instance, std::span<const std::vector<std::int64_t>> shapes,
                          std::span<const std::int64_t> sizes, const Ground& ground, std::uint64_t max_elements);

}  // namespace rulemill::execute
