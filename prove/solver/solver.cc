#include "prove/solver/solver.h"

#include <z3++.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "prove/solver/linear.h"
#include "prove/solver/model_search.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Monomial;

namespace {

constexpr std::uint64_t steps_per_z3_resource = 10;

std::uint64_t slicing_cost(const Query& query, const Guards& context) {
  std::uint64_t guards = query.asserted.size() + context.size();
  for (const auto& [coefficient, own] : query.indicators) guards += own.size();
  return 40 * guards;
}

}  // namespace

/// A context of Z3, and the variables of all queries.
struct Solver::Z3 {
  z3::context context;
  std::unique_ptr<z3::solver> solver;
  std::map<Monomial, z3::expr> variables;
  std::unordered_map<unsigned, Atom> atoms;  // variables that are one atom, by AST id
  unsigned last_resource_count = 0;          // of Z3's resource units

  void start(std::uint32_t rlimit) {
    solver = std::make_unique<z3::solver>(context, z3::solver::simple());
    z3::params parameters(context);
    parameters.set("rlimit", rlimit);
    parameters.set("ctrl_c", false);  // signals are handled by runtime/process/interrupt.h
    solver->set(parameters);
  }

  z3::expr variable(const Monomial& monomial) {
    const auto found = variables.find(monomial);
    if (found != variables.end()) return found->second;
    std::string name = "v";
    for (const Atom atom : monomial) name += "." + std::to_string(static_cast<std::uint32_t>(atom));
    const z3::expr variable = context.int_const(name.c_str());
    if (monomial.size() == 1) atoms[Z3_get_ast_id(context, variable)] = monomial[0];
    return variables.emplace(monomial, variable).first->second;
  }

  z3::expr linear(const Poly& poly) {
    z3::expr_vector terms(context);
    for (const Poly::Term& term : poly.terms()) {
      if (term.monomial.empty()) {
        terms.push_back(context.int_val(term.coefficient));
      } else if (term.coefficient == 1) {
        terms.push_back(variable(term.monomial));
      } else {
        terms.push_back(context.int_val(term.coefficient) * variable(term.monomial));
      }
    }
    if (terms.empty()) return context.int_val(0);
    return terms.size() == 1 ? terms[0] : z3::sum(terms);
  }

  z3::expr formula(const Guard& guard) {
    const z3::expr poly = linear(guard.poly);
    return guard.equality ? poly == 0 : poly >= 0;
  }

  z3::expr conjunction(const Guards& guards) {
    z3::expr_vector all(context);
    for (const Guard& guard : guards) all.push_back(formula(guard));
    return all.empty() ? context.bool_val(true) : all.size() == 1 ? all[0] : z3::mk_and(all);
  }

  z3::expr indicators(const Query& query) {
    std::int64_t denominator = 1;
    for (const auto& [coefficient, guards] : query.indicators) denominator = std::lcm(denominator, coefficient.den);
    z3::expr_vector terms(context);
    for (const auto& [coefficient, guards] : query.indicators) {
      terms.push_back(z3::ite(conjunction(guards), context.int_val(coefficient.num * (denominator / coefficient.den)),
                              context.int_val(0)));
    }
    return z3::sum(terms) != 0;
  }

  /// Z3's resource units since the last call.
  std::uint64_t consumed_resources() {
    const z3::stats statistics = solver->statistics();
    for (unsigned i = 0; i < statistics.size(); ++i) {
      if (statistics.key(i) != "rlimit count") continue;
      return statistics.uint_value(i) - std::exchange(last_resource_count, statistics.uint_value(i));
    }
    return 0;
  }

  /// Returns whether the query can hold; if so, `values` receives the sizes and indices of a model.
  z3::check_result check(const Query& query, Models::Values& values) {
    solver->push();
    for (const Guard& guard : query.asserted) solver->add(formula(guard));
    for (const Lemma& lemma : query.lemmas) {
      const z3::expr conclusion = formula(lemma.conclusion);
      solver->add(lemma.premises.empty() ? conclusion : z3::implies(conjunction(lemma.premises), conclusion));
    }
    if (!query.indicators.empty()) solver->add(indicators(query));
    const z3::check_result result = solver->check();
    if (result == z3::sat) {
      const z3::model model = solver->get_model();
      for (unsigned i = 0; i < model.num_consts(); ++i) {
        const z3::func_decl constant = model.get_const_decl(i);
        const auto atom = atoms.find(Z3_get_ast_id(context, constant()));
        std::int64_t value = 0;
        if (atom == atoms.end() || !model.get_const_interp(constant).is_numeral_i64(value)) continue;
        values[atom->second] = value;
      }
    }
    solver->pop();
    return result;
  }
};

Solver::Solver(Symbols& symbols, SolverLimits limits)
    : symbols_(symbols), limits_(limits), budget_(limits.steps), models_(symbols) {}

Solver::~Solver() = default;

std::string Solver::version() { return Z3_get_full_version(); }

void Solver::start(Guards facts, std::vector<Models::Values> samples) {
  facts_ = std::move(facts);
  samples_ = std::move(samples);
  assumptions_.clear();
  queries_of_rule_ = 0;
  answers_.clear();
  models_.clear();
  if (z3_) z3_->start(limits_.rlimit);
}

Solver::Assumption::Assumption(Solver& solver, const Guards& guards)
    : solver_(solver), before_(solver.assumptions_.size()) {
  solver_.assumptions_.insert(solver_.assumptions_.end(), guards.begin(), guards.end());
}

