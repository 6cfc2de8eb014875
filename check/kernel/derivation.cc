#include "check/kernel/derivation.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::check {

using algebra::NodeId;
using algebra::Relation;
using algebra::Rule;
using algebra::TermId;

namespace {

/// Terms of its own: those of the goal, and those of instances, whose sizes are the goal's.
class Deriver {
 public:
  Deriver(Statement& goal, const algebra::Symbols& symbols, const std::vector<Times>& times)
      : goal_(goal), bank_(goal.bank()), symbols_(symbols), atoms_(goal.atoms()), times_(times) {
    solve_equations();
    for (const TermId variable : goal.rule().variables) {
      const std::string& name = bank_.term(variable).name;
      goal_terms_.terms[variable] =
          add("variable " + name, function("variable " + name, 0), shape(goal.shape(variable)));
    }
  }

  Derived run(const std::vector<RuleInstance>& instances) {
    // The goal's own terms type: its source's by assumption, its target's since that is a duty.
    Guards assumed;
    std::string wanted;
    const Rule& rule = goal_.rule();
    for (std::size_t i = 0; i < rule.source.size(); ++i) {
      const std::size_t a = term(rule.source[i], goal_terms_, assumed),
                        b = term(rule.target.at(i), goal_terms_, assumed);
      wanted += " (= " + terms_[a].text + " " + terms_[b].text + ")";
    }
    for (std::size_t i = 0; i < instances.size(); ++i) {
      try {
        take(instances[i]);
      } catch (const Objection& wrong) {
        throw Objection{"rule instance " + std::to_string(i + 1) + ": " + wrong.what};
      }
    }
    for (const Guard& duty : goal_.duties()) owe("both sides have one shape", duty);
    for (const Poly& divisor : std::set<Poly>(atoms_.divisors())) owe("a divisor is positive", {false, divisor - 1});
    std::string script = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n" + declarations_ + equations_;
    for (const std::string& swap : swaps_) script += swap + "\n";
    result_.script = script + "(assert (not (and true" + wanted + ")))\n(check-sat)\n";
    return std::move(result_);
  }

 private:
  struct Term {
    std::string text;  // for a solver
    Shape shape;
  };
  /// What a rule's variables and sizes stand for; the goal's sizes stand for themselves.
  struct Meaning {
    std::map<TermId, std::size_t> terms;
    std::optional<Atoms::ByName> sizes;
    std::map<NodeId, std::vector<std::size_t>> nodes;  // outputs, once met
  };

  /// Sizes that equations of the goal give are replaced everywhere, so that what is equal there is one text.
  void solve_equations() {
    for (const Guard& fact : goal_.facts()) {
      if (!fact.equality) continue;
      const Poly zero = normal(fact.poly);
      std::set<Atom> all;
      atoms_.collect(zero, all);
      for (const Atom atom : all) {
        const std::int64_t coefficient = zero.coefficient(atom);
        const Poly rest = zero - Poly(coefficient) * Poly(atom);
        const bool gives = coefficient == 1 || coefficient == -1;
        if (!gives || atoms_.kind(atom) != Atoms::Kind::Size || atoms_.occurs(rest, atom)) continue;
        const Images one{{atom, coefficient == 1 ? -rest : rest}};
        for (auto& [known, image] : solved_) image = atoms_.substitute(image, one);
        solved_.insert(*one.begin());
        break;
      }
    }
    given_ = goal_.facts();
    for (const Guard& fact : goal_.facts()) given_.push_back({fact.equality, normal(fact.poly)});
    for (const auto& [atom, image] : solved_) given_.push_back({false, image - 1});
    tidy(given_);
  }

  Poly normal(const Poly& poly) { return atoms_.substitute(poly, solved_); }
  Shape shape(Shape dims) {
    for (Poly& dim : dims) dim = normal(dim);
    return dims;
  }

  void owe(const char* what, const Guard& goal) {
    const Poly poly = normal(goal.poly);
    const auto follows = [&](const Guard& fact) { return !fact.equality && atoms_.nonnegative(poly - fact.poly); };
    if (!goal.equality && (atoms_.nonnegative(poly) || std::ranges::any_of(given_, follows)))
      return void(++result_.plain);
    Obligation obligation{what, given_, Guard{goal.equality, poly}, {}, times_};
    if (is_plain(obligation))
      ++result_.plain;
    else if (std::ranges::find(owed_, *obligation.goal) == owed_.end()) {
      owed_.push_back(*obligation.goal);
      result_.obligations.push_back(std::move(obligation));
    }
  }

  std::size_t add(const std::string& key, const std::string& text, Shape dims) {
    const auto [found, is_new] = numbers_.try_emplace(key, terms_.size());
    if (is_new) terms_.push_back({text, std::move(dims)});
    return found->second;
  }

