#include "optimize/onnx/mapping.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rulemill::optimize {

namespace {

OnnxLiteral literal(const algebra::OnnxValue& value, std::span<const algebra::Poly> sizes, algebra::Symbols& symbols,
                    int kind) {
  OnnxLiteral result;
  if (value.kind) result.integers = {algebra::Poly(kind)};
  result.is_list = value.is_list;
  result.word = value.word;
  result.number = value.number;
  result.reals = value.reals;
  for (const algebra::IndexExprPtr& expr : value.values)
    result.integers.push_back(algebra::evaluate(*expr, sizes, {}, symbols));
  return result;
}

/// As it can be written: numbers, and of a shape those that the first input has in the same place, and one that follows
/// from the others. Nothing if there is more, and it is not known when the model runs either.
std::optional<OnnxLiteral> written(const algebra::OnnxValue& value, std::span<const algebra::Poly> sizes,
                                   algebra::Symbols& symbols, const OnnxPlace& place) {
  OnnxLiteral result = literal(value, sizes, symbols, place.kind);
  std::vector<algebra::Poly*> open;
  for (std::size_t d = 0; d < result.integers.size(); ++d) {
    algebra::Poly& element = result.integers[d];
    const bool copied = value.shape && place.first_shape && d < place.first_shape->size();
    if (element.constant()) continue;
    if (copied && element == (*place.first_shape)[d]) {
      element = algebra::Poly(0);
    } else {
      open.push_back(&element);
    }
  }
  if (value.shape && open.size() == 1) {
    *open[0] = algebra::Poly(-1);
    open.clear();
  }
  const bool computed = place.known && result.is_list && !result.reals;
  const bool said =
      open.empty() || (computed && std::ranges::all_of(open, [&](auto* each) { return place.known(*each); }));
  return said ? std::optional(std::move(result)) : std::nullopt;
}

algebra::Poly product(std::span<const algebra::Poly> factors) {
  algebra::Poly result(1);
  for (const algebra::Poly& factor : factors) result = result * factor;
  return result;
}

/// The product of `all` over that of `known`.
algebra::Poly quotient(std::vector<algebra::Poly> all, std::vector<algebra::Poly> known, algebra::Symbols& symbols) {
  std::erase_if(known, [&](const algebra::Poly& factor) {
    auto same = std::ranges::find(all, factor);
    if (same == all.end()) return false;
    all.erase(same);
    return true;
  });
  const algebra::Poly above = product(all), below = product(known);
  if (below.terms().size() == 1) {
    if (auto exact = above.divided_by(below.terms()[0])) return *exact;
  }
  return below.is_zero() ? below : symbols.floor_div(above, below);
}

constexpr std::int64_t to_the_end = 0x7fffffff;

algebra::Poly from_the_end(algebra::Poly element, const algebra::Poly& end) {
  const auto number = element.constant();
  return number && *number < 0 ? element + end : element;
}

algebra::Poly clamped(const algebra::Poly& element, const algebra::Poly& end) {
  const algebra::Poly value = from_the_end(element, end);
  const auto number = value.constant(), last = end.constant();
  if (number && *number >= to_the_end) return end;
  if (number && *number < 0) return algebra::Poly(0);
  return number && last && *number > *last ? end : value;
}

bool equal(const OnnxLiteral& said, const OnnxLiteral& found) {
  if (found.other) return false;
  if (said.word) return found.word == said.word;
  if (said.number) {
    return found.number && std::abs(*found.number - *said.number) <= 1e-6 * std::abs(*said.number);
  }
  return !found.word && !found.number && found.reals == said.reals && found.integers == said.integers;
}

bool equals(const algebra::Poly& poly, double number) {
  const auto constant = poly.constant();
  return constant && static_cast<double>(*constant) == number;
}

/// Whether leaving the attribute out says this value.
bool said_by_absence(const algebra::OnnxAttribute& attribute, const OnnxLiteral& value,
                     std::span<const algebra::Poly> sizes, algebra::Symbols& symbols) {
  if (attribute.absent_any) return true;
  if (attribute.absent && attribute.value.wrapped && value.integers.size() == 1) {
    const algebra::Poly end = algebra::evaluate(*attribute.value.wrapped, sizes, {}, symbols);
    return value.integers[0] == from_the_end(algebra::Poly(static_cast<std::int64_t>(*attribute.absent)), end);
  }
  if (attribute.absent_word) return value.word == attribute.absent_word;
  if (!attribute.absent) return false;
  if (value.number) return *value.number == *attribute.absent;
  return !value.word && std::ranges::all_of(value.integers, [&](const algebra::Poly& element) {
    return equals(element, *attribute.absent);
  });
}

}  // namespace

OnnxLiteral normalized(const algebra::OnnxValue& value, OnnxLiteral literal, const OnnxNodeFacts& facts,
                       std::span<const algebra::Poly> sizes, algebra::Symbols& symbols) {
  if (value.wrapped || value.clamped) {
    const algebra::Poly end = algebra::evaluate(value.wrapped ? *value.wrapped : *value.clamped, sizes, {}, symbols);
    for (algebra::Poly& element : literal.integers)
      element = value.wrapped ? from_the_end(element, end) : clamped(element, end);
  }
  if (!value.shape || !facts.first_shape) return literal;
  std::vector<algebra::Poly> known;
  std::vector<std::size_t> open;
  for (std::size_t d = 0; d < literal.integers.size(); ++d) {
    algebra::Poly& element = literal.integers[d];
    if (element.is_zero() && d < facts.first_shape->size()) element = (*facts.first_shape)[d];
    if (element == algebra::Poly(-1))
      open.push_back(d);
    else
      known.push_back(element);
  }
  if (open.size() == 1) literal.integers[open[0]] = quotient(*facts.first_shape, known, symbols);
  return literal;
}

