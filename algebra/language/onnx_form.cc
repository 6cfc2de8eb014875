#include "algebra/language/onnx_form.h"

#include <algorithm>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {
namespace {

OnnxForm::Entry entry_of(const syntax::Entry& entry) {
  using Kind = syntax::Index::Kind;
  if (!entry.single) {
    const bool whole = entry.change == syntax::Entry::Change::None;
    return {whole ? entry.pack : "", true, false, entry.pack};
  }
  const syntax::Index& node = *entry.single;
  if (node.kind == Kind::Name) return {node.name, false, false, {}};
  if (node.kind == Kind::Pack) return {node.name, true, false, node.name};
  const bool from_rank =
      node.kind == Kind::Sub && node.a->kind == Kind::Name && node.b->kind == Kind::Name && node.b->name == "rank";
  return {from_rank ? node.a->name : "", false, from_rank, {}};
}

OnnxForm::Value value_of(const syntax::OnnxEntry& value) {
  OnnxForm::Value result;
  result.is_list = value.is_list;
  for (const syntax::Entry& entry : value.values) result.entries.push_back(entry_of(entry));
  return result;
}

std::optional<std::uint32_t> input_named(const syntax::Operator& op, const std::string& name) {
  const auto found = std::ranges::find_if(op.inputs, [&](const auto& input) { return input.name == name; });
  if (found == op.inputs.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - op.inputs.begin());
}

void add_spreads(const syntax::Operator& op, OnnxForm& form) {
  for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
    const auto& dims = op.inputs[i].dims;
    const auto pack = std::ranges::find_if(dims, [](const auto& dim) { return !dim.spread.empty(); });
    if (pack == dims.end()) continue;
    form.spreads.push_back({pack->spread, i, static_cast<std::uint32_t>(pack - dims.begin()),
                            static_cast<std::uint32_t>(dims.end() - pack - 1), pack->name});
  }
}

}  // namespace

OnnxForm onnx_form(const syntax::Operator& op, std::uint32_t number) {
  const syntax::OnnxSyntax& syntax = op.onnx[number];
  OnnxForm form;
  form.operator_name = op.name;
  form.op_type = syntax.op_type;
  for (const syntax::Input& input : op.inputs) {
    OnnxForm::Operand& operand = form.operands.emplace_back();
    for (const syntax::InputDim& dim : input.dims) {
      operand.fixed += dim.is_pack ? 0 : 1;
      operand.has_pack = operand.has_pack || dim.is_pack;
      if (dim.is_pack) operand.spread = dim.spread;
    }
  }
  form.number = number;
  form.since = syntax.since;
  form.until = syntax.until;
  form.variadic = syntax.variadic;
  form.variadic_outputs = syntax.variadic_outputs;
  form.arity = static_cast<std::uint32_t>(op.inputs.size());
  form.outputs = op.composite ? 1 : static_cast<std::uint32_t>(op.outputs.size());
  for (const syntax::OnnxAttributeSyntax& attribute : syntax.attributes) {
    if (attribute.absent) form.absent.emplace(attribute.name, *attribute.absent);
    OnnxForm::Value value = value_of(attribute.value);
    const auto input =
        value.is_list || value.entries.size() != 1 ? std::nullopt : input_named(op, value.entries[0].name);
    if (input) form.attribute_inputs.emplace(attribute.name, *input);
    if (!input && !attribute.ignored && !attribute.value.kind)
      form.attributes.emplace(attribute.name, std::move(value));
  }
  for (const auto& [name, value] : syntax.inputs) {
    form.inputs.push_back(name.empty() ? std::nullopt : input_named(op, name));
    form.absent_inputs.push_back(name == "none");
    form.constants.push_back(value_of(value));
  }
  for (std::uint32_t i = 0; syntax.inputs.empty() && i < form.arity; ++i) {
    const bool attribute =
        std::ranges::any_of(form.attribute_inputs, [&](const auto& said) { return said.second == i; });
    if (attribute) continue;
    form.inputs.emplace_back(i);
    form.constants.emplace_back();
    form.absent_inputs.push_back(false);
  }
  for (const auto& [name, expr] : syntax.sizes) form.computed.push_back(name);
  for (const syntax::Choice& choice : syntax.choices) form.choices.emplace(choice.parameter, choice.word);
  if (!syntax.wrapper.empty()) form.unwrapped = syntax.wrapper;
  for (const syntax::Parameter& parameter : op.parameters) {
    form.parameters.push_back({parameter.name, parameter.kind, parameter.pack, parameter.default_value.has_value()});
  }
  add_spreads(op, form);
  return form;
}

}  // namespace rulemill::algebra
