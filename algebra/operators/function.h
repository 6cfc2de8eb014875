// A scalar function of the definition language: its definition over the reals, and its laws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::algebra {

enum class Law : std::uint8_t {
  ZeroToZero,   // f(0) = 0
  Idempotent,   // f(f(t)) = f(t)
  Commutative,  // f(s, t) = f(t, s)
  Exponential,  // f(s + t) = f(s) · f(t)
  Homogeneous,  // f(c · t) = c · f(t) for c > 0; also of two arguments
  Reciprocal,   // f(c · t) = f(t) / c for c > 0
  Monotone,     // max(f(s), f(t)) = f(max(s, t)): f is nondecreasing
  Odd,          // f(-t) = -f(t), and f is defined at -t if it is at t
  Even,         // f(-t) = f(t), and f is defined at -t if it is at t
};

/// A scalar function: its definition over the reals, and the laws that proofs may use; the first three also hold in the
/// field. A law is proved from the definition if possible; otherwise it is tested at thousands of values and listed as
/// assumed. A false law is rejected. In laws, a partial function is 0 outside its domain.
struct Function {
  enum class Op : std::uint8_t {
    Argument,
    Number,
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
    Less,   // 1 if a < b, else 0
    Equal,  // 1 if a = b, else 0
    Gate,   // b if a is not 0, else 0
    Power,
    Exp,  // this and all below have one argument
    Log,
    Sqrt,
    Tanh,
    Erf,
    Abs,
    Floor,
    Sin,
    Cos,
    Asin,
    Acos,
    Atan
  };
  struct Instruction {
    Op op;
    double number = 0;
    std::uint32_t argument = 0;
    std::optional<Rational> exact{};  // the number, if it has at most 15 digits
    bool operator==(const Instruction&) const = default;
  };
  static constexpr std::size_t max_stack_depth = 60;

  std::string name;
  std::uint32_t arity = 1;
  std::vector<Instruction> program;       // postfix, over the reals
  bool maps_zero_to_zero = false;         // law f(0) = 0
  bool idempotent = false;                // law f(f(t)) = f(t)
  bool commutative = false;               // law f(s, t) = f(t, s)
  bool exponential = false;               // law f(s + t) = f(s) * f(t)
  int degree = 0;                         // 1: law f(c * t) = c * f(t); -1: law f(c * t) = f(t) / c; for c > 0
  bool monotone = false;                  // law max(f(s), f(t)) = f(max(s, t))
  int parity = 0;                         // 1: law f(-t) = f(t); -1: law f(-t) = -f(t)
  std::vector<int> monotonicity;          // in each argument, whatever the others are: 1, -1, or 0 if unknown
  std::uint32_t representative = 0;       // the number of the first function of the library with this formula
  std::vector<std::string> assumed_laws;  // the unproved laws, as text
  std::string onnx_op_type;               // the equivalent ONNX operator, may be empty
};
/// Whether `op` takes one argument, not two.
inline bool is_unary(Function::Op op) { return op >= Function::Op::Exp; }
/// Whether the formula is op(t), for the only argument t.
inline bool applies_only(const Function& function, Function::Op op) {
  return function.arity == 1 && function.program.size() == 2 && function.program[0].op == Function::Op::Argument &&
         function.program[1].op == op;
}

}  // namespace rulemill::algebra
