#include "algebra/exchange/rule_data.h"

#include <algorithm>
#include <map>
#include <optional>

#include "algebra/exchange/readings.h"
#include "algebra/library/library.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using runtime::Json;

constexpr const char* scalar_kind_names[] = {"real", "bool", "int", "positive"};
constexpr const char* parameter_kind_names[] = {"size", "sizes", "int",      "ints",        "enum",
                                                "axis", "axes",  "new_axes", "permutation", "spread"};
constexpr const char* scalar_expr_kinds[] = {"number", "inverse", "read", "add", "mul", "sum", "max", "apply", "case"};
constexpr const char* relation_signs[] = {"=", "!=", "<", "<="};

template <class Enum, std::size_t count>
const char* name_of(Enum value, const char* const (&names)[count]) {
  return names[static_cast<std::size_t>(value)];
}

Json shape_data(const Shape& shape, const Symbols& symbols) {
  Json json = Json::array();
  for (const Poly& size : shape) json.push_back(symbols.to_string(size));
  return json;
}

Json value_data(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return *list;
  return to_string(value);
}

Json conditions_data(const std::vector<SizeCondition>& conditions, const Symbols& symbols) {
  Json json = Json::array();
  for (const SizeCondition& each : conditions)
    json.push_back(
        {symbols.to_string(each.left), name_of(each.relation, relation_signs), symbols.to_string(each.right)});
  return json;
}

/// An operator instance at the values of its size slots.
class InstanceData {
 public:
  InstanceData(const OperatorInstance& instance, const std::vector<Poly>& slots, const Library& library,
               Symbols& symbols)
      : instance_(instance), slots_(slots), library_(library), symbols_(symbols) {
    for (std::uint32_t i = 0; i < instance.index_slots; ++i)
      indices_.emplace_back(symbols.index("_" + std::to_string(i)));
  }

  Json json(RuleDataParts parts) const {
    Json json = {{"operator", instance_.operator_name}, {"commutative", instance_.commutative}};
    json["parameters"] = Json::array();
    for (const auto& [name, value] : instance_.parameters) {
      const ParameterKind kind = library_.parameter_kind(instance_.operator_name, name);
      json["parameters"].push_back(
          {{"name", name},
           {"kind", name_of(kind, parameter_kind_names)},
           {"value", std::holds_alternative<Symbolic>(value) ? symbolic(name) : value_data(value)}});
    }
    json["sizes"] = Json::array();
    for (std::uint32_t s = 0; s < instance_.declared_size_count(); ++s)
      json["sizes"].push_back(symbols_.to_string(slots_[instance_.first_size_parameter + s]));
    json["slots"] = Json::object();
    for (std::size_t s = 0; s < slots_.size(); ++s)
      json["slots"][instance_.size_names[s]] = symbols_.to_string(slots_[s]);
    json["inputs"] = Json::array();
    for (std::size_t i = 0; i < instance_.inputs.size(); ++i)
      json["inputs"].push_back(tensor(instance_.input_names[i], instance_.input_scalar_kinds[i], instance_.inputs[i]));
    for (const TensorDefinition& output : instance_.outputs)
      json["outputs"].push_back(tensor(output.name, output.scalar_kind, output.dims));
    json["conditions"] = Json::array();
    for (const Comparison& each : instance_.conditions) {
      const SizeCondition condition{each.relation, value(each.a), value(each.b)};
      json["conditions"].push_back({symbols_.to_string(condition.left), name_of(each.relation, relation_signs),
                                    symbols_.to_string(condition.right), holds(condition, symbols_) == Truth::Yes});
    }
    for (const auto* tensors : {&instance_.intermediates, &instance_.outputs}) {
      for (std::size_t t = 0; parts.bodies && t < tensors->size(); ++t) {
        const TensorDefinition& each = (*tensors)[t];
        json["tensors"].push_back(tensor(each.name, each.scalar_kind, each.dims));
        json["tensors"].back()["body"] = body_data(*each.body);
      }
    }
    if (!parts.onnx) return json;
    json["onnx"] = Json::array();
    for (const OnnxMapping& mapping : instance_.onnx) {
      if (is_to_one_node(mapping)) json["onnx"].push_back(mapping_data(mapping));
    }
    return json;
  }

 private:
  Poly value(const IndexExprPtr& expr) const { return evaluate(*expr, slots_, indices_, symbols_); }
  std::string text(const IndexExprPtr& expr) const { return symbols_.to_string(value(expr)); }

  Json symbolic(const std::string& name) const {
    const SymbolicParameter& found = *std::ranges::find(instance_.symbolic_parameters, name, &SymbolicParameter::name);
    Json json = Json::array();
    for (std::uint32_t k = 0; k < found.count; ++k)
      json.push_back(symbols_.to_string(found.to_number(slots_[instance_.first_size_parameter + found.first + k])));
    return json;
  }

