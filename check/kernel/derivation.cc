// Derivations: a rule that instances of proved rules imply. Obligations state that these are instances; a script states
// that they imply the rule as ground equations.
#include "check/kernel/proof.h"

namespace rulemill::check {
namespace {

/// The terms of the goal and of the rule instances, all in the goal's sizes. Equal sizes have equal texts, since typing
/// replaces a size that an equation determines.
class DerivationChecker {
 public:
  DerivationChecker(const Statement& goal, const std::vector<ProductLemma>& lemmas)
      : goal_(goal), atoms_(goal.atoms()), lemmas_(lemmas) {}

  CheckedDerivation run(const std::vector<RuleInstance>& instances) {
    expect(!goal_.rule().widens, "a rule that widens is no equation");
    Side goal{goal_.rule(), {}, {}};
    for (const CoreRule::Variable& variable : goal.rule.variables) {
      goal.variables.push_back(symbol("variable " + variable.name, 0));
      shapes_[goal.variables.back()] = variable.shape;
    }
    // The goal's terms are well-typed: those of its source by assumption, those of its target by obligation.
    Guards assumed;
    std::string goals;
    for (std::size_t i = 0; i < goal.rule.source.size(); ++i) {
      const std::string source = text(goal.rule.source[i], goal, assumed);
      goals += " (= " + source + " " + text(goal.rule.target.at(i), goal, assumed) + ")";
    }
    for (std::size_t i = 0; i < instances.size(); ++i) {
      try {
        add(instances[i], goal);
      } catch (const CheckError& error) {
        throw CheckError{"rule instance " + std::to_string(i + 1) + ": " + error.what};
      }
    }
    for (const Guard& shape : goal_.target_obligations()) require("both sides have one shape", shape);
    for (const Poly& divisor : atoms_.divisors()) require("a divisor is positive", {false, divisor - 1});
    result_.script = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n" + declarations_ + equations_ +
                     "(assert (not (and true" + goals + ")))\n(check-sat)\n";
    return std::move(result_);
  }

 private:
  /// A rule with texts for its variables, and for the outputs of the nodes seen so far.
  struct Side {
    const CoreRule& rule;
    std::vector<std::string> variables;
    std::map<std::uint32_t, std::vector<std::string>> nodes;
  };

  void require(const char* what, const Guard& goal) {
    if (required_.insert(goal).second) result_.obligations.push_back({what, goal_.facts(), goal, lemmas_});
  }

  /// Returns the text of a term, and adds the conditions under which its new nodes are well-typed to `conditions`.
  std::string text(const CoreTerm& term, Side& side, Guards& conditions) {
    if (term.is_variable) return at(side.variables, term.number, "variable");
    if (!side.nodes.contains(term.number)) {
      const CoreNode& node = at(side.rule.nodes, term.number, "node");
      std::vector<std::string> arguments;
      for (const CoreTerm& argument : node.arguments) arguments.push_back(text(argument, side, conditions));
      side.nodes[term.number] = apply(node, arguments, conditions);
    }
    return at(side.nodes[term.number], term.output, "output");
  }

  std::vector<std::string> apply(const CoreNode& node, const std::vector<std::string>& arguments, Guards& conditions) {
    std::string name = "operator " + node.instance->name, list;
    std::vector<Shape> shapes;
    for (const Poly& size : node.sizes) name += ", " + atoms_.text(size);
    for (const std::string& argument : arguments) {
      list += " " + argument;
      shapes.push_back(shapes_.at(argument));
    }
    std::vector<std::string> symbols, outputs;
    for (std::size_t output = 0; output < node.instance->outputs.size(); ++output) {
      symbols.push_back(symbol(name + " output " + std::to_string(output), arguments.size()));
      outputs.push_back(arguments.empty() ? symbols.back() : "(" + symbols.back() + list + ")");
    }
    if (shapes_.contains(outputs.at(0))) return outputs;
    const TypedNode typed = type_node(*node.instance, shapes, node.sizes, atoms_, conditions);
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      shapes_[outputs[output]] = typed.outputs[output];
      if (node.instance->commutative)
        add_equation(outputs[output], "(" + symbols[output] + " " + arguments.at(1) + " " + arguments[0] + ")");
    }
    return outputs;
  }

  void add_equation(const std::string& a, const std::string& b) { equations_ += "(assert (= " + a + " " + b + "))\n"; }

  /// The generated name of a function of the script.
  std::string symbol(const std::string& key, std::size_t arity) {
    const auto [found, is_new] = symbols_.try_emplace(key, "f" + std::to_string(symbols_.size()));
    std::string domain;
    for (std::size_t i = 0; i < arity; ++i) domain += " Tensor";
    if (is_new) declarations_ += "(declare-fun " + found->second + " (" + domain + ") Tensor)\n";
    return found->second;
  }

  /// The rule holds for all sizes of at least 1 that satisfy its condition, and all tensors of its shapes, wherever its
  /// source is well-typed. Its own proof shows that its target is well-typed there.
  void add(const RuleInstance& instance, Side& goal) {
    const CoreRule& rule = instance.rule;
    expect(!rule.widens, "a rule that widens is no equation");
    for (const Poly& size : instance.sizes) require("a size is positive", {false, size - 1});
    for (const Poly& number : rule.nonzero)
      expect(atoms_.is_nonnegative(number - 1) || atoms_.is_nonnegative(-number - 1),
             "two sizes are not shown to differ");
    expect(instance.terms.size() == rule.variables.size(), "a wrong number of variables");
    Side side{rule, {}, {}};
    Guards conditions = rule.condition;
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      const std::string& given = side.variables.emplace_back(text(instance.terms[v], goal, conditions));
      const Shape& actual = shapes_.at(given);
      expect(actual.size() == rule.variables[v].shape.size(), "a term of wrong rank");
      for (std::size_t d = 0; d < actual.size(); ++d)
        conditions.push_back({true, actual[d] - rule.variables[v].shape[d]});
    }
    std::vector<std::string> source;
    for (const CoreTerm& term : rule.source) source.push_back(text(term, side, conditions));
    for (const Guard& condition : conditions) require("an instance is well-typed and its condition holds", condition);
    Guards shown_by_the_rule;
    for (std::size_t i = 0; i < source.size(); ++i)
      add_equation(source[i], text(rule.target.at(i), side, shown_by_the_rule));
  }

  const Statement& goal_;
  Atoms& atoms_;
  const std::vector<ProductLemma>& lemmas_;
  std::set<Guard> required_;
  std::map<std::string, Shape> shapes_;  // of all terms
  std::map<std::string, std::string> symbols_;
  std::string declarations_, equations_;
  CheckedDerivation result_;
};

}  // namespace

CheckedDerivation check_derivation(const Statement& goal, const std::vector<RuleInstance>& instances,
                                   const std::vector<ProductLemma>& lemmas) {
  return DerivationChecker(goal, lemmas).run(instances);
}

}  // namespace rulemill::check
