#include "check/kernel/obligation.h"

#include <algorithm>
#include <map>

namespace rulemill::check {
namespace {

bool holds(const Guard& guard, const Atoms& atoms) {
  return guard.equality ? always_holds(guard) : atoms.is_nonnegative(guard.poly);
}

/// True if the goal holds for all sizes, or one of the given guards alone implies it.
bool follows(const Guard& goal, const Guards& given, const Atoms& atoms) {
  return holds(goal, atoms) || std::ranges::any_of(given, [&](const Guard& guard) {
           const bool is_usable = guard.equality || !goal.equality;
           return is_usable && (holds({goal.equality, goal.poly - guard.poly}, atoms) ||
                                (guard.equality && holds({goal.equality, goal.poly + guard.poly}, atoms)));
         });
}

/// True if one of the given guards excludes the guard.
bool is_excluded(const Guard& guard, const Guards& given, const Atoms& atoms) {
  return std::ranges::any_of(complement(guard), [&](const Guard& region) { return follows(region, given, atoms); });
}

}  // namespace

bool is_trivial(const Obligation& obligation, const Atoms& atoms) {
  if (!obligation.script.empty()) return false;
  if (obligation.goal) return follows(*obligation.goal, obligation.given, atoms);
  return std::ranges::any_of(obligation.given,
                             [&](const Guard& guard) { return is_excluded(guard, obligation.given, atoms); });
}

void require_zero(const Obligation& region, const IndicatorSum& sum, const Atoms& atoms, const OnObligation& require) {
  using Terms = std::map<std::set<Guard>, Rational>;  // no coefficient is 0
  const auto add = [](Terms& terms, Terms::key_type guards, Rational coefficient) {
    const auto term = terms.try_emplace(std::move(guards), Rational{0, 1}).first;
    term->second = term->second + coefficient;
    if (term->second.num == 0) terms.erase(term);
  };
  Guards order;
  std::size_t cases = 0;
  using Decide = std::function<void(const Obligation&, const Terms&, Guards::iterator from)>;
  const Decide decide = [&](const Obligation& part, const Terms& terms, Guards::iterator from) {
    const auto open = std::find_if(from, order.end(), [&](const Guard& guard) {
      return std::ranges::any_of(terms, [&](const auto& term) { return term.first.contains(guard); });
    });
    if (open == order.end()) return terms.empty() ? void() : require(part);
    const Guards regions = conjunction({*open}, complement(*open));
    std::vector<Terms> rests;
    for (const Guard& here : regions) {
      rests.emplace_back();
      for (const auto& [guards, coefficient] : terms) {
        Terms::key_type left = guards;
        left.erase(here);
        if (std::ranges::none_of(regions, [&](const Guard& other) { return left.contains(other); }))
          add(rests.back(), std::move(left), coefficient);
      }
    }
    if (std::ranges::count(rests, rests[0]) == std::ssize(rests)) return decide(part, rests[0], open);
    check_size(cases += terms.size());
    for (std::size_t r = 0; r < rests.size(); ++r) {
      const Guard& here = regions[r];
      if (rests[r].empty() || is_excluded(here, part.given, atoms) || (part.goal && follows(*part.goal, {here}, atoms)))
        continue;
      const bool has_none = r > 0 && !part.goal;  // there must be no point, as it is outside of the guard
      const Guards given = has_none ? part.given : conjunction(part.given, {here});
      decide({part.what, given, has_none ? complement(here)[0] : part.goal, part.lemmas}, rests[r], open);
    }
  };
  Terms terms;
  for (const auto& term : sum) order = conjunction(std::move(order), term.second);
  for (const auto& [coefficient, guards] : sum) add(terms, {guards.begin(), guards.end()}, coefficient);
  decide(region, terms, order.begin());
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
    for (const auto& [a, b] : obligation.lemmas)
      add("(=> (and " + nonnegative(a) + " " + nonnegative(b) + ") " + nonnegative(a * b) + ")");
    std::set<Atom> defined;
    for (std::size_t i = 0; i < monomials_.size(); ++i) {  // also what these facts introduce
      const Monomial monomial = monomials_[i];
      const auto is_size = [&](Atom atom) { return atoms_.kind(atom) == Atoms::Kind::Size; };
      if (std::ranges::all_of(monomial, is_size)) add(nonnegative(Poly::from_terms({{monomial, 1}}) - 1));
      for (const Atom atom : monomial) {
        if (is_size(atom)) name(Monomial{atom});
        if (atoms_.is_compound(atom) && defined.insert(atom).second) add(definition(atom));
      }
    }
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
