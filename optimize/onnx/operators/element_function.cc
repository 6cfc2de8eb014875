#include "optimize/onnx/operators/element_function.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "optimize/model/rounding.h"

namespace rulemill::optimize {
namespace {

using Proto = onnx::TensorProto;
using algebra::Poly;
using algebra::Symbols;
using Integer = std::optional<std::int64_t>;
using Real = std::optional<double>;
using Size = std::optional<Poly>;

Integer sum(std::int64_t a, std::int64_t b) { return __builtin_add_overflow(a, b, &a) ? std::nullopt : Integer(a); }

Integer difference(std::int64_t a, std::int64_t b) {
  return __builtin_sub_overflow(a, b, &a) ? std::nullopt : Integer(a);
}

Integer product_of(std::int64_t a, std::int64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? std::nullopt : Integer(a);
}

/// The quotient of integers is rounded towards zero.
Integer quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && !difference(0, a))) return std::nullopt;
  return a / b;
}

/// A product or quotient below the normal numbers is no longer what it is over the reals.
Real unless_tiny(double result, bool is_exact) {
  return is_exact || std::fabs(result) >= std::numeric_limits<double>::min() ? Real(result) : std::nullopt;
}

/// The remainder of integers has the sign of the divisor.
Integer remainder(std::int64_t a, std::int64_t b) {
  if (!quotient(a, b)) return std::nullopt;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Sizes are divided where rounding down is rounding towards zero.
Size quotient_of_sizes(Symbols& symbols, const Poly& a, const Poly& b) {
  const bool is_exact = symbols.is_nonnegative(a) && symbols.is_positive(b);
  return is_exact ? Size(symbols.floor_div(a, b)) : std::nullopt;
}

Size remainder_of_sizes(Symbols& symbols, const Poly& a, const Poly& b) {
  const Size quotient = quotient_of_sizes(symbols, a, b);
  return quotient ? Size(a - *quotient * b) : std::nullopt;
}

/// Zeros of different signs are equal, and which one is returned depends on the implementation.
bool is_ambiguous(double a, double b) {
  return std::isnan(a) || std::isnan(b) || (a == b && std::signbit(a) != std::signbit(b));
}

/// The sign of the zero that a negative number is rounded to depends on the implementation.
bool is_negative(double a) { return !(a >= 0) || std::signbit(a); }

bool less(const Symbols& symbols, const Poly& a, const Poly& b) { return symbols.is_positive(b - a); }
bool less_equal(const Symbols& symbols, const Poly& a, const Poly& b) { return symbols.is_nonnegative(b - a); }
bool greater(const Symbols& symbols, const Poly& a, const Poly& b) { return less(symbols, b, a); }
bool greater_equal(const Symbols& symbols, const Poly& a, const Poly& b) { return less_equal(symbols, b, a); }
bool equal(const Symbols&, const Poly& a, const Poly& b) { return a == b; }
bool differ(const Symbols& symbols, const Poly& a, const Poly& b) { return less(symbols, a, b) || less(symbols, b, a); }

template <typename T, class Relation>
std::optional<T> compare(T a, T b) {
  return Relation()(a, b);
}

/// Whether the relation holds for all sizes, or its opposite.
template <auto relation, auto opposite>
Size compare_sizes(Symbols& symbols, const Poly& a, const Poly& b) {
  const bool holds = relation(symbols, a, b);
  return holds == opposite(symbols, b, a) ? std::nullopt : Size(holds ? 1 : 0);
}

template <class Relation, auto of_sizes, auto opposite>
constexpr ElementFunction comparison(std::string_view name) {
  return {name, compare<std::int64_t, Relation>, compare<double, Relation>, compare_sizes<of_sizes, opposite>, true};
}

constexpr ElementFunction logical(std::string_view name, decltype(ElementFunction::integers) function) {
  return {name, function, nullptr, nullptr, true, true};
}

constexpr ElementFunction functions[] = {
    {"Abs", [](auto a, auto) { return a < 0 ? difference(0, a) : Integer(a); },
     [](auto a, auto) { return Real(std::fabs(a)); },
     [](auto& symbols, auto& a, auto&) { return symbols.is_nonnegative(a) ? Size(a) : std::nullopt; }},
    {"Neg", [](auto a, auto) { return difference(0, a); }, [](auto a, auto) { return Real(-a); },
     [](auto&, auto& a, auto&) { return Size(-a); }},
    {"Sqrt", nullptr, [](auto a, auto) { return is_negative(a) ? std::nullopt : Real(std::sqrt(a)); }},
    {"Floor", nullptr, [](auto a, auto) { return is_negative(a) ? std::nullopt : Real(std::floor(a)); }},
    {"Ceil", nullptr, [](auto a, auto) { return is_negative(a) ? std::nullopt : Real(std::ceil(a)); }},
    logical("Not", [](auto a, auto) { return Integer(a == 0); }),
    logical("And", [](auto a, auto b) { return Integer(a != 0 && b != 0); }),
    logical("Or", [](auto a, auto b) { return Integer(a != 0 || b != 0); }),
    logical("Xor", [](auto a, auto b) { return Integer((a != 0) != (b != 0)); }),
    {"Add", sum, [](auto a, auto b) { return Real(a + b); }, [](auto&, auto& a, auto& b) { return Size(a + b); }},
    {"Sub", difference, [](auto a, auto b) { return Real(a - b); },
     [](auto&, auto& a, auto& b) { return Size(a - b); }},
    {"Mul", product_of, [](auto a, auto b) { return unless_tiny(a * b, a == 0 || b == 0); },
     [](auto&, auto& a, auto& b) { return Size(a * b); }},
    {"Div", quotient, [](auto a, auto b) { return unless_tiny(a / b, a == 0 || std::isinf(b)); }, quotient_of_sizes},
    {"Mod", remainder, nullptr, remainder_of_sizes},
    {"Min", [](auto a, auto b) { return Integer(std::min(a, b)); },
     [](auto a, auto b) { return is_ambiguous(a, b) ? std::nullopt : Real(std::min(a, b)); },
     [](auto& symbols, auto& a, auto& b) { return Size(symbols.min(a, b)); }},
    {"Max", [](auto a, auto b) { return Integer(std::max(a, b)); },
     [](auto a, auto b) { return is_ambiguous(a, b) ? std::nullopt : Real(std::max(a, b)); },
     [](auto& symbols, auto& a, auto& b) { return Size(symbols.max(a, b)); }},
    comparison<std::equal_to<>, equal, differ>("Equal"),
    comparison<std::less<>, less, less_equal>("Less"),
    comparison<std::greater<>, greater, greater_equal>("Greater"),
    comparison<std::less_equal<>, less_equal, less>("LessOrEqual"),
    comparison<std::greater_equal<>, greater_equal, greater>("GreaterOrEqual"),
};

bool is_real(int type) { return type == Proto::FLOAT || type == Proto::DOUBLE || type == Proto::FLOAT16; }

/// Appends a number, of which `single` is the value in float32. Returns false if a finite number becomes infinite.
bool append_real(std::string& bytes, int type, double value, float single) {
  const auto add = [&](auto element) { bytes.append(reinterpret_cast<const char*>(&element), sizeof element); };
  if (type == Proto::DOUBLE) add(value);
  if (type == Proto::FLOAT) add(single);
  if (type == Proto::FLOAT16) add(to_float16(single));
  const double stored = type == Proto::DOUBLE  ? value
                        : type == Proto::FLOAT ? single
                                               : from_float16(to_float16(single));
  return std::isfinite(stored) == std::isfinite(value);
}

/// Appends an integer, of which the type keeps the lowest bits as everywhere. Returns false if it becomes infinite.
bool append(std::string& bytes, int type, std::int64_t value) {
  if (is_real(type)) return append_real(bytes, type, static_cast<double>(value), static_cast<float>(value));
  append_integer(bytes, type, type == Proto::BOOL ? value != 0 : value);
  return true;
}

/// Appends a number, without its fraction if the type is an integer. Returns false if it does not fit.
bool append(std::string& bytes, int type, double value) {
  if (std::isnan(value)) return false;
  if (is_real(type)) return append_real(bytes, type, value, static_cast<float>(value));
  if (type == Proto::BOOL) return append(bytes, type, std::int64_t{value != 0});
  const int digits = type == Proto::INT64 ? 63 : type == Proto::INT32 ? 31 : type == Proto::INT8 ? 7 : 8;
  const double limit = std::ldexp(1.0, digits);
  if (!(value < limit && (type == Proto::UINT8 ? value >= 0 : value > -limit))) return false;
  return append(bytes, type, static_cast<std::int64_t>(value));
}

}  // namespace

