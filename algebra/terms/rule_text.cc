// Formats rules and terms as text.
#include <algorithm>
#include <set>

#include "algebra/operators/function_domain.h"
#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::algebra {
namespace {

/// Formats a term; positive(c) of a positive variable c as c.
std::string text_of(TermId id, const std::vector<TermId>& positives, const TermBank& bank, const Symbols& symbols) {
  const Term& term = bank.term(id);
  if (term.is_variable) return term.name;
  const Node& node = bank.node(term.node);
  const OperatorInstance& instance = bank.library().instance(node.instance);
  if (is_positive_operator(instance) && std::ranges::find(positives, node.arguments[0]) != positives.end())
    return bank.term(node.arguments[0]).name;
  std::string text = instance.operator_name + "(";
  for (std::size_t i = 0; i < node.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + text_of(node.arguments[i], positives, bank, symbols);
  std::string parameters;
  auto add = [&](const std::string& name, const std::string& value) {
    parameters += (parameters.empty() ? "" : ", ") + name + "=" + value;
  };
  for (const auto& [name, value] : instance.parameters) {
    if (std::holds_alternative<Symbolic>(value)) continue;
    if (bank.library().default_value(instance.operator_name, name) != value) add(name, to_string(value));
  }
  const auto sizes = [&](std::size_t first, std::size_t end) {
    return symbols.to_string(Shape(node.sizes.begin() + static_cast<std::ptrdiff_t>(first),
                                   node.sizes.begin() + static_cast<std::ptrdiff_t>(end)));
  };
  for (const SymbolicParameter& parameter : instance.symbolic_parameters) {
    Shape numbers;
    for (std::uint32_t k = 0; k < parameter.count; ++k)
      numbers.push_back(parameter.to_number(node.sizes[parameter.first + k]));
    add(parameter.name, parameter.is_list ? symbols.to_string(numbers) : symbols.to_string(numbers[0]));
  }
  const std::size_t declared = instance.declared_size_count();
  std::size_t next = 0;
  for (const std::string& name : bank.library().size_parameter_names(instance.operator_name)) {
    if (!name.ends_with("...")) {
      add(name, symbols.to_string(node.sizes[next++]));
      continue;
    }
    add(name.substr(0, name.size() - 3), sizes(next, declared));
    next = declared;
  }
  if (!parameters.empty()) text += "; " + parameters;
  text += ")";
  if (instance.outputs.size() > 1) text += "." + instance.outputs[term.output].name;
  return text;
}

}  // namespace

std::string to_string(TermId id, const TermBank& bank, const Symbols& symbols) {
  return text_of(id, {}, bank, symbols);
}

std::string to_string(const SizeCondition& condition, const Symbols& symbols) {
  static constexpr const char* signs[] = {" = ", " != ", " < ", " <= "};
  return symbols.to_string(condition.left) + signs[static_cast<std::size_t>(condition.relation)] +
         symbols.to_string(condition.right);
}

std::string to_string(const std::vector<SizeCondition>& conditions, const Symbols& symbols) {
  return runtime::join_text(conditions, [&](const SizeCondition& each) { return to_string(each, symbols); });
}

std::string to_string(const Rule& rule, const TermBank& bank, const Symbols& symbols) {
  const std::vector<TermId> positives = positive_variables(rule, bank);
  std::string text = "rule " + rule.id + "(";
  for (std::size_t i = 0; i < rule.variables.size(); ++i) {
    const Term& variable = bank.term(rule.variables[i]);
    text += (i == 0 ? "" : ", ") + variable.name;
    text +=
        i < rule.shapes.size() ? symbols.to_string(rule.shapes[i], rule.packs) : ":" + std::to_string(variable.rank);
    if (std::ranges::find(positives, rule.variables[i]) != positives.end()) text += " of positive";
  }
  text += ")";
  if (rule.tier != Tier::None) text += rule.tier == Tier::Core ? " core" : " derived";
  auto side = [&](const std::vector<TermId>& terms) {
    std::string result;
    for (TermId term : terms) result += (result.empty() ? "" : ", ") + text_of(term, positives, bank, symbols);
    return result;
  };
  text += "\n  " + side(rule.source) + (rule.widens ? "\n  -> " : "\n  => ") + side(rule.target) + "\n";
  if (!rule.condition.empty()) text += "  when " + to_string(rule.condition, symbols) + "\n";
  return text;
}

Rule parse_rule(std::string_view text, const std::string& origin, Library& library, TermBank& bank, Symbols& symbols) {
  std::vector<Rule> rules = parse_rules(text, origin, library, bank, symbols);
  if (rules.size() != 1) throw runtime::InputError(origin, "expected one rule, found " + std::to_string(rules.size()));
  return std::move(rules[0]);
}

std::vector<std::string> assumed_laws(const Rule& rule, const TermBank& bank) {
  std::set<std::string> laws;
  for (const NodeId node : nodes_of(rule, bank)) {
    const OperatorInstance& instance = bank.library().instance(bank.node(node).instance);
    for (const std::string& law : bank.library().assumed_laws(instance.operator_name)) laws.insert(law);
  }
  return {laws.begin(), laws.end()};
}

namespace {

bool applies_partial_function(const ScalarExpr& expr, std::span<const Function> functions) {
  if (expr.kind == ScalarExpr::Kind::Apply && !is_total(functions[expr.function])) return true;
  return std::ranges::any_of(expr.operands,
                             [&](const auto& operand) { return applies_partial_function(*operand, functions); });
}

}  // namespace

bool applies_partial_function(const OperatorInstance& instance, const Library& library) {
  const auto applies = [&](const TensorDefinition& tensor) {
    return applies_partial_function(*tensor.body, library.functions());
  };
  return std::ranges::any_of(instance.outputs, applies) || std::ranges::any_of(instance.intermediates, applies);
}

bool applies_partial_function(const Rule& rule, const TermBank& bank) {
  return std::ranges::any_of(nodes_of(rule, bank), [&](NodeId node) {
    return applies_partial_function(bank.library().instance(bank.node(node).instance), bank.library());
  });
}

std::vector<TermId> dropped_variables(const Rule& rule, const TermBank& bank) {
  std::vector<TermId> dropped = rule.variables;
  std::erase_if(dropped, [&](TermId variable) {
    const auto has = [&](TermId side) {
      const std::vector<TermId> variables = bank.variables({&side, 1});
      return std::ranges::find(variables, variable) != variables.end();
    };
    return std::ranges::equal(rule.source, rule.target, {}, has, has);
  });
  return dropped;
}

}  // namespace rulemill::algebra
