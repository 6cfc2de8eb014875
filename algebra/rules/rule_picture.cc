#include "algebra/rules/rule_picture.h"

#include <algorithm>

#include "algebra/rules/rule_drawing.h"
#include "algebra/terms/rule_text.h"
#include "runtime/text/printable.h"

namespace rulemill::algebra {
namespace {

class Side {
 public:
  Side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols)
      : rule_(rule), bank_(bank), symbols_(symbols) {
    for (const TermId root : roots) count_uses(root);
    for (const TermId root : roots) draw(root, "", "");
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void count_uses(TermId id) {
    const Term& term = bank_.term(id);
    if (term.is_variable || ++uses_[term.node] > 1) return;
    for (const TermId argument : bank_.node(term.node).arguments) count_uses(argument);
  }

  void draw(TermId id, const std::string& first, const std::string& further) {
    const Term& term = bank_.term(id);
    if (term.is_variable) {
      lines_.push_back(first + variable(id));
      return;
    }
    const bool named_before = names_.contains(term.node);
    std::string name;
    if (uses_.at(term.node) > 1)
      name = " #" + std::to_string(names_.try_emplace(term.node, names_.size() + 1).first->second);
    const OperatorInstance& instance = bank_.instance_of(id);
    const std::string output = instance.outputs.size() > 1 ? "." + instance.outputs[term.output].name : "";
    lines_.push_back(first + instance.operator_name + output + (named_before ? "" : parameters(term.node)) + name);
    if (named_before) return;
    const std::vector<TermId>& arguments = bank_.node(term.node).arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool last = i + 1 == arguments.size();
      draw(arguments[i], further + (last ? "└─ " : "├─ "), further + (last ? "   " : "│  "));
    }
  }

  std::string parameters(NodeId id) const {
    const std::string text = parameters_text(id, bank_, symbols_);
    return text.empty() ? "" : " " + text;
  }

  std::string variable(TermId id) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(rule_.variables, id) - rule_.variables.begin());
    return bank_.term(id).name + (at < rule_.shapes.size() ? symbols_.to_string(rule_.shapes[at]) : "");
  }

  const Rule& rule_;
  const TermBank& bank_;
  const Symbols& symbols_;
  std::unordered_map<NodeId, int> uses_;
  std::unordered_map<NodeId, std::size_t> names_;
  std::vector<std::string> lines_;
};

std::string arrow_of(const Rule& rule) { return rule.widens ? "  →  " : "  ⇒  "; }

}  // namespace

std::string picture(const Rule& rule, const TermBank& bank, const Symbols& symbols) {
  const std::vector<std::string> left = Side(rule, rule.source, bank, symbols).lines();
  const std::vector<std::string> right = Side(rule, rule.target, bank, symbols).lines();
  std::size_t width = 0;
  for (const std::string& line : left) width = std::max(width, runtime::display_width(line));
  std::string text;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string a = i < left.size() ? left[i] : "", b = i < right.size() ? right[i] : "";
    text += a;
    if (!b.empty())
      text += std::string(width - runtime::display_width(a), ' ') + (i == 0 ? arrow_of(rule) : "     ") + b;
    text += "\n";
  }
  return text;
}

std::string format_typed_steps(const Rule& rule, const TermBank& bank, const Symbols& symbols, const Types& types) {
  std::unordered_map<NodeId, std::string> names;
  std::vector<std::pair<std::string, std::string>> lines;
  const auto name = [&](TermId id) {
    const Term& term = bank.term(id);
    if (term.is_variable) return term.name;
    const OperatorInstance& instance = bank.instance_of(id);
    return names.at(term.node) + (instance.outputs.size() > 1 ? "." + instance.outputs[term.output].name : "");
  };
  for (const NodeId id : nodes_of(rule, bank)) {
    const Node& node = bank.node(id);
    const OperatorInstance& instance = bank.library().instance(node.instance);
    std::string text = instance.operator_name + "(", type;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) text += (i == 0 ? "" : ", ") + name(node.arguments[i]);
    const std::string parameters = parameters_text(id, bank, symbols);
    text += (parameters.empty() ? "" : "; " + parameters) + ")";
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const std::string output = instance.outputs.size() > 1 ? instance.outputs[o].name + " " : "";
      type += (type.empty() ? "" : "  ") + output + output_type(id, o, bank, symbols, types);
    }
    const std::string number = std::to_string(names.size() + 1);
    names[id] = "%" + number;
    lines.emplace_back((number.size() < 2 ? " %" : "%") + number + " = " + text, type);
  }
  const auto outputs = [&](const std::vector<TermId>& side) {
    std::string text;
    for (const TermId id : side) text += (text.empty() ? "" : ", ") + name(id);
    return text;
  };
  std::size_t width = 0;
  for (const auto& [text, type] : lines) width = std::max(width, runtime::display_width(text));
  std::string result;
  for (const auto& [text, type] : lines)
    result += text + std::string(width - runtime::display_width(text), ' ') + "  : " + type + "\n";
  return result + "     " + outputs(rule.source) + arrow_of(rule) + outputs(rule.target) + "\n";
}

}  // namespace rulemill::algebra
