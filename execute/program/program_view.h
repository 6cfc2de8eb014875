// A program as pointers to its arrays, for host and device code, and the constants of its encoding.
#pragma once

#include <cstdint>

#include "execute/values/block.h"
#include "execute/values/field.h"

namespace rulemill::execute {

/// Maximum number of inputs of a node.
inline constexpr std::uint32_t max_inputs = 8;

/// A scalar function in the field: a keyed hash that satisfies the laws of the function's definition.
struct FunctionKey {
  std::uint64_t key = 0;
  std::uint32_t maps_zero_to_zero = 0;
  std::uint32_t idempotent = 0;
  std::uint32_t commutative = 0;
  std::uint32_t arity = 1;
};

/// The two factors of a product, each `operand << operand_shift | element`. Operands are the inputs, then the tensors
/// of earlier steps, then the coefficients; coefficient 0 is one.
struct Factors {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
};
inline constexpr std::uint32_t operand_shift = 24;
inline constexpr std::uint32_t element_mask = (1u << operand_shift) - 1;
inline constexpr std::uint32_t max_operands = 16;
/// Maximum number of terms in a row of a Max or Apply step.
inline constexpr std::uint32_t max_terms_per_row = 64;

struct ProgramStep {
  enum class Kind : std::uint32_t {
    Copy,          // one term per row, coefficient one
    Sum,           // Σ left
    Product,       // Σ left · right; all left factors are of one operand, all right factors of another
    MixedProduct,  // Σ left · right
    Scaled,        // Σ left · right · scale
    Max,           // maximum of left · right
    Apply,         // functions[0](left · right, …), one argument per term
  };
  Kind kind = Kind::Sum;
  std::uint32_t elements = 0;
  std::uint32_t first_row = 0;     // terms of element e: [rows[first_row + e], rows[first_row + e + 1])
  std::uint32_t left_operand = 0;  // Product
  std::uint32_t right_operand = 0;
  std::uint32_t first_function = 0;  // index into functions; they are applied in order
  std::uint32_t function_count = 0;
};

struct ProgramView {
  const ProgramStep* steps = nullptr;
  const std::uint32_t* rows = nullptr;
  const Factors* factors = nullptr;
  const std::uint32_t* scales = nullptr;
  const FunctionKey* functions = nullptr;
  const FieldPair* coefficients = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t inputs = 0;
  std::uint64_t max_key = 0;
};

}  // namespace rulemill::execute
