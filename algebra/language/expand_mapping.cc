// ONNX mappings at fixed ranks and parameters.
#include "algebra/language/expander.h"

namespace rulemill::algebra {

OnnxValue Expander::onnx_value(const syntax::OnnxEntry& entry, syntax::Place at) {
  OnnxValue value;
  value.is_list = entry.is_list;
  value.word = entry.word;
  value.number = entry.number;
  value.shape = entry.shape;
  value.reals = entry.reals;
  value.kind = entry.kind;
  if (value.kind) return value;
  if (entry.wrapped) value.wrapped = index(*entry.wrapped);
  if (entry.clamped) value.clamped = index(*entry.clamped);
  if (!entry.is_list && entry.values.size() == 1 && entry.values[0].single &&
      entry.values[0].single->kind == syntax::Index::Kind::Name) {
    const std::string& name = entry.values[0].single->name;
    if (const auto input = std::ranges::find(instance_.input_names, name); input != instance_.input_names.end()) {
      value.argument = static_cast<std::uint32_t>(input - instance_.input_names.begin());
      if (tensor_ranks_[*value.argument] != 0)
        fail(at, "'" + name + "' has dimensions: the value of an attribute is an input without");
      return value;
    }
    const auto named = instance_.parameters.find(name);
    if (named != instance_.parameters.end()) {
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&named->second)) {
        value.is_list = true;
        for (std::int64_t element : *list) value.values.push_back(constant(element));
        count_axes_from_the_end(name, value);
        return value;
      }
      if (const auto* word = std::get_if<std::string>(&named->second)) {
        value.word = *word;
        return value;
      }
    }
  }
  value.values = entries(entry.values);
  if (value.values.size() == 1 && entry.values[0].single && entry.values[0].single->kind == syntax::Index::Kind::Name)
    count_axes_from_the_end(entry.values[0].single->name, value);
  if (!value.is_list && !value.word && !value.number && value.values.size() != 1) fail(at, "expected one value");
  return value;
}

/// An axis that is less than 0 counts from the rank: of the first input, or of the result where the axes are new.
void Expander::count_axes_from_the_end(const std::string& parameter, OnnxValue& value) const {
  using Kind = syntax::Parameter::Kind;
  const syntax::Parameter* declared = op_.parameter(parameter);
  if (declared == nullptr || value.wrapped) return;
  const bool fresh = declared->kind == Kind::NewAxes;
  if (fresh || declared->kind == Kind::Axis || declared->kind == Kind::Axes)
    value.wrapped = constant(rank_ + (fresh ? static_cast<std::int64_t>(value.values.size()) : 0));
}

void Expander::expand_onnx(const syntax::OnnxSyntax& syntax) {
  for (const syntax::Choice& choice : syntax.choices) {
    if (!chosen(choice, syntax.place)) return;
  }
  OnnxMapping mapping;
  mapping.number = static_cast<std::uint32_t>(&syntax - op_.onnx.data());
  mapping.op_type = syntax.op_type;
  mapping.since = syntax.since;
  mapping.until = syntax.until;
  mapping.variadic = syntax.variadic;
  mapping.variadic_outputs = syntax.variadic_outputs;
  if (!syntax.wrapper.empty()) {
    const auto* word = std::get_if<std::string>(&parameter(syntax.wrapper, syntax.place));
    if (!word) fail(syntax.place, "'" + syntax.wrapper + "' does not name a function");
    if (*word != "none") {
      std::uint32_t unused = 0;
      const Function* function = context_.function(*word, &unused);
      if (!function || function->onnx.empty()) return;  // this instance has no ONNX form
      mapping.wrapper = function->onnx;
    }
  }
  for (const auto& [name, entry] : syntax.inputs) {
    OnnxInput input;
    if (name == "none") {
      input.absent = true;
    } else if (name.empty()) {
      input.constant = onnx_value(entry, syntax.place);
    } else {
      const auto found = std::ranges::find(instance_.input_names, name);
      if (found == instance_.input_names.end())
        fail(syntax.place, "'" + name + "' is no input of operator '" + op_.name + "'");
      input.argument = static_cast<std::uint32_t>(found - instance_.input_names.begin());
    }
    mapping.inputs.push_back(std::move(input));
  }
  for (const syntax::OnnxAttributeSyntax& attribute : syntax.attributes) {
    const OnnxValue value = attribute.ignored ? OnnxValue{} : onnx_value(attribute.value, syntax.place);
    mapping.attributes.push_back(
        {attribute.name, value, attribute.absent, attribute.absent_word, attribute.absent_any, attribute.ignored});
  }
  names_["outputs"] = slot_reference(IndexKind::Size, static_cast<std::uint32_t>(instance_.size_names.size()));
  for (const auto& [name, expr] : syntax.sizes) {
    const auto slot = names_.find(name);
    if (slot == names_.end() || slot->second->kind != IndexKind::Size)
      fail(syntax.place, "'" + name + "' is no size of operator '" + op_.name + "'");
    mapping.sizes.emplace_back(slot->second->slot, index(*expr));
  }
  names_.erase("outputs");
  // Without a list, the inputs are the operator's but for those that attributes have.
  for (std::uint32_t i = 0; syntax.inputs.empty() && i < instance_.input_names.size(); ++i) {
    const bool attribute =
        std::ranges::any_of(mapping.attributes, [&](const OnnxAttribute& said) { return said.value.argument == i; });
    if (!attribute) mapping.inputs.push_back({i, false, {}});
  }
  instance_.onnx.push_back(std::move(mapping));
}

}  // namespace rulemill::algebra
