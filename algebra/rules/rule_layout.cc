#include "algebra/rules/rule_layout.h"

#include <algorithm>

#include "algebra/sizes/shape_text.h"

namespace rulemill::algebra {
namespace {

constexpr int row_height = 64;

class Layout {
 public:
  Layout(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols,
         const Types& types)
      : rule_(rule), bank_(bank), symbols_(symbols), types_(types) {
    for (const NodeId id : bank_.nodes(roots)) add_operator(id);
    for (std::size_t i = 0; i < roots.size(); ++i)
      add_output(roots[i], roots.size() > 1 ? "out " + std::to_string(i + 1) : "out");
    place(drawing_, row_height);
  }

  Drawing drawing() { return std::move(drawing_); }

 private:
  std::size_t add(DrawnNode node) {
    drawing_.nodes.push_back(std::move(node));
    return drawing_.nodes.size() - 1;
  }

  void connect(std::size_t from, std::size_t to, const std::string& label) {
    drawing_.edges.push_back({from, to, label});
  }

  std::size_t input(TermId id) {
    const auto known = inputs_.find(id);
    if (known != inputs_.end()) return known->second;
    const auto at = static_cast<std::size_t>(std::ranges::find(rule_.variables, id) - rule_.variables.begin());
    const std::string shape = at < rule_.shapes.size() ? shape_text(rule_.shapes[at], rule_.packs, symbols_) : "";
    return inputs_[id] = add({DrawnNode::Kind::Input, bank_.term(id).name, shape, shape, ""});
  }

  void connect(TermId argument, std::size_t to) {
    const Term& term = bank_.term(argument);
    if (term.is_variable) return connect(input(argument), to, "");
    const OperatorInstance& instance = bank_.instance_of(argument);
    connect(operators_.at(term.node), to, instance.outputs.size() > 1 ? instance.outputs[term.output].name : "");
  }

  void add_operator(NodeId id) {
    const Node& node = bank_.node(id);
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    for (const TermId argument : node.arguments) {
      if (bank_.term(argument).is_variable) input(argument);  // left to right, in order of first use
    }
    const std::size_t drawn = add({DrawnNode::Kind::Operator, instance.operator_name,
                                   parameters_text(id, bank_, symbols_), type(id, instance), ""});
    operators_[id] = drawn;
    for (const TermId argument : node.arguments) connect(argument, drawn);
  }

  std::string type(NodeId id, const OperatorInstance& instance) const {
    std::string text;
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const std::string output = output_type(id, o, bank_, symbols_, types_);
      if (!output.empty()) text += (text.empty() ? "" : ", ") + output;
    }
    return text;
  }

  void add_output(TermId root, const std::string& name) {
    if (bank_.term(root).is_variable) input(root);
    const std::size_t drawn = add({DrawnNode::Kind::Output, name, "", "", ""});
    connect(root, drawn);
  }

  const Rule& rule_;
  const TermBank& bank_;
  const Symbols& symbols_;
  const Types& types_;
  Drawing drawing_;
  std::unordered_map<TermId, std::size_t> inputs_;
  std::unordered_map<NodeId, std::size_t> operators_;
};

}  // namespace

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
  for (std::size_t i = 0; i < declared; ++i) {
    add(instance.size_names[instance.first_size_parameter + i], symbols.to_string(node.sizes[i]));
  }
  for (const SymbolicParameter& parameter : instance.symbolic_parameters) {
    for (std::uint32_t k = 0; k < parameter.count; ++k) {
      add(instance.size_names[instance.first_size_parameter + parameter.first + k],
          symbols.to_string(parameter.to_number(node.sizes[parameter.first + k])));
    }
  }
  return text;
}

Drawing draw_side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols,
                  const Types& types) {
  return Layout(rule, roots, bank, symbols, types).drawing();
}

}  // namespace rulemill::algebra
