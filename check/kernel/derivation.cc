#include "check/kernel/derivation.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::check {

using algebra::NodeId;
using algebra::Relation;
using algebra::Rule;
using algebra::TermId;

namespace {

/// The terms of the goal and of the rule instances, all in the goal's sizes.
class DerivationChecker {
 public:
  DerivationChecker(Statement& goal, const algebra::Symbols& symbols, const std::vector<ProductLemma>& lemmas)
      : goal_(goal), bank_(goal.bank()), symbols_(symbols), atoms_(goal.atoms()), lemmas_(lemmas) {
    solve_equations();
    for (const TermId variable : goal.rule().variables) {
      const std::string& name = bank_.term(variable).name;
      const std::string text = goal_interpretation_.terms[variable] = function("variable " + name, 0);
      shapes_[text] = solved(goal.shape(variable));
    }
  }

  CheckedDerivation run(const std::vector<RuleInstance>& instances) {
    // The goal's terms are well-typed: those of its source by assumption, those of its target by obligation.
    Guards assumed;
    std::string goals;
    const Rule& rule = goal_.rule();
    for (std::size_t i = 0; i < rule.source.size(); ++i) {
      const std::string source = term(rule.source[i], goal_interpretation_, assumed);
      goals += " (= " + source + " " + term(rule.target.at(i), goal_interpretation_, assumed) + ")";
    }
    for (std::size_t i = 0; i < instances.size(); ++i) {
      try {
        add_instance(instances[i]);
      } catch (CheckError& error) {
        error.what = "rule instance " + std::to_string(i + 1) + ": " + error.what;
        throw;
      }
    }
    for (const Guard& goal : goal_.target_obligations()) require("both sides have one shape", goal);
    for (const Poly& divisor : std::set<Poly>(atoms_.divisors()))
      require("a divisor is positive", {false, divisor - 1});
    result_.script = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n" + declarations_ + equations_ +
                     "(assert (not (and true" + goals + ")))\n(check-sat)\n";
    return std::move(result_);
  }

 private:
  /// The values of a rule's variables, as text for a solver, and of its sizes; the goal's sizes stand for themselves.
  struct Interpretation {
    std::map<TermId, std::string> terms;
    std::optional<Atoms::PolysByName> sizes;
    std::map<NodeId, std::vector<std::string>> nodes;  // outputs of the nodes seen so far
  };

  /// Solves the goal's equations for sizes, which are then replaced everywhere, so that equal terms have equal texts.
  void solve_equations() {
    for (const Guard& fact : goal_.facts()) {
      if (!fact.equality) continue;
      const Poly zero = solved(fact.poly);
      std::set<Atom> all;
      atoms_.collect(zero, all);
      for (const Atom atom : all) {
        const std::int64_t coefficient = zero.coefficient(atom);
        const Poly rest = zero - Poly(coefficient) * Poly(atom);
        const bool is_unit = coefficient == 1 || coefficient == -1;
        if (!is_unit || atoms_.kind(atom) != Atoms::Kind::Size || atoms_.occurs(rest, atom)) continue;
        const Images one{{atom, coefficient == 1 ? -rest : rest}};
        for (auto& [known, image] : solutions_) image = atoms_.substitute(image, one);
        solutions_.insert(*one.begin());
        break;
      }
    }
    given_ = goal_.facts();
    for (const Guard& fact : goal_.facts()) given_.push_back({fact.equality, solved(fact.poly)});
    for (const auto& [atom, image] : solutions_) given_.push_back({false, image - 1});
    remove_redundant(given_);
  }

  Poly solved(const Poly& poly) { return atoms_.substitute(poly, solutions_); }
  Shape solved(Shape dims) {
    for (Poly& dim : dims) dim = solved(dim);
    return dims;
  }

  void require(const char* what, const Guard& goal) {
    const Poly poly = solved(goal.poly);
    const auto follows = [&](const Guard& fact) { return !fact.equality && atoms_.is_nonnegative(poly - fact.poly); };
    Obligation obligation{what, given_, Guard{goal.equality, poly}, {}, lemmas_};
    if ((!goal.equality && (atoms_.is_nonnegative(poly) || std::ranges::any_of(given_, follows))) ||
        is_trivial(obligation))
      ++result_.trivial;
    else if (required_.insert(*obligation.goal).second)
      result_.obligations.push_back(std::move(obligation));
  }

  /// Returns the text of a term, and adds the conditions under which its new nodes are well-typed to `conditions`.
  std::string term(TermId id, Interpretation& interpretation, Guards& conditions) {
    const algebra::Term& read = bank_.term(id);
    if (read.is_variable) {
      expect(interpretation.terms.contains(id), "a term contains a variable of another rule");
      return interpretation.terms.at(id);
    }
    if (const auto known = interpretation.nodes.find(read.node); known != interpretation.nodes.end())
      return known->second.at(read.output);
    const algebra::Node node = bank_.node(read.node);
    std::vector<std::string> arguments;
    for (const TermId argument : node.arguments) arguments.push_back(term(argument, interpretation, conditions));
    std::vector<Poly> sizes;
    const Atoms::PolysByName* values = interpretation.sizes ? &*interpretation.sizes : nullptr;
    for (const Poly& size : node.sizes) sizes.push_back(solved(atoms_.import(size, symbols_, values)));
    interpretation.nodes[read.node] = apply(bank_.library().instance(node.instance), arguments, sizes, conditions);
    return interpretation.nodes[read.node].at(read.output);
  }

