#include "check/kernel/obligation.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "algebra/sizes/checked.h"

namespace rulemill::check {

using algebra::checked_multiply;

namespace {

/// True if one of the given guards alone implies the goal.
bool follows(const Guard& goal, const Guards& given) {
  return always_holds(goal) || std::ranges::any_of(given, [&](const Guard& guard) {
           const bool is_usable = guard.equality || !goal.equality;
           return is_usable && (always_holds({goal.equality, goal.poly - guard.poly}) ||
                                (guard.equality && always_holds({goal.equality, goal.poly + guard.poly})));
         });
}

bool is_contradictory(const Guards& given) {
  return std::ranges::any_of(given, [&](const Guard& guard) {
    return std::ranges::any_of(complement(guard), [&](const Guard& region) { return follows(region, given); });
  });
}

}  // namespace

bool is_trivial(const Obligation& obligation) {
  if (!obligation.script.empty() || !obligation.indicators.empty()) return false;
  return obligation.goal ? follows(*obligation.goal, obligation.given) : is_contradictory(obligation.given);
}

namespace {

/// Adds up terms with equal guards, and those with a guard and with each region outside of it, until none are left.
std::map<Guards, Rational> collect(const IndicatorSum& indicators) {
  std::map<Guards, Rational> terms;
  const auto add = [&](Guards guards, Rational coefficient) {
    std::ranges::sort(guards);
    guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
    const auto [term, is_new] = terms.try_emplace(std::move(guards), coefficient);
    if (!is_new) term->second = term->second + coefficient;
    if (term->second.num == 0) terms.erase(term);
  };
  for (const auto& [coefficient, guards] : indicators) add(guards, coefficient);
  const auto merge_regions = [&] {
    for (const auto& [guards, factor] : terms) {
      const Rational coefficient = factor;
      for (std::size_t g = 0; g < guards.size(); ++g) {
        std::vector<Guards> regions = {guards};
        for (const Guard& outside : complement(guards[g])) {
          regions.push_back(guards);
          regions.back()[g] = outside;
          std::ranges::sort(regions.back());
        }
        const auto is_there = [&](const Guards& region) {
          const auto found = terms.find(region);
          return found != terms.end() && found->second == coefficient;
        };
        if (!std::ranges::all_of(regions, is_there)) continue;
        Guards rest = guards;
        erase_at(rest, g);
        for (const Guards& region : regions) terms.erase(region);
        add(std::move(rest), coefficient);
        return true;
      }
    }
    return false;
  };
  while (merge_regions()) {
  }
  return terms;
}

}  // namespace

std::vector<Obligation> to_obligations(const std::string& what, Guards given, IndicatorSum indicators,
                                       const std::vector<ProductLemma>& lemmas) {
  const std::map<Guards, Rational> terms = collect(indicators);
  if (terms.empty()) return {};
  Guards common = terms.begin()->first;
  std::erase_if(common, [&](const Guard& guard) {
    return std::ranges::any_of(terms, [&](const auto& term) { return std::ranges::count(term.first, guard) == 0; });
  });
  indicators.clear();
  for (const auto& [guards, coefficient] : terms) {
    indicators.emplace_back(coefficient, guards);
    std::erase_if(indicators.back().second, [&](const Guard& guard) { return std::ranges::count(common, guard) > 0; });
  }
  std::ranges::sort(indicators, {}, &std::pair<Rational, Guards>::second);
  Obligation all{what, conjunction(std::move(given), common), {}, std::move(indicators), lemmas};
  const IndicatorSum& left = all.indicators;
  if (left.size() > 2 || !left[0].second.empty() ||
      (left.size() == 2 && left[0].first + left[1].first != Rational{0, 1}))
    return {all};
  const Guards goals = left.size() == 2 ? left[1].second : Guards{};
  all.indicators.clear();
  if (goals.empty()) return {all};
  std::vector<Obligation> result;
  for (const Guard& goal : goals) {
    result.push_back(all);
    result.back().goal = goal;
  }
  return result;
}

namespace {

std::string integer(std::int64_t value) {
  const std::string digits = std::to_string(value);
  return value < 0 ? "(- " + digits.substr(1) + ")" : digits;
}

class Script {
 public:
  explicit Script(const Atoms& atoms) : atoms_(atoms) {}

