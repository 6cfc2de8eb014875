#include "algebra/rules/rule_drawing.h"

#include <algorithm>
#include <span>

#include "algebra/rules/drawing.h"

namespace rulemill::algebra {

std::string output_type(NodeId id, std::uint32_t output, const TermBank& bank, const Symbols& symbols,
                        const Types& types) {
  for (const auto& [term, shape] : types) {
    if (!bank.term(term).is_variable && bank.term(term).node == id && bank.term(term).output == output)
      return symbols.to_string(shape);
  }
  return {};
}

std::string parameters_text(NodeId id, const TermBank& bank, const Symbols& symbols) {
  const Node& node = bank.node(id);
  const OperatorInstance& instance = bank.library().instance(node.instance);
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  };
  for (const auto& [name, value] : instance.parameters) {
    if (std::holds_alternative<Symbolic>(value)) continue;
    if (bank.library().default_value(instance.operator_name, name) != value) add(name, to_string(value));
  }
  const std::size_t declared =
      instance.symbolic_parameters.empty() ? node.sizes.size() : instance.symbolic_parameters[0].first;
  for (std::size_t i = 0; i < declared; ++i)
    add(instance.size_names[instance.first_size_parameter + i], symbols.to_string(node.sizes[i]));
  for (const SymbolicParameter& parameter : instance.symbolic_parameters) {
    for (std::uint32_t k = 0; k < parameter.count; ++k)
      add(instance.size_names[instance.first_size_parameter + parameter.first + k],
          symbols.to_string(parameter.to_number(node.sizes[parameter.first + k])));
  }
  return text;
}

runtime::Json draw_side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank,
                        const Symbols& symbols, const Types& types) {
  Drawing drawing;
  std::unordered_map<TermId, std::size_t> inputs;
  std::unordered_map<NodeId, std::size_t> operators;
  const auto input = [&](TermId id) {
    const auto [known, is_new] = inputs.try_emplace(id, 0);
    if (is_new) {
      const auto at = static_cast<std::size_t>(std::ranges::find(rule.variables, id) - rule.variables.begin());
      const std::string shape = at < rule.shapes.size() ? symbols.to_string(rule.shapes[at], rule.packs) : "";
      known->second = drawing.add({DrawnNode::Kind::Input, bank.term(id).name, shape, shape});
    }
    return known->second;
  };
  const auto add = [&](const DrawnNode& node, std::span<const TermId> arguments) {
    for (const TermId argument : arguments) {
      if (bank.term(argument).is_variable) input(argument);  // left to right, in order of first use
    }
    const std::size_t added = drawing.add(node);
    for (const TermId argument : arguments) {
      const Term& term = bank.term(argument);
      if (term.is_variable) {
        drawing.connect(input(argument), added, "");
      } else {
        const auto& outputs = bank.instance_of(argument).outputs;
        drawing.connect(operators.at(term.node), added, outputs.size() > 1 ? outputs[term.output].name : "");
      }
    }
    return added;
  };
  for (const NodeId id : bank.nodes(roots)) {
    const Node& node = bank.node(id);
    const OperatorInstance& instance = bank.library().instance(node.instance);
    std::string type;
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const std::string output = output_type(id, o, bank, symbols, types);
      if (!output.empty()) type += (type.empty() ? "" : ", ") + output;
    }
    const std::string parameters = parameters_text(id, bank, symbols);
    operators[id] = add({DrawnNode::Kind::Operator, instance.operator_name, parameters, type}, node.arguments);
  }
  for (std::size_t i = 0; i < roots.size(); ++i)
    add({DrawnNode::Kind::Output, roots.size() > 1 ? "out " + std::to_string(i + 1) : "out", "", ""}, {&roots[i], 1});
  return drawing.json();
}

}  // namespace rulemill::algebra
