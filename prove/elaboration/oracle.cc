#include "prove/elaboration/oracle.h"

#include <z3++.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "algebra/sizes/checked.h"
#include "prove/solver/budget.h"
#include "prove/solver/linear.h"
#include "prove/solver/model_search.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Monomial;
using check::Atoms;
using check::Obligation;
using check::ProductLemma;

namespace {

constexpr std::uint64_t max_queries = 5000;  // of one search

/// True if the polynomial is nonnegative because products of sizes are at least 1, which is all that a script states.
bool is_stated_nonnegative(const Poly& poly, const Atoms& atoms) {
  const auto is_size = [&](Atom atom) { return atoms.kind(atom) == Atoms::Kind::Size; };
  std::int64_t least = 0;
  for (const Poly::Term& term : poly.terms()) {
    if (!term.monomial.empty() && (term.coefficient < 0 || !std::ranges::all_of(term.monomial, is_size))) return false;
    least = algebra::checked_add(least, term.coefficient);
  }
  return least >= 0;
}

/// a ≥ 0 and b ≥ 0 imply a·b ≥ 0.
LiteralLemmas to_lemmas(const std::vector<ProductLemma>& products, const Atoms& atoms) {
  LiteralLemmas result;
  for (const auto& [a, b] : products) {
    result.lemmas.push_back({{}, {false, a * b}});
    for (const Poly& factor : {a, b}) {
      if (!is_stated_nonnegative(factor, atoms)) result.lemmas.back().premises.push_back({false, factor});
    }
  }
  return result;
}

/// The monomials of an obligation, the facts about them, and candidates for lemmas.
class LemmaContext {
 public:
  explicit LemmaContext(Atoms& atoms) : atoms_(atoms) {}

  void add_poly(const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      if (!term.monomial.empty() && monomials_.insert(term.monomial).second) pending_.push_back(term.monomial);
    }
  }
  void add_guard(const check::Guard& guard) {
    add_poly(guard.poly);
    bounds_.push_back(guard.poly);
    if (guard.equality) bounds_.push_back(-guard.poly);
  }

