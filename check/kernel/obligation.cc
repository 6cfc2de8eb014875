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

void require_zero(const Obligation& region, const IndicatorSum& terms, const Atoms& atoms,
                  const OnObligation& require) {
  const auto open = std::ranges::find_if(terms, [](const auto& term) { return !term.second.empty(); });
  if (open == terms.end()) {
    Rational sum{0, 1};
    for (const auto& [coefficient, guards] : terms) sum = sum + coefficient;
    if (sum.num != 0) require(region);
    return;
  }
  const Guard guard = open->second[0];
  Guards parts = complement(guard);
  parts.push_back(guard);
  for (const Guard& part : parts) {
    if (is_excluded(part, region.given, atoms) || (region.goal && follows(*region.goal, {part}, atoms))) continue;
    IndicatorSum rest;
    for (const auto& [coefficient, guards] : terms) {
      if (part != guard && std::ranges::count(guards, guard) > 0) continue;
      rest.emplace_back(coefficient, guards);
      std::erase(rest.back().second, part);
    }
    Obligation inside = region;
    if (part != guard && !region.goal)
      inside.goal = complement(part)[0];  // that there is no such point
    else
      inside.given.push_back(part);
    require_zero(inside, rest, atoms, require);
  }
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
