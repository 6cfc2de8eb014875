// A program's arrays by pointer, as host and device code read them, and the constants of their encoding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/field.h"

namespace rulemill::execute {

/// Values are kept in blocks of eight tensors of one type: element e of tensor l is at [e · block_width + l].
inline constexpr std::uint32_t block_width = 8;

/// Where tensor `slot` of consecutive blocks begins.
RM_HD constexpr std::size_t tensor_offset(std::uint32_t slot, std::uint32_t elements) {
  return std::size_t{slot / block_width} * elements * block_width + slot % block_width;
}

/// How a function of the library behaves in the field: a keyed hash that obeys the laws its definition declares.
struct FunctionKey {
  std::uint64_t key = 0;
  std::uint32_t maps_zero_to_zero = 0;
  std::uint32_t idempotent = 0;
  std::uint32_t commutative = 0;
  std::uint32_t arity = 1;
};

/// Two factors of one product. Each is `operand << operand_shift | element`; the operands are the inputs, the tensors
/// of earlier steps, and last the coefficients (element c is coefficient c, element 0 is one).
struct Factors {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
};
inline constexpr std::uint32_t operand_shift = 24;
inline constexpr std::uint32_t element_mask = (1u << operand_shift) - 1;
inline constexpr std::uint32_t max_operands = 16;
/// Most terms in a row of a Max or Apply step.
inline constexpr std::uint32_t max_row = 64;

struct ProgramStep {
  enum class Kind : std::uint32_t {
    Copy,          // one term a row, coefficient one
    Sum,           // Σ left
    Product,       // Σ left · right, all left in one operand and all right in another
    MixedProduct,  // Σ left · right
    Scaled,        // Σ left · right · scale
    Max,           // maximum of left · right
    Apply,         // functions[0](left · right of each term)
  };
  Kind kind = Kind::Sum;
  std::uint32_t elements = 0;
  std::uint32_t first_row = 0;     // rows[first_row + e] … rows[first_row + e + 1] are element e's terms
  std::uint32_t left_operand = 0;  // Product
  std::uint32_t right_operand = 0;
  std::uint32_t first_function = 0;  // into functions, applied in order
  std::uint32_t function_count = 0;
};

struct ProgramView {
  const ProgramStep* steps = nullptr;
  const std::uint32_t* rows = nullptr;
  const Factors* factors = nullptr;
  const std::uint32_t* scales = nullptr;
  const FunctionKey* functions = nullptr;
  const Pair* coefficients = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t inputs = 0;
  std::uint64_t max_key = 0;
};

}  // namespace rulemill::execute
