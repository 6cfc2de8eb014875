// ONNX mappings at fixed ranks and parameters.
#include "algebra/expansion/expander.h"

#include <algorithm>

namespace rulemill::algebra {

OnnxValue Expander::expand_onnx_value(const syntax::OnnxValueSyntax& syntax, syntax::Place at) {
  OnnxValue value;
  value.is_list = syntax.is_list;
  value.string_value = syntax.string_value;
  value.float_value = syntax.float_value;
  value.is_reshape_shape = syntax.is_reshape_shape;
  value.as_float32 = syntax.as_float32;
  value.is_data_type = syntax.is_data_type;
  if (value.is_data_type) return value;
  if (syntax.wrap_size) value.wrap_size = expand_index(*syntax.wrap_size);
  if (syntax.clamp_size) value.clamp_size = expand_index(*syntax.clamp_size);
  if (!syntax.is_list && syntax.values.size() == 1 && syntax.values[0].expression &&
      syntax.values[0].expression->kind == syntax::Index::Kind::Name) {
    const std::string& name = syntax.values[0].expression->name;
    if (const auto input = std::ranges::find(instance_.input_names, name); input != instance_.input_names.end()) {
      value.scalar_input = static_cast<std::uint32_t>(input - instance_.input_names.begin());
      if (tensor_ranks_[*value.scalar_input] != 0)
        fail(at, "'" + name + "' has dimensions: expected an input without dimensions as the value of an attribute");
      return value;
    }
    const auto named = instance_.parameters.find(name);
    if (named != instance_.parameters.end()) {
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&named->second)) {
        value.is_list = true;
        for (std::int64_t element : *list) value.values.push_back(make_constant(element));
        allow_negative_axes(name, value);
        return value;
      }
      if (const auto* enum_value = std::get_if<std::string>(&named->second)) {
        value.string_value = *enum_value;
        return value;
      }
    }
  }
  value.values = expand_items(syntax.values);
  if (value.values.size() == 1 && syntax.values[0].expression &&
      syntax.values[0].expression->kind == syntax::Index::Kind::Name)
    allow_negative_axes(syntax.values[0].expression->name, value);
  if (!value.is_list && !value.string_value && !value.float_value && value.values.size() != 1)
    fail(at, "expected one value");
  return value;
}

/// A negative axis counts from the end: of the first input's rank, or of the result's rank if the axes are new.
void Expander::allow_negative_axes(const std::string& parameter, OnnxValue& value) const {
  using Kind = syntax::Parameter::Kind;
  const syntax::Parameter* declared = op_.parameter(parameter);
  if (declared == nullptr || value.wrap_size) return;
  const bool is_new = declared->kind == Kind::NewAxes;
  if (is_new || declared->kind == Kind::Axis || declared->kind == Kind::Axes || declared->kind == Kind::Permutation)
    value.wrap_size = make_constant(rank_ + (is_new ? static_cast<std::int64_t>(value.values.size()) : 0));
}

void Expander::expand_onnx_mapping(const syntax::OnnxMappingSyntax& syntax) {
  for (const syntax::ParameterPredicate& predicate : syntax.predicates) {
    if (!holds(predicate, syntax.place)) return;
  }
  OnnxMapping mapping;
  mapping.index = static_cast<std::uint32_t>(&syntax - op_.onnx.data());
  mapping.op_type = syntax.op_type;
  mapping.domain = syntax.domain;
  mapping.since = syntax.since;
  mapping.until = syntax.until;
  mapping.variadic = syntax.variadic;
  mapping.variadic_outputs = syntax.variadic_outputs;
  if (!syntax.activation.empty()) {
    const auto* enum_value = std::get_if<std::string>(&parameter(syntax.activation, syntax.place));
    if (!enum_value) fail(syntax.place, "'" + syntax.activation + "' does not name a function");
    if (*enum_value != "none") {
      std::uint32_t unused = 0;
      const Function* function = context_.function(*enum_value, &unused);
      if (!function || function->onnx_op_type.empty()) return;  // this instance has no ONNX mapping
      mapping.activation = function->onnx_op_type;
    }
  }
  for (const auto& [name, entry] : syntax.inputs) {
    OnnxInput input;
    if (name == "none") {
      input.is_absent = true;
    } else if (name.empty()) {
      input.constant = expand_onnx_value(entry, syntax.place);
    } else {
      const auto found = std::ranges::find(instance_.input_names, name);
      if (found == instance_.input_names.end())
        fail(syntax.place, "'" + name + "' is no input of operator '" + op_.name + "'");
      input.instance_input = static_cast<std::uint32_t>(found - instance_.input_names.begin());
    }
    mapping.inputs.push_back(std::move(input));
  }
  for (const syntax::OnnxAttributeSyntax& attribute : syntax.attributes) {
    const OnnxValue value = attribute.ignored ? OnnxValue{} : expand_onnx_value(attribute.value, syntax.place);
    mapping.attributes.push_back({attribute.name, value, attribute.default_number, attribute.default_string,
                                  attribute.is_optional, attribute.ignored});
  }
  names_["outputs"] = make_slot(IndexKind::Size, static_cast<std::uint32_t>(instance_.size_names.size()));
  for (const auto& [name, expr] : syntax.computed_sizes) {
    const auto slot = names_.find(name);
    if (slot == names_.end() || slot->second->kind != IndexKind::Size)
      fail(syntax.place, "'" + name + "' is no size of operator '" + op_.name + "'");
    mapping.computed_sizes.emplace_back(slot->second->slot, expand_index(*expr));
  }
  names_.erase("outputs");
  // Without a list, the inputs are the operator's, except those that attributes have.
  for (std::uint32_t i = 0; syntax.inputs.empty() && i < instance_.input_names.size(); ++i) {
    const bool has_attribute = std::ranges::any_of(
        mapping.attributes, [&](const OnnxAttribute& attribute) { return attribute.value.scalar_input == i; });
    if (!has_attribute) mapping.inputs.push_back({i, false, {}});
  }
  instance_.onnx.push_back(std::move(mapping));
}

}  // namespace rulemill::algebra