  /// Returns the definitions of compound atoms, and the positivity of products of sizes.
  std::vector<Lemma> definitions() {
    std::vector<Lemma> lemmas;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Monomial monomial = pending_[i];
      if (only_sizes(monomial)) lemmas.push_back({{}, {false, Poly::from_terms({{monomial, 1}}) - 1}});
      if (monomial.size() > 1) has_products_ = true;
      for (const Atom atom : monomial) {
        if (is_size(atom)) add_poly(Poly(atom));
        if (atoms_.is_compound(atom) && compounds_.insert(atom).second) define(atom, lemmas);
      }
    }
    return lemmas;
  }

  bool has_products() const { return has_products_; }

  std::vector<ProductLemma> candidates() {
    bound_quotients();
    split_common_sizes();
    multiply_bounds();
    multiply_size_bounds();
    return std::move(times_);
  }

  /// The sizes and products of sizes in lemmas, which the script of an obligation with these states to be positive.
  std::set<Poly> products_of_sizes(const std::vector<ProductLemma>& lemmas) const {
    std::set<Poly> products;
    const auto collect = [&](const Poly& poly) {
      for (const Poly::Term& term : poly.terms()) {
        if (!term.monomial.empty() && only_sizes(term.monomial))
          products.insert(Poly::from_terms({{term.monomial, 1}}));
      }
    };
    for (const auto& [a, b] : lemmas) collect(a), collect(b);
    return products;
  }

 private:
  static constexpr std::size_t max_lemmas = 400, max_size_bounds = 24;

  bool is_size(Atom atom) const { return atoms_.kind(atom) == Atoms::Kind::Size; }
  bool only_sizes(const Monomial& monomial) const {
    return std::all_of(monomial.begin(), monomial.end(), [&](Atom atom) { return is_size(atom); });
  }

  void define(Atom atom, std::vector<Lemma>& lemmas) {
    const Poly value(atom);
    const Poly &l = atoms_.left(atom), &r = atoms_.right(atom);
    const auto add = [&](Guards premises, const Poly& poly) {
      add_poly(poly);
      lemmas.push_back({std::move(premises), {false, poly}});
    };
    if (atoms_.kind(atom) == Atoms::Kind::Quotient) {
      Guards premises;
      if (!is_stated_nonnegative(r - 1, atoms_)) premises.push_back({false, r - 1});
      add(premises, l - r * value);
      add(premises, r * value + r - 1 - l);
      return;
    }
    const Poly sign(atoms_.kind(atom) == Atoms::Kind::Min ? 1 : -1);
    add({}, (l - value) * sign);
    add({}, (r - value) * sign);
    add({{false, (r - l) * sign}}, (value - l) * sign);
    add({{false, (l - r) * sign}}, (value - r) * sign);
  }

  void propose(const Poly& a, const Poly& b) {
    if (times_.size() < max_lemmas && seen_.insert({a, b}).second) times_.emplace_back(a, b);
  }

  std::optional<Poly> exact_quotient(const Poly& multiple, const Poly& d) {
    if (d.terms().size() == 1) return multiple.divided_by(d.terms()[0]);
    const Poly g = atoms_.quotient(multiple, d);
    return g * d == multiple ? std::optional(g) : std::nullopt;
  }

  /// Proposes (q − g)·d ≥ 0 and (g − 1 − q)·d ≥ 0 for q = floor(n / d) and multiples g·d that n may be compared with.
  /// If d is a number, these are no products; then q − g and g − 1 − q may be factors.
  void bound_quotients() {
    for (const Atom atom : compounds_) {
      if (atoms_.kind(atom) != Atoms::Kind::Quotient) continue;
      const Poly q(atom);
      const Poly &n = atoms_.left(atom), &d = atoms_.right(atom);
      const bool by_number = d.constant().has_value();
      std::set<Poly> against;
      for (const Poly& bound : bounds_) {
        for (const Poly& multiple : {bound + 1 + n, n - bound, bound + n, n - bound - 1}) {
          if (const auto g = exact_quotient(multiple, d)) against.insert(*g);
        }
      }
      if (!by_number) {
        derived_.push_back(n - d * q);
        derived_.push_back(d * q + d - 1 - n);
        against.insert({Poly(0), Poly(1)});
      }
      if (!by_number && d.terms().size() == 1) {
        for (const Monomial& monomial : monomials_) {
          const auto factor = monomial.divided_by(d.terms()[0].monomial);
          if (factor && !factor->empty() && only_sizes(*factor)) against.insert(Poly::from_terms({{*factor, 1}}));
        }
      }
      for (const Poly& g : against) {
        for (const Poly& factor : {q - g, g - 1 - q}) {
          if (!by_number) propose(factor, d);
          derived_.push_back(factor);
        }
      }
      if (by_number) continue;
      // Compares q with another quotient p = floor(m / e), where k·e = d.
      for (const Atom other : compounds_) {
        if (other == atom || atoms_.kind(other) != Atoms::Kind::Quotient) continue;
        const Poly p(other), &m = atoms_.left(other), &e = atoms_.right(other);
        const auto k = exact_quotient(d, e);
        if (!k) continue;
        propose(q - p - 1, d);
        if (*k == Poly(1)) continue;
        propose(p - q - 1, d);
        propose(m - e * p, *k);
        propose(e * p + e - 1 - m, *k);
      }
    }
  }

  /// Proposes lemmas on the sign of r in m·r + c ≥ 0 for a product m of sizes, as in q·n − q·k − 1.
  void split_common_sizes() {
    for (const Poly& bound : bounds_) {
      const Poly rest = bound - bound.constant_term();
      if (rest.terms().size() < 2) continue;
      Monomial common = rest.content().monomial;
      for (const Atom atom : Monomial(common)) {
        if (!is_size(atom)) common.remove(atom);
      }
      if (common.empty()) continue;
      const Poly factor = *rest.divided_by(Poly::Term{common, 1}), sizes = Poly::from_terms({{common, 1}});
      propose(-factor, sizes);
      propose(factor - 1, sizes);
    }
  }

  /// Proposes p ≥ 0 times sizes that are a cofactor of one of its atoms in some monomial.
  void multiply_bounds() {
    std::set<std::pair<Atom, Monomial>> cofactors;
    for (const Monomial& monomial : monomials_) {
      if (monomial.size() < 2) continue;
      for (const Atom atom : monomial) {
        const Monomial rest = *monomial.divided_by(Monomial{atom});
        if (only_sizes(rest)) cofactors.emplace(atom, rest);
      }
    }
    for (const std::vector<Poly>* list : {&bounds_, &derived_}) {
      for (const Poly& bound : *list) {
        for (const auto& [atom, sizes] : cofactors) {
          if (bound.coefficient(atom) == 0) continue;
          propose(bound, Poly::from_terms({{sizes, 1}}));
          propose(-bound - 1, Poly::from_terms({{sizes, 1}}));
        }
      }
    }
  }

  /// Proposes p·q ≥ 0 for bounds q ≥ 0 on sizes, as of h − 3 and w − 3, or of v and w − 3 for an index v, whose
  /// products divide products that occur. Of bounds that differ by a number, the strongest counts.
  void multiply_size_bounds() {
    const auto divides = [&](const Poly::Term& term) {
      return term.monomial.empty() || std::ranges::any_of(monomials_, [&](const Monomial& product) {
               return product.size() > 1 && product.divided_by(term.monomial);
             });
    };
    std::vector<Poly> bounds;
    const auto add = [&](const Poly& bound) {
      const auto is_used = [&](const Poly::Term& term) { return only_sizes(term.monomial) && divides(term); };
      if (!std::ranges::all_of(bound.terms(), is_used)) return;
      for (Poly& other : bounds) {
        const auto difference = (bound - other).constant();
        if (difference && *difference < 0) other = bound;
        if (difference) return;
      }
      bounds.push_back(bound);
    };
    for (const Poly& bound : bounds_) add(bound);
    const std::size_t given = bounds.size();
    for (const Monomial& monomial : monomials_) {
      if (monomial.size() == 1) add(Poly(monomial[0]) - 1);
    }
    const auto multiply = [&](const Poly& p, const Poly& q) {
      const Poly product = p * q;
      if (!std::ranges::all_of(product.terms(), divides)) return;
      propose(p, q);
      add(product + p + q);  // (p + 1)·(q + 1) ≥ 1
    };
    for (std::size_t i = 1; i < bounds.size() && bounds.size() < max_size_bounds; ++i) {
      for (std::size_t j = 0; j < std::min(i, given); ++j) multiply(bounds[i], bounds[j]);
    }
    for (const Poly& bound : bounds_) {
      for (std::size_t j = 0; j < given; ++j) {
        multiply(bound, bounds[j]);
        multiply(-bound - 1, bounds[j]);
      }
    }
  }

  Atoms& atoms_;
  std::set<Monomial> monomials_;
  std::vector<Monomial> pending_;
  std::set<Atom> compounds_;
  std::vector<Poly> bounds_, derived_;
  std::vector<ProductLemma> times_;
  std::set<ProductLemma> seen_;
  bool has_products_ = false;
};

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
  z3::expr all(const check::Guards& guards) {
    z3::expr_vector parts(context);
    for (const check::Guard& guard : guards) parts.push_back(formula(guard.equality, guard.poly));
    return z3::mk_and(parts);
  }

  void add(const Lemma& lemma) {
    z3::expr_vector premises(context);
    for (const Guard& premise : lemma.premises) premises.push_back(formula(premise.equality, premise.poly));
    const z3::expr conclusion = formula(lemma.conclusion.equality, lemma.conclusion.poly);
    solver.add(premises.empty() ? conclusion : z3::implies(z3::mk_and(premises), conclusion));
  }

  void add(const Obligation& obligation) {
    for (const check::Guard& guard : obligation.given) solver.add(formula(guard.equality, guard.poly));
    if (obligation.goal) solver.add(!formula(obligation.goal->equality, obligation.goal->poly));
    if (obligation.indicators.empty()) return;
    std::int64_t denominator = 1;
    for (const auto& [coefficient, guards] : obligation.indicators)
      denominator = std::lcm(denominator, coefficient.den);
    z3::expr sum = context.int_val(0);
    for (const auto& [coefficient, guards] : obligation.indicators) {
      sum = sum + z3::ite(all(guards), context.int_val(coefficient.num * (denominator / coefficient.den)),
                          context.int_val(0));
    }
    solver.add(sum != 0);
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
      if (constant.range().is_int() && model.get_const_interp(constant).is_numeral_i64(number)) {
        numbers[Z3_get_ast_id(context, constant())] = number;
      }
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
  if (assume_obligations_ && (obligation.goal || !obligation.indicators.empty())) return std::vector<ProductLemma>{};
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
  if (!obligation.indicators.empty()) return solve(obligation, uses_z3);
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
    return has_model({std::move(asserted), obligation.indicators, {}});
  };
  if (!obligation.goal) return broken({});
  const Poly& goal = obligation.goal->poly;
  return broken({{false, -goal - 1}}) || (obligation.goal->equality && broken({{false, goal - 1}}));
}

