#include "prove/elaboration/oracle.h"

#include <z3++.h>

#include <algorithm>

#include "prove/solver/budget.h"
#include "prove/solver/lemma_context.h"
#include "prove/solver/linear.h"
#include "prove/solver/model_search.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Monomial;
using check::Atoms;
using check::Obligation;
using check::ProductLemma;

namespace {

constexpr std::uint64_t max_queries = 5000;  // of one search

}  // namespace

/// A context of Z3 for all queries.
struct Oracle::Z3 {
  z3::context context;
  z3::solver solver{context, z3::solver::simple()};
  std::map<Monomial, z3::expr> variables;
  Models::Values counterexample;  // after core() has failed; products may have other values in it

  Z3() {
    z3::params parameters(context);
    parameters.set("rlimit", 1000000u);
    solver.set(parameters);
  }

  z3::expr linear(const Poly& poly) {
    z3::expr sum = context.int_val(poly.constant_term());
    for (const Poly::Term& term : poly.terms()) {
      if (term.monomial.empty()) continue;
      auto found = variables.find(term.monomial);
      if (found == variables.end()) {
        const std::string name = "v" + std::to_string(variables.size());
        found = variables.emplace(term.monomial, context.int_const(name.c_str())).first;
      }
      sum = sum + context.int_val(term.coefficient) * found->second;
    }
    return sum;
  }
  z3::expr formula(bool equality, const Poly& poly) { return equality ? linear(poly) == 0 : linear(poly) >= 0; }

  void add(const Lemma& lemma) {
    z3::expr_vector premises(context);
    for (const Guard& premise : lemma.premises) premises.push_back(formula(premise.equality, premise.poly));
    const z3::expr conclusion = formula(lemma.conclusion.equality, lemma.conclusion.poly);
    solver.add(premises.empty() ? conclusion : z3::implies(z3::mk_and(premises), conclusion));
  }

  void add(const Obligation& obligation) {
    for (const check::Guard& guard : obligation.given) solver.add(formula(guard.equality, guard.poly));
    if (obligation.goal) solver.add(!formula(obligation.goal->equality, obligation.goal->poly));
  }

  /// Returns the positions of the lemmas in an unsatisfiable core. A lemma is added once a model violates it.
  std::optional<std::vector<std::size_t>> core(const std::vector<ProductLemma>& lemmas) {
    z3::expr_vector labels(context);
    std::map<unsigned, std::size_t> place;
    std::vector<bool> added(lemmas.size());
    for (int round = 0;; ++round) {
      const z3::check_result result = solver.check(labels);
      if (result == z3::unsat) break;
      if (result == z3::unknown || round == max_rounds) return std::nullopt;
      const std::map<Monomial, std::int64_t> values = model();
      const std::size_t before = labels.size();
      for (std::size_t i = 0; i < lemmas.size() && labels.size() < before + max_lemmas_per_round; ++i) {
        const auto& [a, b] = lemmas[i];
        if (added[i] || value(a, values) < 0 || value(b, values) < 0 || value(a * b, values) >= 0) continue;
        added[i] = true;
        labels.push_back(context.bool_const(("label" + std::to_string(i)).c_str()));
        place[Z3_get_ast_id(context, labels.back())] = i;
        solver.add(z3::implies(labels.back(), z3::implies(linear(a) >= 0 && linear(b) >= 0, linear(a * b) >= 0)));
      }
      if (labels.size() == before) {
        for (const auto& [monomial, number] : values) {
          if (monomial.size() == 1) counterexample[monomial[0]] = number;
        }
        return std::nullopt;
      }
    }
    const z3::expr_vector used = solver.unsat_core();
    std::vector<std::size_t> positions;
    for (unsigned i = 0; i < used.size(); ++i) positions.push_back(place.at(Z3_get_ast_id(context, used[i])));
    std::ranges::sort(positions);
    return positions;
  }

  /// Returns the values of all monomials in the solver's model; those beyond 64 bits, or free, are 0.
  std::map<Monomial, std::int64_t> model() {
    const z3::model model = solver.get_model();
    std::map<unsigned, std::int64_t> numbers;
    for (unsigned i = 0; i < model.num_consts(); ++i) {
      const z3::func_decl constant = model.get_const_decl(i);
      std::int64_t number = 0;
      if (constant.range().is_int() && model.get_const_interp(constant).is_numeral_i64(number))
        numbers[Z3_get_ast_id(context, constant())] = number;
    }
    std::map<Monomial, std::int64_t> values;
    for (const auto& [monomial, variable] : variables) {
      const auto found = numbers.find(Z3_get_ast_id(context, variable));
      if (found != numbers.end()) values[monomial] = found->second;
    }
    return values;
  }

  static double value(const Poly& poly, const std::map<Monomial, std::int64_t>& values) {
    double sum = 0;
    for (const Poly::Term& term : poly.terms()) {
      const auto found = values.find(term.monomial);
      const double factor = term.monomial.empty() ? 1 : found == values.end() ? 0 : static_cast<double>(found->second);
      sum += static_cast<double>(term.coefficient) * factor;
    }
    return sum;
  }

  static constexpr std::size_t max_lemmas_per_round = 6;
  static constexpr int max_rounds = 12;
};

Oracle::Oracle(Atoms& atoms, std::vector<Models::Values> samples, bool quick, bool assume_obligations)
    : atoms_(atoms),
      samples_(std::move(samples)),
      models_(atoms),
      quick_(quick),
      assume_obligations_(assume_obligations),
      keys_(atoms),
      slicer_(atoms) {}
Oracle::~Oracle() = default;

