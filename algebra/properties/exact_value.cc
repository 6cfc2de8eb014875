#include "algebra/properties/exact_value.h"

#include "algebra/operators/function_interpreter.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

using Op = Function::Op;

namespace {

/// A real number: known exactly, known to be positive, or unknown.
struct Number {
  std::optional<Rational> exact;
  bool known_positive = false;

  bool is_zero() const { return exact && exact->num == 0; }
  bool is_positive() const { return exact ? exact->num > 0 : known_positive; }
};

std::optional<Number> apply_exactly(Op op, const Number& a, const Number& b) {
  const auto exactly = [](Rational value) { return Number{value, false}; };
  const bool both = a.exact && b.exact, both_positive = a.is_positive() && b.is_positive();
  switch (op) {
    case Op::Add:
      return both ? exactly(*a.exact + *b.exact) : Number{{}, both_positive};
    case Op::Sub:
      return both ? exactly(*a.exact + -*b.exact) : Number{};
    case Op::Mul:
      if (a.is_zero() || b.is_zero()) return exactly({0, 1});
      return both ? exactly(*a.exact * *b.exact) : Number{{}, both_positive};
    case Op::Div:
      if (b.exact ? b.is_zero() : !b.is_positive()) return std::nullopt;
      if (a.is_zero()) return exactly({0, 1});
      return both ? exactly(*a.exact * reciprocal(*b.exact)) : Number{{}, both_positive};
    case Op::Max:
      return both ? exactly(is_less(*a.exact, *b.exact) ? *b.exact : *a.exact)
                  : Number{{}, a.is_positive() || b.is_positive()};
    case Op::Min:
      return both ? exactly(is_less(*a.exact, *b.exact) ? *a.exact : *b.exact) : Number{{}, both_positive};
    case Op::Abs:
      return b.exact ? exactly(b.exact->num < 0 ? -*b.exact : *b.exact) : b;
    case Op::Exp:
      return b.is_zero() ? exactly({1, 1}) : Number{{}, true};
    case Op::Log:
      if (b.exact == Rational{1, 1}) return exactly({0, 1});
      return b.is_positive() ? std::optional(Number{}) : std::nullopt;
    case Op::Sqrt:
      if (b.is_zero() || b.exact == Rational{1, 1}) return b;
      return b.is_positive() ? std::optional(Number{{}, true}) : std::nullopt;
    case Op::Less:
      return both ? exactly({is_less(*a.exact, *b.exact) ? 1 : 0, 1}) : Number{};
    case Op::Equal:
      return both ? exactly({*a.exact == *b.exact ? 1 : 0, 1}) : Number{};
    case Op::Gate:
      if (a.is_zero() || b.is_zero()) return exactly({0, 1});
      return a.exact ? b : Number{};
    case Op::Cos:
      return b.is_zero() ? exactly({1, 1}) : Number{};
    case Op::Floor:
      return b.exact ? exactly({floor_quotient(b.exact->num, b.exact->den), 1}) : Number{};
    case Op::Sin:
      return b.is_zero() ? b : Number{};
    case Op::Asin:  // may be undefined unless b is 0
      return b.is_zero() ? std::optional(b) : std::nullopt;
    case Op::Tanh:
    case Op::Erf:
    case Op::Atan:
      return b.is_zero() ? b : Number{{}, b.is_positive()};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Rational> evaluate_exactly(const Function& function, std::span<const Rational> arguments) {
  const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<Number> {
    if (instruction.op == Op::Argument) return Number{arguments[instruction.argument], false};
    return Number{instruction.exact, instruction.number > 0};
  };
  const std::optional<Number> result = interpret<Number>(function, leaf, apply_exactly);
  return result ? result->exact : std::nullopt;
}

}  // namespace rulemill::algebra