bool Oracle::has_model(const Query& query) { return prove::has_model(models_, query, samples_, atoms_); }

std::optional<std::vector<ProductLemma>> Oracle::solve(const Obligation& obligation, bool uses_z3) {
  if (++queries_ > max_queries) throw LimitReached{"more than " + std::to_string(max_queries) + " questions"};
  if (has_counterexample(obligation)) return std::nullopt;
  LemmaContext context(atoms_);
  for (const check::Guard& guard : obligation.given) context.add_guard(guard);
  if (obligation.goal) context.add_guard(*obligation.goal);
  for (const auto& [coefficient, guards] : obligation.indicators) {
    for (const check::Guard& guard : guards) context.add_guard(guard);
  }
  const std::vector<Lemma> lemmas = context.definitions();
  // First, without lemmas on products and without Z3.
  std::vector<Query> queries = {{obligation.given, obligation.indicators, lemmas}};
  if (obligation.goal) {
    queries[0].asserted.push_back({false, -obligation.goal->poly - 1});
    if (obligation.goal->equality) {
      queries.push_back(queries[0]);
      queries[1].asserted.back().poly = obligation.goal->poly - 1;
    }
  }
  const auto linear = [&](LiteralLemmas* products) {
    return std::ranges::all_of(queries, [&](const Query& query) {
      return query.indicators.empty() ? is_linearly_infeasible(query, products) : indicators_vanish(query, products);
    });
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
  const bool is_possible = has_model({given, {}, {}});
  const std::optional<std::int64_t> value = is_possible ? models_.value(poly) : 0;
  const auto is_equal = [&] {
    return find_lemmas({"value", given, check::Guard{true, poly - *value}, {}, {}}, is_possible || !quick_).has_value();
  };
  if (value && is_equal()) found->second = value;
  return found->second;
}

}  // namespace rulemill::prove