double real_at(const RawTensor& tensor, std::size_t i) {
  if (tensor.type == Proto::DOUBLE) return tensor.element<double>(i);
  return tensor.type == Proto::FLOAT ? tensor.element<float>(i) : from_float16(tensor.element<std::uint16_t>(i));
}

const ElementFunction* element_function(std::string_view op_type) {
  const auto* found = std::ranges::find(functions, op_type, &ElementFunction::name);
  return found == std::end(functions) ? nullptr : found;
}

std::optional<RawTensor> apply(const ElementFunction& function, const RawTensor& a, const RawTensor& b) {
  const bool has_reals = a.type == Proto::FLOAT || a.type == Proto::DOUBLE, has_bools = a.type == Proto::BOOL;
  if (a.type != b.type || (has_reals ? function.reals == nullptr : function.integers == nullptr)) return std::nullopt;
  if (has_bools ? !function.takes_bools && function.name != "Equal" : function.takes_bools) return std::nullopt;
  const auto integers = a.integers(), others = b.integers();
  if (!has_reals && !integers) return std::nullopt;
  const DataType float_type = a.type == Proto::DOUBLE ? DataType::Float64 : DataType::Float32;
  const int type = function.returns_bool ? int{Proto::BOOL} : a.type;
  std::string bytes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.count()); ++i) {
    if (has_reals) {
      const double left = real_at(a, i), right = real_at(b, i);
      const Real value = function.reals(left, right);
      if (!value || std::isnan(*value)) return std::nullopt;
      if (std::isfinite(left) && std::isfinite(right) && !is_in_range(*value, float_type)) return std::nullopt;
      append(bytes, type, *value);
    } else {
      const Integer value = function.integers((*integers)[i], (*others)[i]);
      if (!value || (type == Proto::INT32 && *value != static_cast<std::int32_t>(*value))) return std::nullopt;
      append(bytes, type, *value);
    }
  }
  return make_raw_tensor(type, a.dims, std::move(bytes));
}

bool is_finite(const RawTensor& tensor) {
  bool finite = is_real(tensor.type) || tensor.integers();
  for (std::size_t i = 0; is_real(tensor.type) && i < static_cast<std::size_t>(tensor.count()); ++i)
    finite = finite && std::isfinite(real_at(tensor, i));
  return finite;
}

std::optional<RawTensor> convert_elements(const RawTensor& input, int type) {
  static constexpr int converted_types[] = {Proto::BOOL,  Proto::INT64, Proto::INT32,  Proto::INT8,
                                            Proto::UINT8, Proto::FLOAT, Proto::DOUBLE, Proto::FLOAT16};
  const auto integers = input.integers();
  if ((!integers && !is_real(input.type)) || std::ranges::count(converted_types, type) == 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(input.count()); ++i) {
    if (integers ? !append(bytes, type, (*integers)[i]) : !append(bytes, type, real_at(input, i))) return std::nullopt;
  }
  return make_raw_tensor(type, input.dims, std::move(bytes));
}

}  // namespace rulemill::optimize