Solver::Assumption::~Assumption() { solver_.assumptions_.resize(before_); }

bool Solver::is_unsatisfiable(Query query, Depth depth) {
  if (queries_of_rule_ >= limits_.queries)
    throw LimitReached{"more than " + std::to_string(limits_.queries) + " queries"};
  ++queries_of_rule_;
  ++statistics_.queries;
  Guards context = facts_;
  context.insert(context.end(), assumptions_.begin(), assumptions_.end());
  budget_.spend(slicing_cost(query, context));
  query = slice(std::move(query), context, symbols_);
  if (has_model(query)) {
    ++statistics_.by_models;
    return false;
  }
  query.lemmas = make_lemmas(query, symbols_);
  const auto linear = [&] {
    return query.indicators.empty() ? is_linearly_infeasible(query, depth != Depth::Quick, &budget_)
                                    : indicators_vanish(query, &budget_);
  };
  if (limits_.linear && linear()) {
    ++statistics_.by_simplex;
    return true;
  }
  if (limits_.linear && depth != Depth::Full) return false;
  const runtime::Stopwatch watch;
  z3::check_result result = z3::unknown;
  try {
    if (!z3_) {
      z3_ = std::make_unique<Z3>();
      z3_->start(limits_.rlimit);
    }
    Models::Values values;
    result = z3_->check(query, values);
    budget_.spend(steps_per_z3_resource * z3_->consumed_resources());
    if (result == z3::sat) models_.add(values, query);
  } catch (const z3::exception& error) {
    throw runtime::Error("z3", std::string(error.msg()) + " in query " + query.name);
  }
  statistics_.seconds += watch.seconds();
  switch (result) {
    case z3::unsat:
      ++statistics_.unsatisfiable;
      return true;
    case z3::sat:
      ++statistics_.satisfiable;
      return false;
    case z3::unknown:
      ++statistics_.unknown;
      return false;
  }
  return false;
}

/// True if an earlier model or a search at the sample sizes satisfies the query.
bool Solver::has_model(const Query& query) { return prove::has_model(models_, query, samples_, symbols_, &budget_); }

bool Solver::is_known(const Guard& guard, const Guards& given) const {
  const auto shows = [&](const Guard& fact) {
    if (fact == guard) return true;
    if (guard.equality) return false;
    const std::optional<std::int64_t> slack = (guard.poly - fact.poly).constant();
    return slack && (*slack >= 0);
  };
  return std::any_of(given.begin(), given.end(), shows) ||
         std::any_of(assumptions_.begin(), assumptions_.end(), shows) ||
         std::any_of(facts_.begin(), facts_.end(), shows);
}

bool Solver::is_infeasible(const Guards& guards, const char* name, Depth depth) {
  for (const Guard& guard : guards) {
    const std::optional<std::int64_t> constant = guard.poly.constant();
    if (constant && (guard.equality ? *constant != 0 : *constant < 0)) return true;
    // p ≥ 0 contradicts −p − 1 ≥ 0; p = 0 contradicts −p − 1 ≥ 0 and p − 1 ≥ 0.
    if (is_known({false, -guard.poly - 1}, guards) || (guard.equality && is_known({false, guard.poly - 1}, guards))) {
      ++statistics_.by_comparison;
      return true;
    }
  }
  budget_.spend(8 * (assumptions_.size() + guards.size()));
  std::pair<Depth, Guards> key{depth, assumptions_};
  Guards& all = key.second;
  all.insert(all.end(), guards.begin(), guards.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto found = answers_.find(key);
  if (found != answers_.end()) {
    ++statistics_.cached;
    return found->second;
  }
  const bool answer = is_unsatisfiable({name, guards, {}, {}}, depth);
  answers_.emplace(std::move(key), answer);
  return answer;
}

bool Solver::is_implied(const Guards& given, const Guard& goal, const char* name, Depth depth) {
  if (const std::optional<std::int64_t> constant = goal.poly.constant()) {
    return goal.equality ? *constant == 0 : *constant >= 0;
  }
  if (is_known(goal, given)) {
    ++statistics_.by_comparison;
    return true;
  }
  Guards with = given;
  with.push_back({false, -goal.poly - 1});
  if (!is_infeasible(with, name, depth)) return false;
  if (!goal.equality) return true;
  with.back().poly = goal.poly - 1;
  return is_infeasible(with, name, depth);
}

std::optional<std::int64_t> Solver::unique_value(const Guards& given, const Poly& poly, const char* name) {
  Guards context = facts_;
  context.insert(context.end(), assumptions_.begin(), assumptions_.end());
  context.insert(context.end(), given.begin(), given.end());
  const Query query{name, std::move(context), {}, {}};
  const std::optional<std::int64_t> value = has_model(query) ? models_.value(poly) : std::optional<std::int64_t>(0);
  if (!value || !is_implied(given, {false, *value - poly}, name, Depth::Quick) ||
      !is_implied(given, {false, poly - *value}, name, Depth::Quick)) {
    return std::nullopt;
  }
  return value;
}

bool Solver::indicators_cancel(const std::vector<std::pair<Rational, Guards>>& indicators, const char* name) {
  if (indicators.size() == 2 && indicators[0].first + indicators[1].first == Rational{0, 1}) {
    Guards a = indicators[0].second;
    Guards b = indicators[1].second;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a == b) {
      ++statistics_.by_comparison;
      return true;
    }
  }
  return is_unsatisfiable({name, {}, indicators, {}}, Depth::Full);
}

}  // namespace rulemill::prove