  std::vector<std::string> apply(const algebra::OperatorInstance& instance, const std::vector<std::string>& arguments,
                                 const std::vector<Poly>& sizes, Guards& conditions) {
    std::string name = "operator " + instance.name, list;
    std::vector<Shape> shapes;
    for (const Poly& size : sizes) name += ", " + atoms_.text(size);
    for (const std::string& argument : arguments) {
      list += " " + argument;
      shapes.push_back(shapes_.at(argument));
    }
    std::vector<std::string> symbols, outputs;
    for (std::size_t output = 0; output < instance.outputs.size(); ++output) {
      symbols.push_back(function(name + " output " + std::to_string(output), arguments.size()));
      outputs.push_back(arguments.empty() ? symbols.back() : "(" + symbols.back() + list + ")");
    }
    if (shapes_.contains(outputs.at(0))) return outputs;
    const TypedNode node = type_node(instance, shapes, sizes, atoms_, conditions);
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      shapes_[outputs[output]] = solved(node.outputs[output]);
      if (instance.commutative)
        add_equation(outputs[output], "(" + symbols[output] + " " + arguments.at(1) + " " + arguments[0] + ")");
    }
    return outputs;
  }

  void add_equation(const std::string& a, const std::string& b) { equations_ += "(assert (= " + a + " " + b + "))\n"; }

  /// The generated name of a function of the script.
  std::string function(const std::string& key, std::size_t arity) {
    const auto [found, is_new] = functions_.try_emplace(key, "f" + std::to_string(functions_.size()));
    std::string domain;
    for (std::size_t i = 0; i < arity; ++i) domain += (i == 0 ? "" : " ") + std::string("Tensor");
    if (is_new) declarations_ += "(declare-fun " + found->second + " (" + domain + ") Tensor)\n";
    return found->second;
  }

  /// The rule holds for all sizes of at least 1 that satisfy its condition, and all tensors of its shapes, wherever its
  /// source is well-typed. Its own proof shows that its target is well-typed there.
  void add_instance(const RuleInstance& instance) {
    const Rule& rule = *instance.rule;
    Interpretation interpretation;
    interpretation.sizes.emplace();
    for (const auto& [name, value] : instance.sizes) {
      const Poly& size = (*interpretation.sizes)[name] = solved(atoms_.import(value, symbols_));
      require("a size is positive", {false, size - 1});
    }
    expect(instance.terms.size() == rule.variables.size(), "a wrong number of variables");
    Guards conditions;
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      const std::string given = term(instance.terms[v], goal_interpretation_, conditions);
      interpretation.terms[rule.variables[v]] = given;
      const Shape& actual = shapes_.at(given);
      expect(actual.size() == rule.shapes.at(v).size(), "a term of wrong rank");
      for (std::size_t d = 0; d < actual.size(); ++d)
        conditions.push_back({true, actual[d] - atoms_.import(rule.shapes[v][d], symbols_, &*interpretation.sizes)});
    }
    for (const algebra::SizeCondition& c : rule.condition) {
      const Poly left = atoms_.import(c.left, symbols_, &*interpretation.sizes);
      const Poly right = atoms_.import(c.right, symbols_, &*interpretation.sizes);
      conditions = conjunction(conditions, to_guards(c.relation, left, right));
      const Poly more = solved(right - left) - 1, less = solved(left - right) - 1;
      expect(c.relation != Relation::Ne || atoms_.is_nonnegative(more) || atoms_.is_nonnegative(less),
             "two sizes are not shown to differ");
    }
    std::vector<std::string> source;
    for (const TermId id : rule.source) source.push_back(term(id, interpretation, conditions));
    for (const Guard& condition : conditions) require("an instance is well-typed and its condition holds", condition);
    Guards shown_by_the_rule;
    for (std::size_t i = 0; i < source.size(); ++i)
      add_equation(source[i], term(rule.target.at(i), interpretation, shown_by_the_rule));
  }

  Statement& goal_;
  const algebra::TermBank& bank_;
  const algebra::Symbols& symbols_;
  Atoms& atoms_;
  const std::vector<ProductLemma>& lemmas_;
  Images solutions_;
  Guards given_;
  std::set<Guard> required_;
  Interpretation goal_interpretation_;
  std::map<std::string, Shape> shapes_;  // of all terms
  std::map<std::string, std::string> functions_;
  std::string declarations_, equations_;
  CheckedDerivation result_;
};

}  // namespace

CheckedDerivation check_derivation(Statement& goal, const std::vector<RuleInstance>& instances,
                                   const algebra::Symbols& symbols, const std::vector<ProductLemma>& lemmas) {
  return DerivationChecker(goal, symbols, lemmas).run(instances);
}

}  // namespace rulemill::check