  /// The term as one of ours; what its nodes need in order to type is added to `needs`, once.
  std::size_t term(TermId id, Meaning& meaning, Guards& needs) {
    const algebra::Term& read = bank_.term(id);
    if (read.is_variable) {
      const auto found = meaning.terms.find(id);
      if (found == meaning.terms.end()) throw Objection{read.name + " is not a variable of the rule"};
      return found->second;
    }
    if (const auto known = meaning.nodes.find(read.node); known != meaning.nodes.end())
      return known->second.at(read.output);
    const algebra::Node node = bank_.node(read.node);
    std::vector<std::size_t> arguments;
    for (const TermId argument : node.arguments) arguments.push_back(term(argument, meaning, needs));
    std::vector<Poly> sizes;
    const Atoms::ByName* values = meaning.sizes ? &*meaning.sizes : nullptr;
    for (const Poly& size : node.sizes) sizes.push_back(normal(atoms_.import(size, symbols_, values)));
    meaning.nodes[read.node] = applied(bank_.library().instance(node.instance), arguments, sizes, needs);
    return meaning.nodes[read.node].at(read.output);
  }

  std::vector<std::size_t> applied(const algebra::Instance& instance, const std::vector<std::size_t>& arguments,
                                   const std::vector<Poly>& sizes, Guards& needs) {
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
    TypedNode node = typed(instance, shapes, sizes, atoms_, needs);
    for (std::size_t output = 0; output < node.outputs.size(); ++output) {
      const std::string ending = " output " + std::to_string(output);
      const std::string symbol = function(name + ending, arguments.size());
      const std::string text = arguments.empty() ? symbol : "(" + symbol + list + ")";
      found->second.push_back(add(name + ";" + key + ending, text, shape(node.outputs[output])));
      if (instance.commutative && arguments[0] != arguments[1]) {
        swaps_.insert("(assert (= " + text + " (" + symbol + " " + terms_[arguments[1]].text + " " +
                      terms_[arguments[0]].text + ")))");
      }
    }
    return found->second;
  }

  /// A generated name for what `key` stands for.
  std::string function(const std::string& key, std::size_t arity) {
    const auto [found, is_new] = functions_.try_emplace(key, "f" + std::to_string(functions_.size()));
    if (is_new) {
      std::string domain;
      for (std::size_t i = 0; i < arity; ++i) domain += (i == 0 ? "" : " ") + std::string("Tensor");
      declarations_ += "(declare-fun " + found->second + " (" + domain + ") Tensor)\n";
    }
    return found->second;
  }

  /// The rule holds for all sizes of at least 1 that satisfy its condition, for all tensors of its shapes, wherever its
  /// source types; that its target types there is its own proof's.
  void take(const RuleInstance& instance) {
    const Rule& rule = *instance.rule;
    Meaning meaning;
    meaning.sizes.emplace();
    for (const auto& [name, value] : instance.sizes) {
      const Poly& size = (*meaning.sizes)[name] = normal(atoms_.import(value, symbols_));
      owe("a size is positive", {false, size - 1});
    }
    if (instance.terms.size() != rule.variables.size()) throw Objection{"it has another number of variables"};
    Guards needs;
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      const std::size_t given = meaning.terms[rule.variables[v]] = term(instance.terms[v], goal_terms_, needs);
      const Shape actual = terms_[given].shape;
      if (actual.size() != rule.shapes.at(v).size()) throw Objection{"a variable stands for a term of another rank"};
      for (std::size_t d = 0; d < actual.size(); ++d)
        needs.push_back({true, actual[d] - atoms_.import(rule.shapes[v][d], symbols_, &*meaning.sizes)});
    }
    for (const algebra::SizeCondition& c : rule.condition) {
      const Poly left = atoms_.import(c.left, symbols_, &*meaning.sizes);
      const Poly right = atoms_.import(c.right, symbols_, &*meaning.sizes);
      needs = joined(needs, guards_of(c.relation, left, right));
      const Poly more = normal(right - left) - 1, less = normal(left - right) - 1;
      if (c.relation == Relation::Ne && !atoms_.nonnegative(more) && !atoms_.nonnegative(less))
        throw Objection{"that two sizes differ is not seen"};
    }
    std::vector<std::size_t> source;
    for (const TermId id : rule.source) source.push_back(term(id, meaning, needs));
    for (const Guard& need : needs) owe("an instance types, and its condition holds", need);
    Guards shown_by_the_rule;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::size_t target = term(rule.target.at(i), meaning, shown_by_the_rule);
      equations_ += "(assert (= " + terms_[source[i]].text + " " + terms_[target].text + "))\n";
    }
  }

  Statement& goal_;
  const algebra::TermBank& bank_;
  const algebra::Symbols& symbols_;
  Atoms& atoms_;
  const std::vector<Times>& times_;
  Images solved_;
  Guards given_;
  Guards owed_;
  Meaning goal_terms_;
  std::vector<Term> terms_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::string, std::vector<std::size_t>> nodes_;
  std::map<std::string, std::string> functions_;
  std::string declarations_, equations_;
  std::set<std::string> swaps_;
  Derived result_;
};

}  // namespace

Derived derive(Statement& goal, const std::vector<RuleInstance>& instances, const algebra::Symbols& symbols,
               const std::vector<Times>& times) {
  return Deriver(goal, symbols, times).run(instances);
}

}  // namespace rulemill::check
