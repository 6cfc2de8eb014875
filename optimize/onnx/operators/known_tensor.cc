#include "optimize/onnx/operators/known_tensor.h"

#include <algorithm>
#include <limits>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize {
namespace {

using algebra::Poly;
using algebra::Symbols;

/// Returns a bound of the absolute value. Throws Overflow.
std::int64_t magnitude(const Poly& poly, const Symbols& symbols) {
  std::int64_t sum = 0;
  for (const Poly::Term& term : poly.terms()) {
    std::int64_t product = std::abs(term.coefficient);
    for (const algebra::Atom atom : term.monomial) {
      const auto kind = symbols.kind(atom);
      std::int64_t factor = max_dimension;
      if (kind == Symbols::Kind::FloorDiv) factor = magnitude(symbols.left(atom), symbols);
      if (kind == Symbols::Kind::Min || kind == Symbols::Kind::Max)
        factor = std::max(magnitude(symbols.left(atom), symbols), magnitude(symbols.right(atom), symbols));
      product = algebra::checked_multiply(product, factor);
    }
    sum = algebra::checked_add(sum, product);
  }
  return sum;
}

bool fits(int type, const Poly& element, const EvaluationContext& context) {
  const auto number = element.constant();
  if (type == onnx::TensorProto::BOOL) return number && (*number == 0 || *number == 1);
  if (type == onnx::TensorProto::INT64) return true;
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (type != onnx::TensorProto::INT32) return false;
  if (number) return std::abs(*number) <= limit;
  const bool is_dimension = context.dimensions != nullptr && context.dimensions->contains(element);
  return is_dimension || magnitude(element, context.symbols) <= limit;
}

}  // namespace

KnownTensor make_known(RawTensor numbers) {
  KnownTensor known{numbers.type, Dimensions(numbers.dims.begin(), numbers.dims.end())};
  known.numbers = std::move(numbers);
  return known;
}

KnownTensor make_known(int type, const Dims& dims, const std::vector<Poly>& elements,
                       const EvaluationContext& context) {
  KnownTensor known{type, Dimensions(dims.begin(), dims.end())};
  if (!std::ranges::all_of(elements, [&](const Poly& each) { return fits(type, each, context); })) return known;
  if (std::ranges::all_of(elements, [](const Poly& each) { return each.constant().has_value(); })) {
    std::string bytes;
    for (const Poly& each : elements) append_integer(bytes, type, *each.constant());
    known.numbers = make_raw_tensor(type, dims, std::move(bytes));
  } else if (elements.size() <= max_size_elements) {
    known.sizes = elements;
  }
  return known;
}

std::optional<std::vector<Poly>> to_sizes(const KnownTensor& tensor) {
  if (tensor.sizes || !tensor.numbers || tensor.numbers->count() > static_cast<std::int64_t>(max_size_elements))
    return tensor.sizes;
  const auto integers = tensor.numbers->integers();
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  if (!integers || std::ranges::find(*integers, lowest) != integers->end()) return std::nullopt;
  return std::vector<Poly>(integers->begin(), integers->end());
}

std::optional<algebra::Shape> to_shape(const std::optional<Dimensions>& dims) {
  if (!dims) return std::nullopt;
  algebra::Shape shape;
  for (const Dimension& dim : *dims) {
    if (!dim) return std::nullopt;
    shape.push_back(*dim);
  }
  return shape;
}

std::optional<Dims> to_numbers(const std::optional<Dimensions>& dims) {
  if (!dims) return std::nullopt;
  Dims numbers;
  for (const Dimension& dim : *dims) {
    const auto number = dim ? dim->constant() : std::nullopt;
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Dimension product(std::span<const Dimension> dims) {
  Poly result(1);
  for (const Dimension& dim : dims) {
    if (!dim) return std::nullopt;
    result = result * *dim;
  }
  return result;
}

}  // namespace rulemill::optimize
