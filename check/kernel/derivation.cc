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
      goal_interpretation_.terms[variable] =
          add("variable " + name, function("variable " + name, 0), shape(goal.shape(variable)));
    }
  }

  CheckedDerivation run(const std::vector<RuleInstance>& instances) {
    // The goal's terms are well-typed: those of its source by assumption, those of its target by obligation.
    Guards assumed;
    std::string goals;
    const Rule& rule = goal_.rule();
    for (std::size_t i = 0; i < rule.source.size(); ++i) {
      const std::size_t a = term(rule.source[i], goal_interpretation_, assumed),
                        b = term(rule.target.at(i), goal_interpretation_, assumed);
      goals += " (= " + terms_[a].text + " " + terms_[b].text + ")";
    }
    for (std::size_t i = 0; i < instances.size(); ++i) {
      try {
        add_instance(instances[i]);
      } catch (const CheckError& error) {
        throw CheckError{"rule instance " + std::to_string(i + 1) + ": " + error.what};
      }
    }
    for (const Guard& goal : goal_.target_obligations()) require("both sides have one shape", goal);
    for (const Poly& divisor : std::set<Poly>(atoms_.divisors()))
      require("a divisor is positive", {false, divisor - 1});
    std::string script = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n" + declarations_ + equations_;
    for (const std::string& commutation : commutations_) script += commutation + "\n";
    result_.script = script + "(assert (not (and true" + goals + ")))\n(check-sat)\n";
    return std::move(result_);
  }

 private:
  struct Term {
    std::string text;  // for a solver
    Shape shape;
  };
  /// The values of a rule's variables and sizes; the goal's sizes stand for themselves.
  struct Interpretation {
    std::map<TermId, std::size_t> terms;
    std::optional<Atoms::PolysByName> sizes;
    std::map<NodeId, std::vector<std::size_t>> nodes;  // outputs of the nodes seen so far
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
  Shape shape(Shape dims) {
    for (Poly& dim : dims) dim = solved(dim);
    return dims;
  }

  void require(const char* what, const Guard& goal) {
    const Poly poly = solved(goal.poly);
    const auto follows = [&](const Guard& fact) { return !fact.equality && atoms_.is_nonnegative(poly - fact.poly); };
    if (!goal.equality && (atoms_.is_nonnegative(poly) || std::ranges::any_of(given_, follows)))
      return void(++result_.trivial);
    Obligation obligation{what, given_, Guard{goal.equality, poly}, {}, lemmas_};
    if (is_trivial(obligation))
      ++result_.trivial;
    else if (std::ranges::find(required_, *obligation.goal) == required_.end()) {
      required_.push_back(*obligation.goal);
      result_.obligations.push_back(std::move(obligation));
    }
  }

  std::size_t add(const std::string& key, const std::string& text, Shape dims) {
    const auto [found, is_new] = term_numbers_.try_emplace(key, terms_.size());
    if (is_new) terms_.push_back({text, std::move(dims)});
    return found->second;
  }

  /// Returns the number of a term, and adds the conditions under which its new nodes are well-typed to `conditions`.
  std::size_t term(TermId id, Interpretation& interpretation, Guards& conditions) {
    const algebra::Term& read = bank_.term(id);
    if (read.is_variable) {
      const auto found = interpretation.terms.find(id);
      if (found == interpretation.terms.end()) throw CheckError{read.name + " is not a variable of the rule"};
      return found->second;
    }
    if (const auto known = interpretation.nodes.find(read.node); known != interpretation.nodes.end())
      return known->second.at(read.output);
    const algebra::Node node = bank_.node(read.node);
    std::vector<std::size_t> arguments;
    for (const TermId argument : node.arguments) arguments.push_back(term(argument, interpretation, conditions));
    std::vector<Poly> sizes;
    const Atoms::PolysByName* values = interpretation.sizes ? &*interpretation.sizes : nullptr;
    for (const Poly& size : node.sizes) sizes.push_back(solved(atoms_.import(size, symbols_, values)));
    interpretation.nodes[read.node] = apply(bank_.library().instance(node.instance), arguments, sizes, conditions);
    return interpretation.nodes[read.node].at(read.output);
  }

  std::vector<std::size_t> apply(const algebra::OperatorInstance& instance, const std::vector<std::size_t>& arguments,
                                 const std::vector<Poly>& sizes, Guards& conditions) {
    std::string name = "operator " + instance.name, key, list;
    for (const Poly& size : sizes) name += ", " + atoms_.text(size);
    for (const std::size_t argument : arguments) {
      key += " " + std::to_string(argument);
      list += " " + terms_[argument].text;
    }
    const auto [found, is_new] = nodes_.try_emplace(name + ";" + key);
    if (!is_new) return found->second;
    std::vector<Shape> shapes;
    for (const std::size_t argument : arguments) shapes.push_back(terms_[argument].shape);
    TypedNode node = type_node(instance, shapes, sizes, atoms_, conditions);
    for (std::size_t output = 0; output < node.outputs.size(); ++output) {
      const std::string ending = " output " + std::to_string(output);
      const std::string symbol = function(name + ending, arguments.size());
      const std::string text = arguments.empty() ? symbol : "(" + symbol + list + ")";
      found->second.push_back(add(name + ";" + key + ending, text, shape(node.outputs[output])));
      if (instance.commutative && arguments[0] != arguments[1]) {
        commutations_.insert("(assert (= " + text + " (" + symbol + " " + terms_[arguments[1]].text + " " +
                             terms_[arguments[0]].text + ")))");
      }
    }
    return found->second;
  }

  /// The generated name of a function of the script.
  std::string function(const std::string& key, std::size_t arity) {
    const auto [found, is_new] = functions_.try_emplace(key, "f" + std::to_string(functions_.size()));
    if (is_new) {
      std::string domain;
      for (std::size_t i = 0; i < arity; ++i) domain += (i == 0 ? "" : " ") + std::string("Tensor");
      declarations_ += "(declare-fun " + found->second + " (" + domain + ") Tensor)\n";
    }
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
    if (instance.terms.size() != rule.variables.size()) throw CheckError{"a wrong number of variables"};
    Guards conditions;
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      const std::size_t given = interpretation.terms[rule.variables[v]] =
          term(instance.terms[v], goal_interpretation_, conditions);
      const Shape actual = terms_[given].shape;
      if (actual.size() != rule.shapes.at(v).size()) throw CheckError{"a term of wrong rank"};
      for (std::size_t d = 0; d < actual.size(); ++d)
        conditions.push_back({true, actual[d] - atoms_.import(rule.shapes[v][d], symbols_, &*interpretation.sizes)});
    }
    for (const algebra::SizeCondition& c : rule.condition) {
      const Poly left = atoms_.import(c.left, symbols_, &*interpretation.sizes);
      const Poly right = atoms_.import(c.right, symbols_, &*interpretation.sizes);
      conditions = conjunction(conditions, to_guards(c.relation, left, right));
      const Poly more = solved(right - left) - 1, less = solved(left - right) - 1;
      if (c.relation == Relation::Ne && !atoms_.is_nonnegative(more) && !atoms_.is_nonnegative(less))
        throw CheckError{"two sizes are not shown to differ"};
    }
    std::vector<std::size_t> source;
    for (const TermId id : rule.source) source.push_back(term(id, interpretation, conditions));
    for (const Guard& condition : conditions) require("an instance is well-typed and its condition holds", condition);
    Guards shown_by_the_rule;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::size_t target = term(rule.target.at(i), interpretation, shown_by_the_rule);
      equations_ += "(assert (= " + terms_[source[i]].text + " " + terms_[target].text + "))\n";
    }
  }

  Statement& goal_;
  const algebra::TermBank& bank_;
  const algebra::Symbols& symbols_;
  Atoms& atoms_;
  const std::vector<ProductLemma>& lemmas_;
  Images solutions_;
  Guards given_;
  Guards required_;
  Interpretation goal_interpretation_;
  std::vector<Term> terms_;
  std::map<std::string, std::size_t> term_numbers_;
  std::map<std::string, std::vector<std::size_t>> nodes_;
  std::map<std::string, std::string> functions_;
  std::string declarations_, equations_;
  std::set<std::string> commutations_;
  CheckedDerivation result_;
};

}  // namespace

CheckedDerivation check_derivation(Statement& goal, const std::vector<RuleInstance>& instances,
                                   const algebra::Symbols& symbols, const std::vector<ProductLemma>& lemmas) {
  return DerivationChecker(goal, symbols, lemmas).run(instances);
}

}  // namespace rulemill::check