  std::string script(const Obligation& obligation) {
    std::string body;
    const auto add = [&](const std::string& formula) { body += "(assert " + formula + ")\n"; };
    add(text(obligation.given));
    if (obligation.goal) add("(not " + text(*obligation.goal) + ")");
    if (!obligation.indicators.empty()) add("(not (= 0 " + indicators(obligation) + "))");
    for (const auto& [a, b] : obligation.lemmas)
      add("(=> (and " + nonnegative(a) + " " + nonnegative(b) + ") " + nonnegative(a * b) + ")");
    for (const std::string& formula : definitions()) add(formula);
    std::string head = "; " + obligation.what + "\n(set-logic QF_LIA)\n";
    for (std::size_t i = 0; i < monomials_.size(); ++i) {
      head += "(declare-const v" + std::to_string(i) + " Int) ; " +
              atoms_.text(Poly::from_terms({{monomials_[i], 1}})) + "\n";
    }
    return head + body + "(check-sat)\n";
  }

 private:
  std::string name(const Monomial& monomial) {
    if (monomial.empty()) return "1";
    const auto [found, is_new] = names_.try_emplace(monomial, monomials_.size());
    if (is_new) monomials_.push_back(monomial);
    return "v" + std::to_string(found->second);
  }

  std::string text(const Poly& poly) {
    std::string sum = "(+ 0 0";
    for (const Poly::Term& term : poly.terms())
      sum += " (* " + integer(term.coefficient) + " " + name(term.monomial) + ")";
    return sum + ")";
  }
  std::string text(const Guard& guard) { return (guard.equality ? "(= " : "(>= ") + text(guard.poly) + " 0)"; }
  std::string text(const Guards& guards) {
    std::string all = "(and true true";
    for (const Guard& guard : guards) all += " " + text(guard);
    return all + ")";
  }
  std::string nonnegative(const Poly& poly) { return text(Guard{false, poly}); }

  /// The sum times the common denominator of its coefficients.
  std::string indicators(const Obligation& obligation) {
    std::int64_t denominator = 1;
    for (const auto& [coefficient, guards] : obligation.indicators)
      denominator = checked_multiply(denominator, coefficient.den / std::gcd(denominator, coefficient.den));
    std::string sum = "(+ 0 0";
    for (const auto& [coefficient, guards] : obligation.indicators) {
      const Rational scaled = coefficient * Rational{denominator, 1};
      sum += " (ite " + text(guards) + " " + integer(scaled.num) + " 0)";
    }
    return sum + ")";
  }

  /// The facts about the products and compound atoms that occur, including those that the facts introduce.
  std::vector<std::string> definitions() {
    std::vector<std::string> formulas;
    std::set<Atom> defined;
    for (std::size_t i = 0; i < monomials_.size(); ++i) {
      const Monomial monomial = monomials_[i];
      const auto is_size = [&](Atom atom) { return atoms_.kind(atom) == Atoms::Kind::Size; };
      if (std::ranges::all_of(monomial, is_size))
        formulas.push_back(nonnegative(Poly::from_terms({{monomial, 1}}) - 1));
      for (const Atom atom : monomial) {
        if (is_size(atom)) name(Monomial{atom});
        if (atoms_.is_compound(atom) && defined.insert(atom).second) formulas.push_back(definition(atom));
      }
    }
    return formulas;
  }

  std::string definition(Atom atom) {
    const Poly value(atom);
    const Poly &l = atoms_.left(atom), &r = atoms_.right(atom);
    if (atoms_.kind(atom) == Atoms::Kind::Quotient)
      return "(=> " + nonnegative(r - 1) + " " + text({{false, l - r * value}, {false, r * value + r - 1 - l}}) + ")";
    const bool is_minimum = atoms_.kind(atom) == Atoms::Kind::Min;
    return "(= " + text(value) + " (ite " + nonnegative(is_minimum ? r - l : l - r) + " " + text(l) + " " + text(r) +
           "))";
  }

  const Atoms& atoms_;
  std::map<Monomial, std::size_t> names_;
  std::vector<Monomial> monomials_;  // by number of the name
};

}  // namespace

std::string smtlib(const Obligation& obligation, const Atoms& atoms) {
  return obligation.script.empty() ? Script(atoms).script(obligation) : obligation.script;
}

}  // namespace rulemill::check
