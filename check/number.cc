#include "check/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "algebra/language/scalar_op.h"

namespace rulemill::check {

using algebra::Function;
using Op = Function::Op;
using Residue = std::uint64_t;

namespace {

// Each is twice the next and one: modulo it, the squares are a group of the next one's order.
constexpr std::array<Residue, 3> primes = {1152921504606719759, 576460752303359879, 288230376151679939};
constexpr std::size_t last = primes.size() - 1;
constexpr Residue square = 4;  // of order primes[i + 1] modulo primes[i]

Residue product(Residue a, Residue b, std::size_t i) {
  return static_cast<Residue>(static_cast<unsigned __int128>(a) * b % primes[i]);
}

Residue power(Residue base, Residue exponent, std::size_t i) {
  Residue result = 1;
  for (; exponent > 0; exponent /= 2, base = product(base, base, i)) {
    if (exponent % 2 == 1) result = product(result, base, i);
  }
  return result;
}

Residue mixed(Residue a) {
  a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9ULL;
  a = (a ^ (a >> 27)) * 0x94d049bb133111ebULL;
  return a ^ (a >> 31);
}

template <class Of>
Number each(long double real, const Of& of) {
  Number result;
  result.real = real;
  for (std::size_t i = 0; i < primes.size(); ++i) result.residue[i] = of(i);
  return result;
}

/// A number that follows from the other alone, and is real as said.
Number hashed(Residue key, const std::vector<Number>& from, long double real) {
  Residue hash = mixed(key + 0x9e3779b97f4a7c15ULL);
  for (const Number& number : from) hash = mixed(hash ^ (number.residue[0] + 0x9e3779b97f4a7c15ULL));
  return each(real, [&](std::size_t i) { return mixed(hash + i) % primes[i]; });
}

const Number zero = of(0), one = of(1);

/// exp: of 0 it is 1 in every residue but the last, where that is said.
Number exponential(const Number& t) {
  const Number other = hashed(static_cast<Residue>(Op::Exp), {t}, 0);
  return each(std::exp(t.real), [&](std::size_t i) {
    if (i == last) return t == zero ? 1 : other.residue[i];
    return power(square, t.residue[i + 1], i);
  });
}

bool is_odd(Op op) { return op == Op::Tanh || op == Op::Erf || op == Op::Sin || op == Op::Asin || op == Op::Atan; }

/// `b` is the last operand, `a` the one before, where there are two. Nothing where it is undefined.
std::optional<Number> step(Op op, const Number& a, const Number& b) {
  switch (op) {
    case Op::Add:
      return plus(a, b);
    case Op::Sub:
      return plus(a, minus(b));
    case Op::Mul:
      return times(a, b);
    case Op::Div:
      return b == zero ? std::nullopt : std::optional(times(a, inverse(b)));
    case Op::Max:
      return less(a, b) ? b : a;
    case Op::Min:
      return less(a, b) ? a : b;
    case Op::Abs:
      return less(b, zero) ? minus(b) : b;
    case Op::Exp:
      return exponential(b);
    case Op::Log:
      if (!less(zero, b)) return std::nullopt;
      return b == one ? zero : hashed(static_cast<Residue>(op), {b}, std::log(b.real));
    case Op::Sqrt:
      if (less(b, zero)) return std::nullopt;
      return b == zero || b == one ? b : hashed(static_cast<Residue>(op), {b}, std::sqrt(b.real));
    case Op::Less:
      return less(a, b) ? one : zero;
    case Op::Equal:
      return a == b ? one : zero;
    case Op::Gate:
      return a == zero ? zero : b;
    default: {
      const long double real = algebra::apply(op, a.real, b.real);
      if (std::isnan(real)) return std::nullopt;
      if (is_odd(op) && less(b, zero)) return minus(*step(op, minus(b), minus(b)));
      if (op == Op::Cos && less(b, zero)) return step(op, minus(b), minus(b));
      if (algebra::is_unary(op)) return b == zero && real == 0 ? b : hashed(static_cast<Residue>(op), {b}, real);
      return hashed(static_cast<Residue>(op), {a, b}, real);
    }
  }
}

Number with_assumed_laws(const Function& f, std::uint32_t number, std::vector<Number> arguments) {
  if (f.parity != 0 && less(arguments[0], zero)) {
    const Number opposite = with_assumed_laws(f, number, {minus(arguments[0])});
    return f.parity < 0 ? minus(opposite) : opposite;
  }
  const bool of_zero = std::ranges::all_of(arguments, [](const Number& a) { return a == zero; });
  constexpr Residue image = primes[0] / 2;  // residues of an idempotent function's values are below
  if (f.maps_zero_to_zero && of_zero) return zero;
  if (f.idempotent && arguments.size() == 1 && arguments[0].residue[0] < image) return arguments[0];
  std::vector<double> reals;
  for (const Number& argument : arguments) reals.push_back(static_cast<double>(argument.real));
  if (f.commutative) std::ranges::sort(arguments);
  Number result = hashed(number + 100, arguments, evaluate(f, reals));
  if (f.idempotent) result.residue[0] %= image;
  return result;
}

}  // namespace

Number drawn(std::uint64_t bits) {
  constexpr int digits = 40;
  const auto n = static_cast<std::int64_t>(bits >> (62 - digits)) - (std::int64_t{1} << (digits + 1));
  return times(of(n), inverse(of(std::int64_t{1} << digits)));
}
Number times(const Number& a, const Number& b) {
  return each(a.real * b.real, [&](std::size_t i) { return product(a.residue[i], b.residue[i], i); });
}
Number plus(const Number& a, const Number& b) {
  return each(a.real + b.real, [&](std::size_t i) { return (a.residue[i] + b.residue[i]) % primes[i]; });
}
Number minus(const Number& a) {
  return each(-a.real, [&](std::size_t i) { return a.residue[i] == 0 ? 0 : primes[i] - a.residue[i]; });
}
Number of(std::int64_t n) {
  const Residue size = n < 0 ? Residue{0} - static_cast<Residue>(n) : static_cast<Residue>(n);
  return each(static_cast<long double>(n), [&](std::size_t i) {
    const Residue residue = size % primes[i];
    return n < 0 && residue != 0 ? primes[i] - residue : residue;
  });
}
Number inverse(const Number& a) {
  return each(a == zero ? 0 : 1 / a.real, [&](std::size_t i) { return power(a.residue[i], primes[i] - 2, i); });
}
bool less(const Number& a, const Number& b) {
  if (a == b) return false;
  const long double scale = std::fabs(a.real) + std::fabs(b.real);
  if (!(std::fabs(a.real - b.real) > 1e-12L * scale) || !std::isfinite(scale)) throw Undecided{};
  return a.real < b.real;
}

Number apply(const Function& f, std::uint32_t number, std::vector<Number> arguments) {
  if (!f.assumed.empty()) return with_assumed_laws(f, number, std::move(arguments));
  std::vector<Number> stack;
  for (const Function::Node& node : f.real) {
    if (node.op == Op::Argument) {
      stack.push_back(arguments.at(node.argument));
    } else if (node.op == Op::Number) {
      stack.push_back(node.exact ? times(of(node.exact->num), inverse(of(node.exact->den)))
                                 : hashed(std::bit_cast<Residue>(node.number), {}, node.number));
    } else {
      const Number b = stack.back();
      stack.pop_back();
      const Number a = algebra::is_unary(node.op) ? b : stack.back();
      if (!algebra::is_unary(node.op)) stack.pop_back();
      const std::optional<Number> value = step(node.op, a, b);
      if (!value) return zero;
      stack.push_back(*value);
    }
  }
  return stack.at(0);
}

}  // namespace rulemill::check