std::optional<std::vector<ProductLemma>> Oracle::find_lemmas(const Obligation& obligation, bool uses_z3) {
  if (check::is_trivial(obligation, atoms_) || (assume_obligations_ && (obligation.goal || !considered_.empty())))
    return std::vector<ProductLemma>{};
  for (const Obligation& part : slicer_.parts(obligation)) {
    RenamedKeys::Key key = keys_.key(part);
    const auto known = plain_answers_.find(key);
    if (known != plain_answers_.end() && known->second) return std::vector<ProductLemma>{};
    if (known != plain_answers_.end()) continue;
    auto lemmas = find_lemmas_by_name(part, uses_z3);
    if (lemmas ? lemmas->empty() : uses_z3) plain_answers_.emplace(std::move(key), lemmas.has_value());
    if (lemmas) return lemmas;
  }
  return std::nullopt;
}

/// Lemmas name the indices of one obligation, and those of a renamed one may be others.
std::optional<std::vector<ProductLemma>> Oracle::find_lemmas_by_name(const Obligation& obligation, bool uses_z3) {
  std::vector<check::Guard> key = obligation.given;
  std::ranges::sort(key);
  key.push_back(obligation.goal.value_or(check::Guard{true, Poly(1)}));
  const auto found = lemmas_.find(key);
  if (found != lemmas_.end()) return found->second;
  auto lemmas = solve(obligation, uses_z3);
  if (lemmas && !lemmas->empty()) lemmas_.emplace(std::move(key), *lemmas);
  return lemmas;
}

/// True if values are found that violate the obligation. Most obligations that cannot be shown end here.
bool Oracle::has_counterexample(const Obligation& obligation) {
  const auto broken = [&](Guards asserted) {
    asserted.insert(asserted.end(), obligation.given.begin(), obligation.given.end());
    return has_model({std::move(asserted), {}});
  };
  if (!obligation.goal) return broken({});
  const Poly& goal = obligation.goal->poly;
  return broken({{false, -goal - 1}}) || (obligation.goal->equality && broken({{false, goal - 1}}));
}

bool Oracle::has_model(const Query& query) { return prove::has_model(models_, query, samples_, atoms_); }

std::optional<std::vector<ProductLemma>> Oracle::solve(const Obligation& obligation, bool uses_z3) {
  runtime::throw_if_interrupted("prove");
  if (++queries_ > max_queries) throw LimitReached{"more than " + std::to_string(max_queries) + " questions"};
  if (has_counterexample(obligation)) return std::nullopt;
  if (considered_.empty()) return solve_about({}, obligation, uses_z3);
  if (auto lemmas = solve_about({}, obligation, false)) return lemmas;
  return solve_about(considered_, obligation, uses_z3);
}

std::optional<std::vector<ProductLemma>> Oracle::solve_about(const check::Guards& considered,
                                                             const Obligation& obligation, bool uses_z3) {
  LemmaContext context(atoms_);
  for (const check::Guard& guard : obligation.given) context.add_guard(guard);
  if (obligation.goal) context.add_guard(*obligation.goal);
  for (const check::Guard& guard : considered) context.add_guard(guard);
  const std::vector<Lemma> lemmas = context.definitions();
  // First, without lemmas on products and without Z3.
  std::vector<Query> queries = {{obligation.given, lemmas}};
  if (obligation.goal) {
    queries[0].asserted.push_back({false, -obligation.goal->poly - 1});
    if (obligation.goal->equality) {
      queries.push_back(queries[0]);
      queries[1].asserted.back().poly = obligation.goal->poly - 1;
    }
  }
  const auto linear = [&](LiteralLemmas* products) {
    return std::ranges::all_of(queries, [&](const Query& query) { return is_linearly_infeasible(query, products); });
  };
  if (linear(nullptr)) return std::vector<ProductLemma>{};
  const std::vector<ProductLemma> candidates =
      context.has_products() ? context.candidates() : std::vector<ProductLemma>{};
  std::vector<ProductLemma> used;
  LiteralLemmas literal = to_lemmas(candidates, atoms_);
  literal.quick = quick_;
  if (linear(&literal)) {
    for (const std::size_t i : literal.used) used.push_back(candidates[i]);
    return used;
  }
  if (!uses_z3) return std::nullopt;
  try {
    if (!z3_) z3_ = std::make_unique<Z3>();
    z3_->solver.push();
    z3_->counterexample.clear();
    z3_->add(obligation);
    for (const Lemma& lemma : lemmas) z3_->add(lemma);
    for (const Poly& product : context.products_of_sizes(candidates)) z3_->add({{}, {false, product - 1}});
    const auto core = z3_->core(candidates);
    z3_->solver.pop();
    if (!core) {
      for (const Query& query : queries) models_.add(z3_->counterexample, query);
      return std::nullopt;
    }
    for (const std::size_t i : *core) used.push_back(candidates[i]);
    return used;
  } catch (const z3::exception& error) {
    throw runtime::Error("z3", error.msg());
  }
}

std::optional<std::int64_t> Oracle::unique_value(const check::Guards& guards, const Poly& poly) {
  const check::Guards given = slicer_.around(guards, poly);
  const auto [found, is_new] = values_.try_emplace(keys_.key(given, poly));
  if (!is_new) return found->second;
  const bool is_possible = has_model({given, {}});
  const std::optional<std::int64_t> value = is_possible ? models_.value(poly) : 0;
  const auto is_equal = [&] {
    return find_lemmas({"value", given, check::Guard{true, poly - *value}, {}}, is_possible || !quick_).has_value();
  };
  if (value && is_equal()) found->second = value;
  return found->second;
}

}  // namespace rulemill::prove
