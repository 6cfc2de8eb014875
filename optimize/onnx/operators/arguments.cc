#include "optimize/onnx/operators/arguments.h"

#include <algorithm>
#include <limits>

#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {

using algebra::Poly;

bool Arguments::has(int input) const {
  return has_input(node, input) && static_cast<std::size_t>(input) < inputs.size();
}

const KnownTensor& Arguments::input(int i) const {
  static const KnownTensor unknown;
  return has(i) ? inputs[static_cast<std::size_t>(i)] : unknown;
}

bool Arguments::List::consists_of(std::int64_t number) const {
  return values && std::ranges::all_of(*values, [&](const Dimension& value) { return value == Poly(number); });
}

Arguments::List Arguments::list(int i, const std::string& attribute) const {
  List result;
  const auto set = [&](const auto& integers) {
    // The lowest integer has no negation; the next one is as far before the start.
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min() + 1;
    result.values.emplace();
    for (const std::int64_t integer : integers) result.values->push_back(Poly(std::max(integer, lowest)));
  };
  const onnx::AttributeProto* given = find_attribute(node, attribute);
  result.is_given = given != nullptr || has(i);
  if (given != nullptr) {
    set(given->ints());
  } else if (const auto integers = input(i).numbers ? input(i).numbers->integers() : std::nullopt) {
    set(*integers);
  } else if (const auto& sizes = input(i).sizes) {
    result.values.emplace(sizes->begin(), sizes->end());
  } else if (const auto length = to_numbers(input(i).dims); length && length->size() == 1 && length->at(0) <= 64) {
    result.values.emplace(static_cast<std::size_t>(length->at(0)), std::nullopt);
  }
  return result;
}

Dimension Arguments::single(int i) const {
  const List found = list(i);
  return found.values && found.values->size() == 1 ? found.values->at(0) : std::nullopt;
}

std::int64_t Arguments::integer(const std::string& attribute, std::int64_t default_value) const {
  return int_attribute(node, attribute, default_value);
}

int Arguments::cast_type() const {
  return node.op_type() == "CastLike" ? input(1).type : static_cast<int>(integer("to", 0));
}

std::optional<std::size_t> Arguments::axis(std::int64_t default_value) const {
  const std::int64_t found = dims() ? resolve_axis(integer("axis", default_value), dims()->size()) : -1;
  return found < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(found));
}

/// min(c, size) with c > 1 is 1 only if the size is 1. So if the other operand has this size, both are equal.
bool Arguments::are_compatible_if_equal(const Poly& bounded, const Poly& size) const {
  using Kind = algebra::Symbols::Kind;
  const auto atom = bounded.atom();
  if (!atom || symbols().kind(*atom) != Kind::Min) return false;
  const Poly &a = symbols().left(*atom), &b = symbols().right(*atom);
  const auto number = a == size ? b.constant() : b == size ? a.constant() : std::nullopt;
  if (!number || *number <= 1) return false;
  if (!context.required_bound) context.required_bound.emplace(size, *number);
  return true;
}

Dimension Arguments::broadcast(const Dimension& a, const Dimension& b) const {
  if (a == b || b == Poly(1)) return a;
  if (a == Poly(1)) return b;
  if (a && a->constant()) return a;
  if (b && b->constant()) return b;
  if (!a || !b) return std::nullopt;
  if (are_compatible_if_equal(*a, *b)) return b;
  if (are_compatible_if_equal(*b, *a)) return a;
  if (symbols().is_positive(*a) && symbols().is_positive(*b)) return symbols().max(*a, *b);
  return std::nullopt;
}

std::optional<Dimensions> Arguments::broadcast(const Dimensions& a, const Dimensions& b) const {
  if (a.size() < b.size()) return broadcast(b, a);
  Dimensions result = a;
  for (std::size_t i = 1; i <= b.size(); ++i) {
    Dimension& dim = result[a.size() - i];
    const Dimension& other = b[b.size() - i];
    const auto x = dim ? dim->constant() : std::nullopt, y = other ? other->constant() : std::nullopt;
    if (x && y && *x != *y && *x != 1 && *y != 1) return std::nullopt;
    dim = broadcast(dim, other);
  }
  return result;
}

std::optional<Dimensions> Arguments::broadcast_inputs() const {
  std::optional<Dimensions> result = Dimensions();
  for (int i = 0; result && i < node.input_size(); ++i) result = dims(i) ? broadcast(*result, *dims(i)) : std::nullopt;
  return result;
}

}  // namespace rulemill::optimize
