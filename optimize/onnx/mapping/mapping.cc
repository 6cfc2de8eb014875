#include "optimize/onnx/mapping/mapping.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rulemill::optimize {
namespace {

OnnxLiteral evaluate_value(const algebra::OnnxValue& value, std::span<const algebra::Poly> sizes,
                           algebra::Symbols& symbols, int onnx_type) {
  OnnxLiteral result;
  if (value.is_data_type) result.integers = {algebra::Poly(onnx_type)};
  result.is_list = value.is_list;
  result.string_value = value.string_value;
  result.float_value = value.float_value;
  result.as_float32 = value.as_float32;
  for (const algebra::IndexExprPtr& expr : value.values)
    result.integers.push_back(algebra::evaluate(*expr, sizes, {}, symbols));
  return result;
}

/// Encodes a value: numbers; in a reshape shape, 0 for the first input's dimension at the same position and -1 for one
/// remaining dimension; in a list, sizes computed at run time. nullopt if another size remains.
std::optional<OnnxLiteral> encode(const algebra::OnnxValue& value, std::span<const algebra::Poly> sizes,
                                  algebra::Symbols& symbols, const EmitContext& context) {
  OnnxLiteral result = evaluate_value(value, sizes, symbols, context.onnx_type);
  std::vector<algebra::Poly*> symbolic;
  for (std::size_t d = 0; d < result.integers.size(); ++d) {
    algebra::Poly& element = result.integers[d];
    const bool may_copy = value.is_reshape_shape && context.first_shape && d < context.first_shape->size();
    if (element.constant()) continue;
    if (may_copy && element == (*context.first_shape)[d]) {
      element = algebra::Poly(0);
    } else {
      symbolic.push_back(&element);
    }
  }
  if (value.is_reshape_shape && symbolic.size() == 1) {
    *symbolic[0] = algebra::Poly(-1);
    symbolic.clear();
  }
  const bool computed = context.is_runtime_size && result.is_list && !result.as_float32;
  const bool is_encodable =
      symbolic.empty() ||
      (computed && std::ranges::all_of(symbolic, [&](auto* each) { return context.is_runtime_size(*each); }));
  return is_encodable ? std::optional(std::move(result)) : std::nullopt;
}

constexpr std::int64_t end_marker = 0x7fffffff;

algebra::Poly resolve_negative(algebra::Poly element, const algebra::Poly& end) {
  const auto number = element.constant();
  return number && *number < 0 ? element + end : element;
}

/// Positions before the first element, at which a negative step ends, are one.
algebra::Poly clamp_to_end(const algebra::Poly& element, const algebra::Poly& end) {
  if (const auto given = element.constant(); given && *given <= -end_marker) return algebra::Poly(-end_marker);
  const algebra::Poly value = resolve_negative(element, end);
  const auto number = value.constant(), last = end.constant();
  if (number && *number >= end_marker) return end;
  if (number && *number < 0) return algebra::Poly(0);
  return number && last && *number > *last ? end : value;
}

bool equal(const OnnxLiteral& expected, const OnnxLiteral& found) {
  if (found.is_unsupported) return false;
  if (expected.string_value) return found.string_value == expected.string_value;
  if (expected.float_value) {
    const double number = *expected.float_value;
    return found.float_value == number || found.float_value == static_cast<double>(static_cast<float>(number));
  }
  return !found.string_value && !found.float_value && found.as_float32 == expected.as_float32 &&
         found.integers == expected.integers;
}

bool equals(const algebra::Poly& poly, double number) {
  const auto constant = poly.constant();
  return constant && static_cast<double>(*constant) == number;
}

/// Whether the value is the default of the attribute.
bool is_default(const algebra::OnnxAttribute& attribute, const OnnxLiteral& value, std::span<const algebra::Poly> sizes,
                algebra::Symbols& symbols) {
  if (attribute.is_optional) return true;
  if (attribute.default_number && attribute.value.wrap_size && value.integers.size() == 1) {
    const algebra::Poly end = algebra::evaluate(*attribute.value.wrap_size, sizes, {}, symbols);
    return value.integers[0] ==
           resolve_negative(algebra::Poly(static_cast<std::int64_t>(*attribute.default_number)), end);
  }
  if (attribute.default_string) return value.string_value == attribute.default_string;
  if (!attribute.default_number) return false;
  if (value.float_value) return *value.float_value == *attribute.default_number;
  return !value.string_value && std::ranges::all_of(value.integers, [&](const algebra::Poly& element) {
    return equals(element, *attribute.default_number);
  });
}

}  // namespace

OnnxLiteral normalize(const algebra::OnnxValue& value, OnnxLiteral literal, std::span<const algebra::Poly> sizes,
                      algebra::Symbols& symbols) {
  if (value.wrap_size || value.clamp_size) {
    const algebra::Poly end =
        algebra::evaluate(value.wrap_size ? *value.wrap_size : *value.clamp_size, sizes, {}, symbols);
    for (algebra::Poly& element : literal.integers)
      element = value.wrap_size ? resolve_negative(element, end) : clamp_to_end(element, end);
  }
  return literal;
}

