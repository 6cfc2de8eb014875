#include "algebra/claims/shape.h"

#include "algebra/claims/program.h"
#include "algebra/language/function_domain.h"

namespace rulemill::algebra {

using Op = Function::Op;

namespace {

/// c^power · (what it was), or 0 whatever the arguments are.
struct Grade {
  bool zero = false;
  Rational power{0, 1};
};

std::optional<Grade> grade(Op op, const Grade& a, const Grade& b) {
  const Rational minus_one{-1, 1};
  const auto fixed = [](const Grade& part) { return part.zero || part.power.num == 0; };
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Max:
    case Op::Min:
      if (a.zero) return b;
      if (b.zero) return a;
      return a.power == b.power ? std::optional(a) : std::nullopt;
    case Op::Mul:
      return Grade{a.zero || b.zero, a.power + b.power};
    case Op::Div:
      return Grade{a.zero, a.power + minus_one * b.power};
    case Op::Abs:
      return b;
    case Op::Sqrt:
      return Grade{b.zero, b.power * Rational{1, 2}};
    case Op::Less:
    case Op::Equal:  // unchanged where both sides are scaled alike
      return a.zero || b.zero || a.power == b.power ? std::optional(Grade{}) : std::nullopt;
    case Op::Gate:  // what is not 0 stays so
      return Grade{a.zero || b.zero, b.power};
    default:  // of what does not change alone
      return fixed(a) && fixed(b) ? std::optional(Grade{}) : std::nullopt;
  }
}

/// How a value moves while the argument rises, and its signs.
struct Course {
  bool rises = true, falls = true;  // never falls; never rises. Both: a constant.
  Signs signs;
};

std::optional<Course> course(Op op, const Course& a, const Course& b) {
  Course result;
  const auto directions = [&](bool rises, bool falls) { result.rises = rises, result.falls = falls; };
  switch (op) {
    case Op::Add:
      directions(a.rises && b.rises, a.falls && b.falls);
      result.signs = a.signs + b.signs;
      return result;
    case Op::Sub:
      directions(a.rises && b.falls, a.falls && b.rises);
      result.signs = a.signs + sign_of(-1) * b.signs;
      return result;
    case Op::Max:
    case Op::Min:
      directions(a.rises && b.rises, a.falls && b.falls);
      return result;  // any sign
    case Op::Mul:
      // Of a constant and anything, or of two that are nowhere negative.
      if (a.rises && a.falls && !(b.rises && b.falls)) return course(op, b, a);
      result.signs = a.signs * b.signs;
      if (b.rises && b.falls) {
        directions(b.signs.negative ? a.falls : a.rises, b.signs.negative ? a.rises : a.falls);
        if (b.signs.negative && b.signs.positive) return std::nullopt;
        return result;
      }
      if (a.signs.negative || b.signs.negative) return std::nullopt;
      directions(a.rises && b.rises, a.falls && b.falls);
      return result;
    case Op::Div: {
      // By what is positive everywhere: times its reciprocal, which is positive and moves the other way.
      if (b.signs.negative || b.signs.zero) return std::nullopt;
      const Course reciprocal{b.falls, b.rises, b.signs};
      return course(Op::Mul, a, reciprocal);
    }
    case Op::Exp:
      directions(b.rises, b.falls);
      result.signs = {false, false, true};
      return result;
    case Op::Tanh:
    case Op::Erf:
      directions(b.rises, b.falls);
      result.signs = b.signs;
      return result;
    case Op::Sqrt:
      if (b.signs.negative) return std::nullopt;
      directions(b.rises, b.falls);
      result.signs = b.signs;
      return result;
    case Op::Log:
      if (b.signs.negative || b.signs.zero) return std::nullopt;
      directions(b.rises, b.falls);
      return result;
    default:  // abs
      return std::nullopt;
  }
}

}  // namespace

std::optional<Degree> degree(const Function& function) {
  const auto leaf = [](const Function::Node& node) -> std::optional<Grade> {
    if (node.op == Op::Argument) return Grade{false, {1, 1}};
    return Grade{node.exact == Rational{0, 1}, {0, 1}};
  };
  const std::optional<Grade> whole = run<Grade>(function, leaf, grade);
  return whole && !whole->zero ? std::optional(whole->power) : std::nullopt;
}

bool never_falls(const Function& function) {
  if (function.arity != 1) return false;
  // 0 below 0, and then rising from 0.
  const bool root = function.real.size() == 2 && function.real[0].op == Op::Argument && function.real[1].op == Op::Sqrt;
  if (root) return true;
  const auto leaf = [](const Function::Node& node) -> std::optional<Course> {
    if (node.op == Op::Argument) return Course{true, false, {}};
    return Course{true, true, sign_of(node.number)};
  };
  const std::optional<Course> whole = run<Course>(function, leaf, course);
  return whole && whole->rises;
}

bool is_exponential(const Function& function) {
  if (function.arity != 1 || function.real.empty() || function.real.back().op != Op::Exp) return false;
  Function inner = function;
  inner.real.pop_back();
  // a · t + b, by a alone and b = 0.
  struct Line {
    Rational slope{0, 1}, offset{0, 1};
  };
  const auto leaf = [](const Function::Node& node) -> std::optional<Line> {
    if (node.op == Op::Argument) return Line{{1, 1}, {0, 1}};
    return node.exact ? std::optional(Line{{0, 1}, *node.exact}) : std::nullopt;
  };
  const auto step = [](Op op, const Line& a, const Line& b) -> std::optional<Line> {
    const Rational minus_one{-1, 1};
    if (op == Op::Add) return Line{a.slope + b.slope, a.offset + b.offset};
    if (op == Op::Sub) return Line{a.slope + minus_one * b.slope, a.offset + minus_one * b.offset};
    if (op == Op::Mul && a.slope.num == 0) return Line{a.offset * b.slope, a.offset * b.offset};
    if (op == Op::Div && b.slope.num == 0 && b.offset.num != 0) {
      const Rational by = make_rational(b.offset.den, b.offset.num);
      return Line{a.slope * by, a.offset * by};
    }
    if (op == Op::Mul && b.slope.num == 0) return Line{b.offset * a.slope, b.offset * a.offset};
    return std::nullopt;
  };
  const std::optional<Line> line = run<Line>(inner, leaf, step);
  return line && line->offset.num == 0;
}

}  // namespace rulemill::algebra
