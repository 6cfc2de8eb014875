#include "optimize/onnx/mapping.h"

#include <algorithm>
#include <cmath>

namespace rulemill::optimize {

namespace {

/// The numbers of a value at these sizes; nothing if one stays symbolic.
std::optional<std::vector<std::int64_t>> numbers(const algebra::OnnxValue& value, std::span<const algebra::Poly> sizes,
                                                 algebra::Symbols& symbols) {
  std::vector<std::int64_t> result;
  for (const algebra::IndexExprPtr& expr : value.values) {
    auto number = algebra::evaluate(*expr, sizes, {}, symbols).constant();
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

std::optional<OnnxLiteral> literal(const algebra::OnnxValue& value, std::span<const algebra::Poly> sizes,
                                   algebra::Symbols& symbols) {
  OnnxLiteral result;
  result.is_list = value.is_list;
  result.word = value.word;
  result.number = value.number;
  auto integers = numbers(value, sizes, symbols);
  if (!integers) return std::nullopt;
  result.integers = std::move(*integers);
  return result;
}

bool equal(const OnnxLiteral& said, const OnnxLiteral& found) {
  if (found.other) return false;
  if (said.word) return found.word == said.word;
  if (said.number) {
    return found.number && std::abs(*found.number - *said.number) <= 1e-6 * std::abs(*said.number);
  }
  return !found.word && !found.number && found.integers == said.integers;
}

/// Whether leaving the attribute out says this value.
bool said_by_absence(const algebra::OnnxAttribute& attribute, const OnnxLiteral& value) {
  if (attribute.absent_any) return true;
  if (attribute.absent_word) return value.word == attribute.absent_word;
  if (!attribute.absent) return false;
  if (value.number) return *value.number == static_cast<double>(*attribute.absent);
  return !value.word &&
         std::ranges::all_of(value.integers, [&](std::int64_t element) { return element == *attribute.absent; });
}

}  // namespace

std::string mismatch(const algebra::OnnxMapping& mapping, const OnnxNodeFacts& facts,
                     std::span<const algebra::Poly> sizes, algebra::Symbols& symbols) {
  for (const auto& found : facts.attributes) {
    const std::string& name = found.first;
    bool known = std::ranges::any_of(mapping.attributes, [&](const auto& said) { return said.name == name; });
    if (!known) return "attribute " + name + " is not in the mapping";
  }
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    if (attribute.ignored) continue;
    auto said = literal(attribute.value, sizes, symbols);
    auto found = facts.attributes.find(attribute.name);
    if (found == facts.attributes.end()) {
      if (!attribute.absent_any && (!said || !said_by_absence(attribute, *said))) {
        return "attribute " + attribute.name + " is absent";
      }
    } else if (!said) {
      return "attribute " + attribute.name + " depends on an unknown size";
    } else if (!equal(*said, found->second)) {
      return "attribute " + attribute.name + " has another value";
    }
  }
  for (std::size_t i = 0; i < mapping.inputs.size(); ++i) {
    if (mapping.inputs[i].argument) continue;
    if (i >= facts.constant_inputs.size() || !facts.constant_inputs[i]) {
      return "input " + std::to_string(i) + " is not a constant";
    }
    auto said = literal(mapping.inputs[i].constant, sizes, symbols);
    if (!said || !equal(*said, *facts.constant_inputs[i])) {
      return "constant input " + std::to_string(i) + " has another value";
    }
  }
  return {};
}

std::optional<OnnxNodeText> emit(const algebra::Instance& instance, std::span<const algebra::Poly> sizes, int opset,
                                 algebra::Symbols& symbols) {
  for (const algebra::OnnxMapping& mapping : instance.onnx) {
    if (opset < mapping.since || opset >= mapping.until) continue;
    OnnxNodeText text;
    text.op_type = mapping.op_type;
    text.wrapper = mapping.wrapper;
    text.variadic = mapping.variadic;
    bool known = true;
    for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
      if (attribute.ignored) continue;
      auto said = literal(attribute.value, sizes, symbols);
      if (!said) {
        known = known && attribute.absent_any;
      } else if (!said_by_absence(attribute, *said) || (attribute.absent_any && !said->integers.empty())) {
        text.attributes.emplace(attribute.name, std::move(*said));
      }
    }
    for (const algebra::OnnxInput& input : mapping.inputs) {
      auto said = literal(input.constant, sizes, symbols);
      known = known && (input.argument || said);
      text.arguments.push_back(input.argument);
      text.constants.push_back(input.argument || !said ? OnnxLiteral{} : std::move(*said));
    }
    if (known) return text;
  }
  return std::nullopt;
}

std::vector<std::int64_t> integers_of(const OnnxNodeFacts& facts) {
  std::vector<std::int64_t> found;
  auto add = [&](std::int64_t number) {
    if (std::ranges::find(found, number) == found.end()) found.push_back(number);
  };
  for (const auto& [name, literal] : facts.attributes) std::ranges::for_each(literal.integers, add);
  for (const auto& input : facts.constant_inputs) {
    if (input) std::ranges::for_each(input->integers, add);
  }
  add(1);
  add(0);
  return found;
}

}  // namespace rulemill::optimize
