#include "optimize/onnx/clean/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "optimize/model/rounding.h"

namespace rulemill::optimize {

namespace {

using Proto = onnx::TensorProto;
using Op = SizeOperator;

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <std::integral T>
std::optional<T> combine_numbers(Op op, T a, T b) {
  T result = 0;
  const bool cannot_divide = b == 0 || (b == -1 && a == std::numeric_limits<T>::min());
  switch (op) {
    case Op::Add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::Sub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::Mul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::Div:
      return cannot_divide ? std::nullopt : std::optional(static_cast<T>(a / b));
    case Op::Mod:
      if (cannot_divide) return std::nullopt;
      result = static_cast<T>(a % b);
      return result != 0 && (result < 0) != (b < 0) ? static_cast<T>(result + b) : result;
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

/// IEEE 754 rounds these correctly. A NaN may have any bits, and the sign of the larger or smaller zero depends on the
/// implementation.
template <std::floating_point T>
std::optional<T> combine_numbers(Op op, T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::nullopt;
  if ((op == Op::Min || op == Op::Max) && a == b && std::signbit(a) != std::signbit(b)) return std::nullopt;
  T result = 0;
  switch (op) {
    case Op::Add:
      result = a + b;
      break;
    case Op::Sub:
      result = a - b;
      break;
    case Op::Mul:
      result = a * b;
      break;
    case Op::Div:
      result = a / b;
      break;
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
  return std::isnan(result) ? std::nullopt : std::optional(result);
}

template <typename T>
std::optional<bool> compare(Op op, T a, T b) {
  switch (op) {
    case Op::Equal:
      return a == b;
    case Op::Less:
      return a < b;
    case Op::Greater:
      return a > b;
    case Op::LessOrEqual:
      return a <= b;
    case Op::GreaterOrEqual:
      return a >= b;
    default:
      return std::nullopt;
  }
}

std::optional<bool> combine_bools(Op op, bool a, bool b) {
  switch (op) {
    case Op::And:
      return a && b;
    case Op::Or:
      return a || b;
    case Op::Xor:
      return a != b;
    case Op::Equal:
      return a == b;
    default:
      return std::nullopt;
  }
}

/// Applies `combine` to all pairs of elements; nullopt if one has no result.
template <typename T, typename Combine>
std::optional<RawTensor> combine_all(int type, const RawTensor& a, const RawTensor& b, Combine combine) {
  std::string bytes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.count()); ++i) {
    const auto value = combine(a.element<T>(i), b.element<T>(i));
    if (!value) return std::nullopt;
    append(bytes, *value);
  }
  return make_raw_tensor(type, a.dims, std::move(bytes));
}

template <typename T>
std::optional<RawTensor> combine_as(Op op, const RawTensor& a, const RawTensor& b) {
  if (returns_bool(op)) return combine_all<T>(Proto::BOOL, a, b, [op](T x, T y) { return compare(op, x, y); });
  return combine_all<T>(a.type, a, b, [op](T x, T y) { return combine_numbers(op, x, y); });
}

template <typename T>
std::optional<T> map_number(UnaryOperator op, T value) {
  constexpr bool is_float = std::is_floating_point_v<T>;
  if (op == UnaryOperator::Neg || op == UnaryOperator::Abs) {
    if (!is_float && value == std::numeric_limits<T>::min()) return std::nullopt;
    if constexpr (is_float) {
      if (std::isnan(value)) return std::nullopt;
      return op == UnaryOperator::Neg ? -value : std::fabs(value);
    } else {
      return op == UnaryOperator::Neg || value < 0 ? static_cast<T>(-value) : value;
    }
  }
  if constexpr (is_float) {
    // The sign of a zero that a negative number is rounded to depends on the implementation.
    if (!(value >= 0) || std::signbit(value)) return std::nullopt;
    if (op == UnaryOperator::Sqrt) return std::sqrt(value);
    return op == UnaryOperator::Floor ? std::floor(value) : std::ceil(value);
  }
  return std::nullopt;
}

template <typename T>
std::optional<RawTensor> map_as(UnaryOperator op, const RawTensor& input) {
  return combine_all<T>(input.type, input, input, [op](T value, T) { return map_number(op, value); });
}

/// Appends a number of a type; returns false if it does not fit or the type is not supported.
template <typename T>
bool append_converted(std::string& bytes, int type, T value) {
  const auto add_integer = [&]<typename To>(To) {
    if constexpr (std::is_floating_point_v<T>) {
      const T limit = std::ldexp(T{1}, std::numeric_limits<To>::digits);
      if (!(value > -limit && value < limit) || (std::is_unsigned_v<To> && value < 0)) return false;
    }
    append(bytes, static_cast<To>(value));
    return true;
  };
  const auto single = static_cast<float>(value);
  const bool fits_single = std::isfinite(single) || !std::isfinite(static_cast<double>(value));
  switch (type) {
    case Proto::BOOL:
      append(bytes, static_cast<std::uint8_t>(value != 0));
      return true;
    case Proto::INT64:
      return add_integer(std::int64_t{});
    case Proto::INT32:
      return add_integer(std::int32_t{});
    case Proto::INT8:
      return add_integer(std::int8_t{});
    case Proto::UINT8:
      return add_integer(std::uint8_t{});
    case Proto::DOUBLE:
      append(bytes, static_cast<double>(value));
      return true;
    case Proto::FLOAT:
      append(bytes, single);
      return fits_single;
    case Proto::FLOAT16: {
      const std::uint16_t half = to_float16(single);
      append(bytes, half);
      return fits_single && std::isfinite(from_float16(half)) == std::isfinite(single);
    }
    default:
      return false;
  }
}

template <typename T>
std::optional<RawTensor> convert_numbers(const std::vector<T>& values, const RawTensor& input, int type) {
  std::string bytes;
  for (const T value : values) {
    if (std::isnan(static_cast<double>(value)) || !append_converted(bytes, type, value)) return std::nullopt;
  }
  return make_raw_tensor(type, input.dims, std::move(bytes));
}

template <typename T, typename Decode>
auto decode_all(const RawTensor& input, Decode decode) {
  std::vector<decltype(decode(T()))> values;
  for (std::size_t i = 0; i < static_cast<std::size_t>(input.count()); ++i)
    values.push_back(decode(input.element<T>(i)));
  return values;
}

}  // namespace

std::optional<RawTensor> combine_elements(SizeOperator op, const RawTensor& a, const RawTensor& b) {
  if (a.type != b.type) return std::nullopt;
  switch (a.type) {
    case Proto::INT64:
      return combine_as<std::int64_t>(op, a, b);
    case Proto::INT32:
      return combine_as<std::int32_t>(op, a, b);
    case Proto::FLOAT:
      return combine_as<float>(op, a, b);
    case Proto::DOUBLE:
      return combine_as<double>(op, a, b);
    case Proto::BOOL:
      return combine_all<std::uint8_t>(
          Proto::BOOL, a, b, [op](std::uint8_t x, std::uint8_t y) { return combine_bools(op, x != 0, y != 0); });
    default:
      return std::nullopt;
  }
}

std::optional<RawTensor> map_elements(UnaryOperator op, const RawTensor& input) {
  if (op == UnaryOperator::Not) {
    if (input.type != Proto::BOOL) return std::nullopt;
    return combine_all<std::uint8_t>(Proto::BOOL, input, input, [](std::uint8_t value, std::uint8_t) {
      return std::optional(static_cast<std::uint8_t>(value == 0));
    });
  }
  switch (input.type) {
    case Proto::INT64:
      return map_as<std::int64_t>(op, input);
    case Proto::INT32:
      return map_as<std::int32_t>(op, input);
    case Proto::FLOAT:
      return map_as<float>(op, input);
    case Proto::DOUBLE:
      return map_as<double>(op, input);
    default:
      return std::nullopt;
  }
}

std::optional<RawTensor> convert_elements(const RawTensor& input, int type) {
  const auto as_integer = [](auto value) { return static_cast<std::int64_t>(value); };
  const auto as_double = [](auto value) { return static_cast<double>(value); };
  switch (input.type) {
    case Proto::BOOL:
      return convert_numbers(decode_all<std::uint8_t>(input, [](auto value) { return std::int64_t{value != 0}; }),
                             input, type);
    case Proto::INT64:
      return convert_numbers(decode_all<std::int64_t>(input, as_integer), input, type);
    case Proto::INT32:
      return convert_numbers(decode_all<std::int32_t>(input, as_integer), input, type);
    case Proto::FLOAT:
      return convert_numbers(decode_all<float>(input, as_double), input, type);
    case Proto::DOUBLE:
      return convert_numbers(decode_all<double>(input, as_double), input, type);
    case Proto::FLOAT16:
      return convert_numbers(decode_all<std::uint16_t>(input, from_float16), input, type);
    default:
      return std::nullopt;
  }
}

}  // namespace rulemill::optimize