  Json texts(const std::vector<IndexExprPtr>& exprs) const {
    Json json = Json::array();
    for (const IndexExprPtr& expr : exprs) json.push_back(text(expr));
    return json;
  }

  Json tensor(const std::string& name, ScalarKind kind, const std::vector<IndexExprPtr>& dims) const {
    return {{"name", name}, {"kind", name_of(kind, scalar_kind_names)}, {"shape", texts(dims)}};
  }

  Json body_data(const ScalarExpr& expr) const {
    Json json = {{"kind", name_of(expr.kind, scalar_expr_kinds)},
                 {"value", to_string(expr.value)},
                 {"tensor", expr.tensor},
                 {"indices", texts(expr.indices)}};
    if (expr.kind == ScalarExpr::Kind::Apply) json["function"] = library_.functions()[expr.function].name;
    for (const auto& [slot, extent] : expr.bound) json["bound"].push_back({"_" + std::to_string(slot), text(extent)});
    for (const auto& [relation, a, b] : expr.guard)
      json["guard"].push_back({text(a), name_of(relation, relation_signs), text(b)});
    for (const ScalarExprPtr& operand : expr.operands) json["operands"].push_back(body_data(*operand));
    return json;
  }

  Json mapping_data(const OnnxMapping& mapping) const {
    Json json = {{"op_type", mapping.op_type}, {"domain", mapping.domain}, {"since", mapping.since},
                 {"until", mapping.until},     {"inputs", Json::array()},  {"attributes", Json::array()}};
    for (const OnnxInput& input : mapping.inputs)
      json["inputs"].push_back(input.instance_input ? Json{{"input", *input.instance_input}}
                               : input.is_absent    ? Json{{"absent", true}}
                                                    : Json{{"value", onnx_value_data(input.constant)}});
    for (const OnnxAttribute& attribute : mapping.attributes) {
      Json each = {{"name", attribute.name},
                   {"value", onnx_value_data(attribute.value)},
                   {"optional", attribute.is_optional},
                   {"ignored", attribute.ignored}};
      if (attribute.default_string) each["default"] = *attribute.default_string;
      if (attribute.default_number) each["default"] = *attribute.default_number;
      json["attributes"].push_back(std::move(each));
    }
    return json;
  }

  Json onnx_value_data(const OnnxValue& from) const {
    Json json = {{"is_list", from.is_list},
                 {"as_float32", from.as_float32},
                 {"is_reshape_shape", from.is_reshape_shape},
                 {"is_tensor", from.scalar_input || from.is_data_type}};
    for (const IndexExprPtr& expr : from.values) json["numbers"].push_back(text(expr));
    if (from.string_value) json["string"] = *from.string_value;
    if (from.float_value) json["float"] = *from.float_value;
    if (from.wrap_size) json["wrap"] = text(from.wrap_size);
    if (from.clamp_size) json["clamp"] = text(from.clamp_size);
    return json;
  }

  const OperatorInstance& instance_;
  const std::vector<Poly>& slots_;
  std::vector<Poly> indices_;
  const Library& library_;
  Symbols& symbols_;
};

Json general_data(const OperatorInstance& instance, const Library& library, Symbols& symbols) {
  std::vector<Poly> slots;
  for (std::size_t s = 0; s < instance.size_names.size(); ++s)
    slots.emplace_back(symbols.size("s" + std::to_string(s)));
  return InstanceData(instance, slots, library, symbols).json({});
}

/// The kind of the elements that the first user of a variable expects.
ScalarKind variable_kind(TermId variable, const Rule& rule, const TermBank& bank) {
  for (const NodeId id : nodes_of(rule, bank)) {
    const Node& node = bank.node(id);
    const auto at = static_cast<std::size_t>(std::ranges::find(node.arguments, variable) - node.arguments.begin());
    if (at < node.arguments.size()) return bank.library().instance(node.instance).input_scalar_kinds.at(at);
  }
  return ScalarKind::Real;
}

}  // namespace

bool is_to_one_node(const OnnxMapping& mapping) { return mapping.computed_sizes.empty() && !mapping.activation; }

