#include "algebra/language/generic_onnx_mapping.h"

#include <algorithm>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {
namespace {

GenericOnnxMapping::ValueItem make_value_item(const syntax::IndexItem& item) {
  using Kind = syntax::Index::Kind;
  if (!item.expression) {
    const bool whole = item.change == syntax::IndexItem::Change::None;
    return {whole ? item.pack : "", true, false, item.pack};
  }
  const syntax::Index& node = *item.expression;
  if (node.kind == Kind::Name) return {node.name, false, false, {}};
  if (node.kind == Kind::Pack) return {node.name, true, false, node.name};
  const bool from_rank =
      node.kind == Kind::Sub && node.a->kind == Kind::Name && node.b->kind == Kind::Name && node.b->name == "rank";
  return {from_rank ? node.a->name : "", false, from_rank, {}};
}

GenericOnnxMapping::Value make_value(const syntax::OnnxValueSyntax& value) {
  GenericOnnxMapping::Value result;
  result.is_list = value.is_list;
  for (const syntax::IndexItem& item : value.values) result.items.push_back(make_value_item(item));
  return result;
}

std::optional<std::uint32_t> find_input(const syntax::Operator& op, const std::string& name) {
  const auto found = std::ranges::find_if(op.inputs, [&](const auto& input) { return input.name == name; });
  if (found == op.inputs.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - op.inputs.begin());
}

void add_spreads(const syntax::Operator& op, GenericOnnxMapping& mapping) {
  for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
    const auto& dims = op.inputs[i].dims;
    const auto pack = std::ranges::find_if(dims, [](const auto& dim) { return !dim.spread.empty(); });
    if (pack == dims.end()) continue;
    mapping.spreads.push_back({pack->spread, i, static_cast<std::uint32_t>(pack - dims.begin()),
                               static_cast<std::uint32_t>(dims.end() - pack - 1), pack->name});
  }
}

}  // namespace

GenericOnnxMapping make_generic_mapping(const syntax::Operator& op, std::uint32_t number) {
  const syntax::OnnxMappingSyntax& syntax = op.onnx[number];
  GenericOnnxMapping mapping;
  mapping.operator_name = op.name;
  mapping.op_type = syntax.op_type;
  mapping.domain = syntax.domain;
  mapping.place = place(op.origin, syntax.place.line, syntax.place.column);
  for (const syntax::Input& input : op.inputs) {
    GenericOnnxMapping::Operand& operand = mapping.operands.emplace_back();
    for (const syntax::InputDim& dim : input.dims) {
      operand.fixed += dim.is_pack ? 0 : 1;
      operand.has_pack = operand.has_pack || dim.is_pack;
      if (dim.is_pack) operand.spread = dim.spread;
    }
  }
  mapping.index = number;
  mapping.since = syntax.since;
  mapping.until = syntax.until;
  mapping.variadic = syntax.variadic;
  mapping.variadic_outputs = syntax.variadic_outputs;
  mapping.arity = static_cast<std::uint32_t>(op.inputs.size());
  mapping.outputs = op.composite ? 1 : static_cast<std::uint32_t>(op.outputs.size());
  for (const syntax::OnnxAttributeSyntax& attribute : syntax.attributes) {
    mapping.attribute_names.push_back(attribute.name);
    if (attribute.default_number) mapping.defaults.emplace(attribute.name, *attribute.default_number);
    GenericOnnxMapping::Value value = make_value(attribute.value);
    const auto input = value.is_list || value.items.size() != 1 ? std::nullopt : find_input(op, value.items[0].name);
    if (input) mapping.attribute_inputs.emplace(attribute.name, *input);
    if (!input && !attribute.ignored && !attribute.value.is_data_type)
      mapping.attributes.emplace(attribute.name, std::move(value));
  }
  for (const auto& [name, value] : syntax.inputs) {
    mapping.inputs.push_back(name.empty() ? std::nullopt : find_input(op, name));
    mapping.absent_inputs.push_back(name == "none");
    mapping.constants.push_back(make_value(value));
  }
  for (std::uint32_t i = 0; syntax.inputs.empty() && i < mapping.arity; ++i) {
    const bool is_attribute =
        std::ranges::any_of(mapping.attribute_inputs, [&](const auto& item) { return item.second == i; });
    if (is_attribute) continue;
    mapping.inputs.emplace_back(i);
    mapping.constants.emplace_back();
    mapping.absent_inputs.push_back(false);
  }
  for (const auto& [name, expr] : syntax.computed_sizes) mapping.computed_sizes.push_back(name);
  for (const syntax::ParameterPredicate& predicate : syntax.predicates)
    mapping.enum_values.emplace(predicate.parameter, predicate.value);
  if (!syntax.activation.empty()) mapping.activation_parameter = syntax.activation;
  for (const syntax::Parameter& parameter : op.parameters)
    mapping.parameters.push_back({parameter.name, parameter.kind, parameter.pack, parameter.default_value.has_value()});
  add_spreads(op, mapping);
  return mapping;
}

}  // namespace rulemill::algebra
