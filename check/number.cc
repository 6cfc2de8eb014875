#include "check/number.h"

#include <algorithm>

namespace rulemill::check {

using algebra::Function;

namespace {

constexpr Number prime = (Number{1} << 61) - 1;
constexpr Number negative = prime / 2 + 1;  // numbers from here on count as below zero

Number mixed(Number a) {
  a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9ULL;
  a = (a ^ (a >> 27)) * 0x94d049bb133111ebULL;
  return a ^ (a >> 31);
}

}  // namespace

Number reduced(std::uint64_t bits) { return bits % prime; }
Number times(Number a, Number b) { return static_cast<Number>(static_cast<unsigned __int128>(a) * b % prime); }
Number plus(Number a, Number b) { return (a + b) % prime; }
Number minus(Number a) { return a == 0 ? 0 : prime - a; }
Number of(std::int64_t n) {
  return n >= 0 ? static_cast<Number>(n) % prime : minus(static_cast<Number>(-(n + 1)) % prime + 1);
}
Number inverse(Number a) {
  Number result = 1;
  for (Number e = prime - 2; e > 0; e /= 2, a = times(a, a)) result = e % 2 == 1 ? times(result, a) : result;
  return result;
}
bool less(Number a, Number b) { return (a >= negative) != (b >= negative) ? a >= negative : a < b; }

Number apply(const Function& f, std::uint32_t number, std::vector<Number> arguments) {
  using Op = Function::Op;
  std::vector<Number> stack;
  bool exact = true;
  for (const Function::Node& node : f.real) {
    const bool unary = node.op == Op::Abs;
    const bool binary =
        node.op == Op::Add || node.op == Op::Sub || node.op == Op::Mul || node.op == Op::Max || node.op == Op::Min;
    if (node.op == Op::Argument)
      stack.push_back(arguments.at(node.argument));
    else if (node.op == Op::Number && node.number == static_cast<double>(static_cast<int>(node.number)))
      stack.push_back(of(static_cast<int>(node.number)));
    else
      exact = exact && stack.size() >= 2u - (unary ? 1u : 0u) && (unary || binary);
    if (!exact) break;
    if (unary) stack.back() = less(stack.back(), 0) ? minus(stack.back()) : stack.back();
    if (!binary) continue;
    const Number b = stack.back();
    stack.pop_back();
    Number& a = stack.back();
    if (node.op == Op::Add)
      a = plus(a, b);
    else if (node.op == Op::Sub)
      a = plus(a, minus(b));
    else if (node.op == Op::Mul)
      a = times(a, b);
    else
      a = less(a, b) == (node.op == Op::Max) ? b : a;
  }
  if (exact && stack.size() == 1) return stack[0];
  const bool zero = std::ranges::all_of(arguments, [](Number a) { return a == 0; });
  if (f.maps_zero_to_zero && zero) return 0;
  if (f.idempotent && arguments.size() == 1 && arguments[0] < negative) return arguments[0];
  if (f.commutative) std::ranges::sort(arguments);
  Number hash = mixed(number + 0x9e3779b97f4a7c15ULL);
  for (const Number argument : arguments) hash = mixed(hash ^ (argument + 0x9e3779b97f4a7c15ULL));
  return hash % (f.idempotent ? negative : prime);
}

}  // namespace rulemill::check