Json signature_data(const std::string& operator_name, const Library& library) {
  Json json = {{"inputs", library.input_names(operator_name)},
               {"outputs", library.output_names(operator_name)},
               {"sizes", library.size_parameter_names(operator_name)},
               {"has_explicit_rank", library.has_explicit_rank(operator_name)},
               {"parameters", Json::array()}};
  for (const std::string& name : library.parameter_names(operator_name)) {
    const ParameterKind kind = library.parameter_kind(operator_name, name);
    Json parameter = {{"name", name}, {"kind", name_of(kind, parameter_kind_names)}};
    if (const auto value = library.default_value(operator_name, name)) parameter["default"] = value_data(*value);
    if (kind == ParameterKind::Enum || kind == ParameterKind::Int) {
      parameter["values"] = Json::array();
      for (const ParameterValue& each : library.domain(operator_name, name, {}))
        parameter["values"].push_back(value_data(each));
    }
    json["parameters"].push_back(std::move(parameter));
  }
  return json;
}

Json rule_data(const TypedRule& typed, RuleDataParts parts, TermBank& bank, Symbols& symbols) {
  const Rule& rule = typed.rule;
  Json json = {{"name", rule.id}, {"variables", Json::array()}, {"terms", Json::array()}, {"nodes", Json::array()}};
  std::map<TermId, std::size_t> terms;
  const auto add_term = [&](TermId id, ScalarKind kind, const Shape& shape) {
    const auto [term, is_new] = terms.emplace(id, terms.size());
    if (is_new)
      json["terms"].push_back({{"kind", name_of(kind, scalar_kind_names)}, {"shape", shape_data(shape, symbols)}});
    return term->second;
  };
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    json["variables"].push_back(bank.term(rule.variables[v]).name);
    add_term(rule.variables[v], variable_kind(rule.variables[v], rule, bank), rule.shapes[v]);
  }
  const std::vector<NodeId> nodes = nodes_of(rule, bank);
  for (const NodeId id : nodes) {
    const OperatorInstance& instance = bank.library().instance(bank.node(id).instance);
    Json node = InstanceData(instance, size_slots(id, typed, bank), bank.library(), symbols).json(parts);
    node["arguments"] = node["terms"] = Json::array();
    for (const TermId argument : bank.node(id).arguments) node["arguments"].push_back(terms.at(argument));
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const TermId output = bank.output(id, o);
      node["terms"].push_back(add_term(output, instance.outputs[o].scalar_kind, typed.types.at(output)));
    }
    if (parts.general) node["general"] = general_data(instance, bank.library(), symbols);
    json["nodes"].push_back(std::move(node));
  }
  for (const auto& [name, side] : {std::pair("source", &rule.source), std::pair("target", &rule.target)}) {
    Json numbers = Json::array(), outputs = Json::array();
    for (const NodeId id : bank.nodes(*side)) numbers.push_back(std::ranges::find(nodes, id) - nodes.begin());
    for (const TermId output : *side) outputs.push_back(terms.at(output));
    json[name] = {{"nodes", std::move(numbers)}, {"outputs", std::move(outputs)}};
  }
  json["conditions"] = conditions_data(rule.condition, symbols);
  json["facts"] = conditions_data(typed.facts, symbols);
  return json;
}

Json describe_call(const std::string& call, const std::vector<Shape>& shapes, std::uint32_t explicit_rank,
                   Library& library, TermBank& bank, Symbols& symbols) {
  const std::string name = call.substr(0, call.find('('));
  if (!library.has_operator(name))
    return {{"problem", unknown_operator(name, library.operator_names())}, {"fits", false}};
  std::map<std::string, Shape> variables;
  std::vector<std::uint32_t> ranks;
  for (const Shape& shape : shapes) {
    variables["x" + std::to_string(variables.size())] = shape;
    ranks.push_back(static_cast<std::uint32_t>(shape.size()));
  }
  if (library.has_explicit_rank(name)) ranks.push_back(explicit_rank);
  std::optional<Rule> rule;
  try {
    rule = parse_terms(call, "", variables, library, bank, symbols);
  } catch (const runtime::InputError& error) {
    return {{"problem", without_place(error)}, {"fits", library.accepts_ranks(name, ranks)}};
  }
  const Node& node = bank.node_of(rule->source[0]);
  const OperatorInstance& instance = library.instance(node.instance);
  Json json = {{"outputs", Json::array()}};
  for (const TensorDefinition& output : instance.outputs)
    json["outputs"].push_back({{"name", output.name}, {"rank", output.dims.size()}});
  return json;
}

Json describe_instance(const std::string& operator_name, const Json& parameters,
                       const std::vector<std::uint32_t>& ranks, Library& library, Symbols& symbols) {
  Parameters values;
  for (const auto& [name, value] : parameters.items()) {
    if (value.is_array())
      values[name] = value.get<std::vector<std::int64_t>>();
    else if (value.is_string())
      values[name] = value.get<std::string>();
    else
      values[name] = value.get<std::int64_t>();
  }
  const OperatorInstance* instance = library.find_instance(operator_name, values, ranks);
  return instance == nullptr ? Json() : general_data(*instance, library, symbols);
}

}  // namespace rulemill::algebra
