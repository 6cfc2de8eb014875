#include "check/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "algebra/operators/function_evaluation.h"

namespace rulemill::check {

using algebra::Function;
using FunctionOp = Function::Op;
using Residue = std::uint64_t;

namespace {

// Each prime is twice the next plus one, so that the squares modulo it are a group whose order is the next prime.
constexpr std::array<Residue, 3> primes = {1152921504606719759, 576460752303359879, 288230376151679939};
constexpr std::size_t last_prime = primes.size() - 1;
// Of order primes[i + 1] modulo primes[i], as a square, but of no number that occurs: its root is exp(1/2).
constexpr Residue exp_base = Residue{223092871} * 223092871;

/// A prime as 2^bits less a gap.
struct PrimeForm {
  unsigned bits;
  Residue gap;
};
constexpr PrimeForm form_of(Residue prime) {
  const auto bits = static_cast<unsigned>(std::bit_width(prime));
  return {bits, (Residue{1} << bits) - prime};
}

/// The product of two residues. As 2^bits = gap modulo the prime, product = (product >> bits) · gap + (product mod
/// 2^bits): first below 2^(bits + 17) + 2^bits, then below 2^35 + 2^bits, which is less than twice the prime.
template <std::size_t i>
Residue multiply_mod(Residue a, Residue b) {
  constexpr PrimeForm form = form_of(primes[i]);
  static_assert(form.gap < 1 << 17);
  constexpr Residue low_bits = (Residue{1} << form.bits) - 1;
  const auto product = static_cast<unsigned __int128>(a) * b;
  const auto less = (product >> form.bits) * form.gap + (static_cast<Residue>(product) & low_bits);
  const Residue least = static_cast<Residue>(less >> form.bits) * form.gap + (static_cast<Residue>(less) & low_bits);
  return least >= primes[i] ? least - primes[i] : least;
}
Residue multiply_mod(Residue a, Residue b, std::size_t i) {
  static_assert(primes.size() == 3);
  return i == 0 ? multiply_mod<0>(a, b) : i == 1 ? multiply_mod<1>(a, b) : multiply_mod<2>(a, b);
}

Residue add_mod(Residue a, Residue b, std::size_t i) { return a >= primes[i] - b ? a - (primes[i] - b) : a + b; }

Residue power_mod(Residue base, Residue exponent, std::size_t i) {
  Residue result = 1;
  for (; exponent > 0; exponent /= 2, base = multiply_mod(base, base, i)) {
    if (exponent % 2 == 1) result = multiply_mod(result, base, i);
  }
  return result;
}

Residue mix_bits(Residue a) {
  a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9ULL;
  a = (a ^ (a >> 27)) * 0x94d049bb133111ebULL;
  return a ^ (a >> 31);
}

template <class Of>
Number make_number(long double real, const Of& of) {
  Number result;
  result.real = real;
  for (std::size_t i = 0; i < primes.size(); ++i) result.residue[i] = of(i);
  return result;
}

/// A number whose residues are a hash of the key and the given numbers.
Number hash_to_number(Residue key, const std::vector<Number>& from, long double real) {
  Residue hash = mix_bits(key + 0x9e3779b97f4a7c15ULL);
  for (const Number& number : from) hash = mix_bits(hash ^ (number.residue[0] + 0x9e3779b97f4a7c15ULL));
  Number result = make_number(real, [&](std::size_t i) { return mix_bits(hash + i) % primes[i]; });
  result.has_roots = std::ranges::any_of(from, &Number::has_roots);
  return result;
}

/// The value of a root or a logarithm of b.
Number root(FunctionOp op, const Number& b, long double real) {
  Number result = hash_to_number(static_cast<Residue>(op), {b}, real);
  result.has_roots = true;
  return result;
}

const Number zero = from_integer(0), one = from_integer(1);

/// floor(a) by the real, unless the residues tell that a is a whole number.
Number rounded_down(const Number& a) {
  constexpr long double largest = 1LL << 60;
  if (!(std::fabs(a.real) < largest)) throw Undecided{};
  const auto nearest = static_cast<std::int64_t>(std::llround(a.real));
  Number result = from_integer(nearest);
  if (is_less(a, result)) result = from_integer(nearest - 1);
  result.has_roots = a.has_roots;
  return result;
}

/// A root if the exponent is not a natural number.
std::optional<Number> power(const Number& a, const Number& b) {
  if (const auto exponent = to_natural(b)) {
    Number result = one;
    for (std::int64_t i = 0; i < *exponent; ++i) result = multiply(result, a);
    return result;
  }
  const long double real = std::pow(a.real, b.real);
  if (std::isnan(real) || agree(a, zero)) return std::nullopt;
  Number result = hash_to_number(static_cast<Residue>(FunctionOp::Power), {a, b}, real);
  result.has_roots = true;
  return result;
}

/// exp(0) is 1 in every residue; in the last one it is a special case.
Number exponential(const Number& t) {
  const Number other = hash_to_number(static_cast<Residue>(FunctionOp::Exp), {t}, 0);
  Number result = make_number(std::exp(t.real), [&](std::size_t i) {
    if (i == last_prime) return t == zero ? 1 : other.residue[i];
    return power_mod(exp_base, t.residue[i + 1], i);
  });
  result.has_roots = t.has_roots;
  return result;
}

bool is_odd(FunctionOp op) {
  return op == FunctionOp::Tanh || op == FunctionOp::Erf || op == FunctionOp::Sin || op == FunctionOp::Asin ||
         op == FunctionOp::Atan;
}

/// Applies `op` to its last operand b, and to the one before, a, if it has two. Returns nothing where it is undefined.
std::optional<Number> apply_op(FunctionOp op, const Number& a, const Number& b) {
  switch (op) {
    case FunctionOp::Add:
      return add(a, b);
    case FunctionOp::Sub:
      return add(a, negate(b));
    case FunctionOp::Mul:
      return multiply(a, b);
    case FunctionOp::Div:
      return agree(b, zero) ? std::nullopt : std::optional(multiply(a, reciprocal(b)));
    case FunctionOp::Max:
      return is_less(a, b) ? b : a;
    case FunctionOp::Min:
      return is_less(a, b) ? a : b;
    case FunctionOp::Abs:
      return is_less(b, zero) ? negate(b) : b;
    case FunctionOp::Floor:
      return rounded_down(b);
    case FunctionOp::Power:
      return power(a, b);
    case FunctionOp::Exp:
      return exponential(b);
    case FunctionOp::Log:
      if (!is_less(zero, b)) return std::nullopt;
      return b == one ? zero : root(op, b, std::log(b.real));
    case FunctionOp::Sqrt:
      if (is_less(b, zero)) return std::nullopt;
      return b == zero || b == one ? b : root(op, b, std::sqrt(b.real));
    case FunctionOp::Less:
      return is_less(a, b) ? one : zero;
    case FunctionOp::Equal:
      return agree(a, b) ? one : zero;
    case FunctionOp::Gate:
      return agree(a, zero) ? zero : b;
    default: {
      const long double real = algebra::apply(op, a.real, b.real);
      if (std::isnan(real)) return std::nullopt;
      if (is_odd(op) && is_less(b, zero)) return negate(*apply_op(op, negate(b), negate(b)));
      if (op == FunctionOp::Cos && is_less(b, zero)) return apply_op(op, negate(b), negate(b));
      if (algebra::is_unary(op))
        return b == zero && (real == 0 || real == 1) ? from_integer(real == 1)
                                                     : hash_to_number(static_cast<Residue>(op), {b}, real);
      return hash_to_number(static_cast<Residue>(op), {a, b}, real);
    }
  }
}

Number with_assumed_laws(const Function& f, std::uint32_t number, std::vector<Number> arguments) {
  if (f.parity != 0 && is_less(arguments[0], zero)) {
    const Number negated = with_assumed_laws(f, number, {negate(arguments[0])});
    return f.parity < 0 ? negate(negated) : negated;
  }
  const bool of_zero = std::ranges::all_of(arguments, [](const Number& a) { return a == zero; });
  constexpr Residue image = primes[0] / 2;  // residues of an idempotent function's values are below
  if (f.maps_zero_to_zero && of_zero) return zero;
  if (f.idempotent && arguments.size() == 1 && arguments[0].residue[0] < image) return arguments[0];
  std::vector<double> reals;
  for (const Number& argument : arguments) reals.push_back(static_cast<double>(argument.real));
  if (f.commutative) std::ranges::sort(arguments);
  Number result = hash_to_number(number + 100, arguments, evaluate(f, reals));
  if (f.idempotent) result.residue[0] %= image;
  return result;
}

}  // namespace

Number random_number(std::uint64_t bits) {
  constexpr int digits = 40;
  static const Number unit = reciprocal(from_integer(std::int64_t{1} << digits));
  const auto n = static_cast<std::int64_t>(bits >> (62 - digits)) - (std::int64_t{1} << (digits + 1));
  return multiply(from_integer(n), unit);
}
Number multiply(const Number& a, const Number& b) {
  Number result =
      make_number(a.real * b.real, [&](std::size_t i) { return multiply_mod(a.residue[i], b.residue[i], i); });
  result.has_roots = a.has_roots || b.has_roots;
  return result;
}
Number add(const Number& a, const Number& b) {
  Number result = make_number(a.real + b.real, [&](std::size_t i) { return add_mod(a.residue[i], b.residue[i], i); });
  result.has_roots = a.has_roots || b.has_roots;
  return result;
}
Number negate(const Number& a) {
  Number result = make_number(-a.real, [&](std::size_t i) { return a.residue[i] == 0 ? 0 : primes[i] - a.residue[i]; });
  result.has_roots = a.has_roots;
  return result;
}
Number from_integer(std::int64_t n) {
  const Residue size = n < 0 ? Residue{0} - static_cast<Residue>(n) : static_cast<Residue>(n);
  return make_number(static_cast<long double>(n), [&](std::size_t i) {
    const Residue residue = size < primes[i] ? size : size % primes[i];
    return n < 0 && residue != 0 ? primes[i] - residue : residue;
  });
}
Number reciprocal(const Number& a) {
  if (a.residue == one.residue && a.real == 1) return a;
  Number result =
      make_number(a == zero ? 0 : 1 / a.real, [&](std::size_t i) { return power_mod(a.residue[i], primes[i] - 2, i); });
  result.has_roots = a.has_roots;
  return result;
}
std::optional<std::int64_t> to_natural(const Number& a) {
  if (!(a.real > -0.5L && a.real < 1000.5L)) return std::nullopt;
  const std::int64_t nearest = std::llround(a.real);
  return a == from_integer(nearest) ? std::optional(nearest) : std::nullopt;
}
bool agree(const Number& a, const Number& b) {
  if (a == b || (!a.has_roots && !b.has_roots)) return a == b;
  const long double difference = std::fabs(a.real - b.real);
  const long double scale = 1 + std::fabs(a.real) + std::fabs(b.real);
  const bool is_small = difference <= 1e-12L * scale;
  if (!std::isfinite(difference) || (!is_small && difference <= 1e-6L * scale)) throw Undecided{};
  return is_small;
}
bool is_less(const Number& a, const Number& b) {
  if (agree(a, b)) return false;
  const long double scale = std::fabs(a.real) + std::fabs(b.real);
  if (!(std::fabs(a.real - b.real) > 1e-12L * scale) || !std::isfinite(scale)) throw Undecided{};
  return a.real < b.real;
}

Number apply(const Function& f, std::uint32_t number, std::vector<Number> arguments) {
  if (!f.assumed_laws.empty()) return with_assumed_laws(f, number, std::move(arguments));
  std::vector<Number> stack;
  for (const Function::Instruction& node : f.program) {
    if (node.op == FunctionOp::Argument) {
      stack.push_back(arguments.at(node.argument));
    } else if (node.op == FunctionOp::Number) {
      stack.push_back(node.exact ? multiply(from_integer(node.exact->num), reciprocal(from_integer(node.exact->den)))
                                 : hash_to_number(std::bit_cast<Residue>(node.number), {}, node.number));
    } else {
      const Number b = stack.back();
      stack.pop_back();
      const Number a = algebra::is_unary(node.op) ? b : stack.back();
      if (!algebra::is_unary(node.op)) stack.pop_back();
      const std::optional<Number> value = apply_op(node.op, a, b);
      if (!value) return zero;
      stack.push_back(*value);
    }
  }
  return stack.at(0);
}

}  // namespace rulemill::check