std::string mismatch(const algebra::OnnxMapping& mapping, const OnnxNodeFacts& facts,
                     std::span<const algebra::Poly> sizes, algebra::Symbols& symbols) {
  for (const auto& found : facts.attributes) {
    const std::string& name = found.first;
    bool known = std::ranges::any_of(mapping.attributes, [&](const auto& said) { return said.name == name; });
    if (!known) return "attribute " + name + " is not in the mapping";
  }
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    if (attribute.ignored || attribute.value.argument) continue;
    auto found = facts.attributes.find(attribute.name);
    const OnnxLiteral said = literal(attribute.value, sizes, symbols, facts.kind);
    if (found == facts.attributes.end()) {
      if (!said_by_absence(attribute, said, sizes, symbols)) return "attribute " + attribute.name + " is absent";
    } else if (!equal(said, normalized(attribute.value, found->second, facts, sizes, symbols))) {
      return "attribute " + attribute.name + " has another value";
    }
  }
  for (std::size_t i = 0; i < mapping.inputs.size(); ++i) {
    if (mapping.inputs[i].argument || mapping.inputs[i].absent) continue;
    if (i >= facts.constant_inputs.size() || !facts.constant_inputs[i]) {
      return "input " + std::to_string(i) + " is not a constant";
    }
    const algebra::OnnxValue& value = mapping.inputs[i].constant;
    if (!value.number && value.is_list != facts.constant_inputs[i]->is_list)
      return "constant input " + std::to_string(i) + " has another rank";
    if (!equal(literal(value, sizes, symbols, facts.kind),
               normalized(value, *facts.constant_inputs[i], facts, sizes, symbols)))
      return "constant input " + std::to_string(i) + " has another value";
  }
  std::vector<algebra::Poly> with_outputs(sizes.begin(), sizes.end());
  with_outputs.emplace_back(static_cast<std::int64_t>(facts.outputs));
  for (const auto& [slot, expr] : mapping.sizes) {
    if (sizes[slot] != algebra::evaluate(*expr, with_outputs, {}, symbols))
      return "its sizes are not those it computes";
  }
  return {};
}

std::optional<OnnxNodeText> emit(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> sizes,
                                 algebra::Symbols& symbols, const OnnxPlace& place) {
  OnnxPlace fixed = place;
  fixed.known = nullptr;
  OnnxNodeText text;
  text.op_type = mapping.op_type;
  text.wrapper = mapping.wrapper;
  text.variadic = mapping.variadic;
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    if (attribute.ignored) continue;
    if (attribute.value.argument) {
      text.attribute_arguments.emplace(attribute.name, *attribute.value.argument);
      if (attribute.value.reals) text.tensor_attributes.insert(attribute.name);
      continue;
    }
    auto said = written(attribute.value, sizes, symbols, fixed);
    if (!said) {
      if (!attribute.absent_any) return std::nullopt;
    } else if (!said_by_absence(attribute, *said, sizes, symbols) ||
               (attribute.absent_any && !said->integers.empty())) {
      text.attributes.emplace(attribute.name, std::move(*said));
    }
  }
  for (const algebra::OnnxInput& input : mapping.inputs) {
    auto said = written(input.constant, sizes, symbols, place);
    if (!input.argument && !said) return std::nullopt;
    if (said) said->other = input.absent;
    text.arguments.push_back(input.argument);
    text.constants.push_back(input.argument ? OnnxLiteral{} : std::move(*said));
  }
  return text;
}

std::optional<OnnxNodeText> emit(const algebra::Instance& instance, std::span<const algebra::Poly> sizes, int opset,
                                 algebra::Symbols& symbols, const OnnxPlace& place) {
  OnnxPlace fixed = place;
  fixed.known = nullptr;
  for (const OnnxPlace* each : std::array{&std::as_const(fixed), &place}) {
    for (const algebra::OnnxMapping& mapping : instance.onnx) {
      if (opset < mapping.since || opset >= mapping.until || !mapping.sizes.empty()) continue;
      if (auto text = emit(mapping, sizes, symbols, *each)) return text;
    }
    if (!place.known) break;
  }
  return std::nullopt;
}

std::vector<std::int64_t> integers_of(const OnnxNodeFacts& facts) {
  std::vector<std::int64_t> found;
  auto add = [&](std::int64_t number) {
    if (std::ranges::find(found, number) == found.end()) found.push_back(number);
  };
  auto add_numbers = [&](const OnnxLiteral& literal) {
    for (const algebra::Poly& element : literal.integers) {
      if (auto number = element.constant()) add(*number);
    }
  };
  for (const auto& [name, literal] : facts.attributes) add_numbers(literal);
  for (const auto& input : facts.constant_inputs) {
    if (input) add_numbers(*input);
  }
  add(1);
  add(0);
  return found;
}

}  // namespace rulemill::optimize
