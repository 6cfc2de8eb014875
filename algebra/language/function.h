// A scalar function of the definition language: what it computes over the reals, and the laws that hold of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/expression.h"

namespace rulemill::algebra {

/// f(0) = 0, f(f(t)) = f(t), f(s, t) = f(t, s); f(s + t) = f(s) · f(t); for c > 0 f(c · t) = c · f(t), of two arguments
/// likewise, or f(t) / c; max(f(s), f(t)) = f(max(s, t)), which says that f does not fall; f(-t) = -f(t) or f(-t) =
/// f(t), and f is defined at -t where it is at t.
enum class Law : std::uint8_t {
  ZeroToZero,
  Idempotent,
  Commutative,
  Exponential,
  Homogeneous,
  Reciprocal,
  Monotone,
  Odd,
  Even,
};

/// A scalar function: its meaning over the reals, and the laws that proofs may use; the first three hold in the field,
/// too. A law is proved from that meaning where it can be, otherwise tried at thousands of values and listed as
/// assumed; a false one is refused. For laws, a partial function is 0 outside of its domain.
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
    Less,   // 1 where a < b, 0 elsewhere
    Equal,  // 1 where a = b, 0 elsewhere
    Gate,   // b where a is not 0, 0 elsewhere
    Power,
    Exp,  // from here on of one argument
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
  struct Node {  // postfix program over doubles
    Op op;
    double number = 0;
    std::uint32_t argument = 0;
    std::optional<Rational> exact{};  // the number, if it has at most 15 digits
  };
  static constexpr std::size_t deepest_stack = 60;  // values that the program holds at once

  std::string name;
  std::uint32_t arity = 1;
  std::vector<Node> real;            // what it computes over the reals
  bool maps_zero_to_zero = false;    // law f(0) = 0
  bool idempotent = false;           // law f(f(t)) = f(t)
  bool commutative = false;          // law f(s, t) = f(t, s)
  bool exponential = false;          // law f(s + t) = f(s) * f(t)
  int degree = 0;                    // 1: law f(c * t) = c * f(t); -1: law f(c * t) = f(t) / c; for c > 0
  bool monotone = false;             // law max(f(s), f(t)) = f(max(s, t))
  int parity = 0;                    // 1: law f(-t) = f(t); -1: law f(-t) = -f(t)
  std::vector<std::string> assumed;  // the laws that are not proved, as written
  std::string onnx;                  // ONNX operator of the same meaning, may be empty
};
/// Of one argument, not two.
bool is_unary(Function::Op op);
double evaluate(const Function& function, std::span<const double> arguments);

}  // namespace rulemill::algebra