std::string find_mismatch(const algebra::OnnxMapping& mapping, const NodeDescription& description,
                          std::span<const algebra::Poly> sizes, algebra::Symbols& symbols) {
  for (const auto& found : description.attributes) {
    const std::string& name = found.first;
    bool known = std::ranges::any_of(mapping.attributes, [&](const auto& expected) { return expected.name == name; });
    if (!known) return "attribute " + name + " is not in the mapping";
  }
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    if (attribute.ignored || attribute.value.scalar_input) continue;
    auto found = description.attributes.find(attribute.name);
    const OnnxLiteral expected = evaluate_value(attribute.value, sizes, symbols, description.onnx_type);
    if (found == description.attributes.end()) {
      if (!is_default(attribute, expected, sizes, symbols)) return "attribute " + attribute.name + " is absent";
    } else if (!equal(expected, normalize(attribute.value, found->second, sizes, symbols))) {
      return "attribute " + attribute.name + " has another value";
    }
  }
  for (std::size_t i = 0; i < mapping.inputs.size(); ++i) {
    if (mapping.inputs[i].instance_input || mapping.inputs[i].is_absent) continue;
    if (i >= description.constant_inputs.size() || !description.constant_inputs[i]) {
      return "input " + std::to_string(i) + " is not a constant";
    }
    const algebra::OnnxValue& value = mapping.inputs[i].constant;
    if (!value.float_value && value.is_list != description.constant_inputs[i]->is_list)
      return "constant input " + std::to_string(i) + " has another rank";
    if (!equal(evaluate_value(value, sizes, symbols, description.onnx_type),
               normalize(value, *description.constant_inputs[i], sizes, symbols)))
      return "constant input " + std::to_string(i) + " has another value";
  }
  std::vector<algebra::Poly> with_outputs(sizes.begin(), sizes.end());
  with_outputs.emplace_back(static_cast<std::int64_t>(description.outputs));
  for (const auto& [slot, expr] : mapping.computed_sizes) {
    if (sizes[slot] != algebra::evaluate(*expr, with_outputs, {}, symbols))
      return "its sizes differ from the computed ones";
  }
  return {};
}

std::optional<OnnxNodeSpec> emit(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> sizes,
                                 algebra::Symbols& symbols, const EmitContext& context) {
  EmitContext number_context = context;
  number_context.is_runtime_size = nullptr;
  OnnxNodeSpec spec;
  spec.op_type = mapping.op_type;
  spec.domain = mapping.domain;
  spec.activation = mapping.activation;
  spec.variadic = mapping.variadic;
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    if (attribute.ignored) continue;
    if (attribute.value.scalar_input) {
      spec.attribute_arguments.emplace(attribute.name, *attribute.value.scalar_input);
      if (attribute.value.as_float32) spec.tensor_attributes.insert(attribute.name);
      continue;
    }
    auto literal = encode(attribute.value, sizes, symbols, number_context);
    if (!literal) {
      if (!attribute.is_optional) return std::nullopt;
    } else if (!is_default(attribute, *literal, sizes, symbols) ||
               (attribute.is_optional && !literal->integers.empty())) {
      spec.attributes.emplace(attribute.name, std::move(*literal));
    }
  }
  for (const algebra::OnnxInput& input : mapping.inputs) {
    auto literal = encode(input.constant, sizes, symbols, context);
    if (!input.instance_input && !literal) return std::nullopt;
    if (literal) literal->is_unsupported = input.is_absent;
    spec.arguments.push_back(input.instance_input);
    spec.constants.push_back(input.instance_input ? OnnxLiteral{} : std::move(*literal));
  }
  return spec;
}

std::optional<OnnxNodeSpec> emit(const algebra::OperatorInstance& instance, std::span<const algebra::Poly> sizes,
                                 int opset, algebra::Symbols& symbols, const EmitContext& context) {
  EmitContext number_context = context;
  number_context.is_runtime_size = nullptr;
  for (const EmitContext* each : std::array{&std::as_const(number_context), &context}) {
    for (const algebra::OnnxMapping& mapping : instance.onnx) {
      if (opset < mapping.since || opset >= mapping.until || !mapping.computed_sizes.empty()) continue;
      if (auto spec = emit(mapping, sizes, symbols, *each)) return spec;
    }
    if (!context.is_runtime_size) break;
  }
  return std::nullopt;
}

std::vector<std::int64_t> integer_candidates(const NodeDescription& description) {
  std::vector<std::int64_t> found;
  auto add = [&](std::int64_t number) {
    if (std::ranges::find(found, number) == found.end()) found.push_back(number);
  };
  auto add_numbers = [&](const OnnxLiteral& literal) {
    for (const algebra::Poly& element : literal.integers) {
      if (auto number = element.constant()) add(*number);
    }
  };
  for (const auto& [name, literal] : description.attributes) add_numbers(literal);
  for (const auto& input : description.constant_inputs) {
    if (input) add_numbers(*input);
  }
  add(1);
  add(0);
  return found;
}

}  // namespace rulemill::optimize
