#include "algebra/sizes/unify.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_steps = 20000;

/// A size that an equation can be solved for. Solutions of lower rank read better.
struct Solution {
  Atom size{};
  Poly value;
  std::size_t negative_terms = 0;
  auto rank() const { return std::tuple(negative_terms, value.terms().size(), ~static_cast<std::uint32_t>(size)); }
};

/// Solves equation = 0 for a size that occurs only once, linearly and alone in its term.
std::optional<Solution> solve(const Poly& equation, const Symbols& symbols) {
  std::optional<Solution> best;
  for (const Poly::Term& term : equation.terms()) {
    if (term.monomial.size() != 1 || (term.coefficient != 1 && term.coefficient != -1)) continue;
    const Atom size = term.monomial[0];
    if (symbols.kind(size) != Symbols::Kind::Size) continue;
    const Poly rest = equation - Poly::from_terms({term});
    if (symbols.contains(rest, size)) continue;
    Solution solution{size, term.coefficient == 1 ? -rest : rest, 0};
    for (const Poly::Term& t : solution.value.terms()) solution.negative_terms += t.coefficient < 0 ? 1 : 0;
    if (!best || solution.rank() < best->rank()) best = std::move(solution);
  }
  return best;
}

/// Solves A·size + B = 0 where A is positive and divides B: (g + h)·q = k·(g + h) gives q = k.
std::optional<Solution> solve_with_cofactor(const Poly& equation, Symbols& symbols) {
  for (const Atom size : symbols.atoms(equation)) {
    if (symbols.kind(size) != Symbols::Kind::Size) continue;
    const std::vector<Poly> powers = equation.coefficients_in(size);
    if (powers.size() != 2 || powers[0].is_zero()) continue;
    if (symbols.contains(powers[0], size) || symbols.contains(powers[1], size)) continue;
    const bool negative = symbols.is_positive(-powers[1]);
    if (!negative && !symbols.is_positive(powers[1])) continue;
    const Poly cofactor = negative ? -powers[1] : powers[1];
    const Poly rest = negative ? powers[0] : -powers[0];
    const Poly value = symbols.floor_div(rest, cofactor);
    if (value * cofactor == rest) return Solution{size, value, 0};
  }
  return std::nullopt;
}

/// Combines the two equations so that a common monomial cancels, for each common monomial.
std::vector<Poly> eliminations(const Poly& a, const Poly& b) {
  std::vector<Poly> result;
  for (const Poly::Term& of_a : a.terms()) {
    for (const Poly::Term& of_b : b.terms()) {
      if (of_a.monomial != of_b.monomial) continue;
      const std::int64_t common = std::gcd(of_a.coefficient, of_b.coefficient);
      Poly left = a * Poly(of_b.coefficient / common) - b * Poly(of_a.coefficient / common);
      if (!left.is_zero() && std::ranges::find(result, left) == result.end()) result.push_back(std::move(left));
    }
  }
  return result;
}

}  // namespace

Poly Unifier::resolve(const Poly& poly) const {
  return with_quotients(solution_.empty() ? poly : symbols_->substitute(poly, solution_));
}

/// Replaces a / b by q for every known quotient a = q·b.
Poly Unifier::with_quotients(Poly poly) const {
  if (quotients_.empty() || symbols_->atoms(poly, true) == symbols_->atoms(poly)) return poly;
  for (const Quotient& known : quotients_) {
    const Poly a = symbols_->substitute(known.a, solution_);
    const Poly b = symbols_->substitute(known.b, solution_);
    const Poly division = symbols_->floor_div(a, b);
    for (const Poly::Term& term : division.terms()) {
      if (term.coefficient != 1 || term.monomial.size() != 1) continue;
      const Atom atom = term.monomial[0];
      if (symbols_->kind(atom) != Symbols::Kind::FloorDiv) continue;
      // division = atom + rest = q
      const Poly value = symbols_->substitute(known.q, solution_) - (division - Poly(atom));
      const std::vector<Poly> powers = poly.coefficients_in(atom);
      Poly replaced;
      for (std::size_t i = powers.size(); i-- > 0;) replaced = replaced * value + powers[i];
      poly = std::move(replaced);
    }
  }
  return poly;
}

Shape Unifier::resolve(const Shape& shape) const {
  Shape resolved;
  resolved.reserve(shape.size());
  for (const Poly& dim : shape) resolved.push_back(resolve(dim));
  return resolved;
}

Poly Unifier::without_common_factors(const Poly& poly) const {
  if (poly.is_zero()) return poly;
  Poly::Term content = poly.content();
  Monomial positive;
  for (const Atom atom : content.monomial) {
    if (symbols_->is_positive(Poly(atom))) positive.push_back(atom);
  }
  content.monomial = positive;
  if (poly.terms().back().coefficient < 0) content.coefficient = -content.coefficient;
  return *poly.divided_by(content);
}

bool Unifier::unify(const Poly& a, const Poly& b) {
  if (++steps_ > max_steps)
    throw runtime::Error("typing", "takes more than " + std::to_string(max_steps) + " equations between sizes");
  const Poly equation = without_common_factors(resolve(a - b));
  if (equation.is_zero()) return true;
  if (symbols_->is_positive(equation) || symbols_->is_positive(-equation)) return false;
  std::optional<Solution> solution = solve(equation, *symbols_);
  if (!solution) solution = solve_with_cofactor(equation, *symbols_);
  if (!solution) {
    if (std::find(residue_.begin(), residue_.end(), equation) == residue_.end()) residue_.push_back(equation);
    return true;
  }
  const Substitution step{{solution->size, solution->value}};
  for (auto& [size, value] : solution_) value = symbols_->substitute(value, step);
  solution_[solution->size] = solution->value;
  return retry_residue();
}

bool Unifier::retry_residue() {
  std::vector<Poly> pending;
  pending.swap(residue_);
  for (const Poly& equation : pending) {
    if (!unify(equation, 0)) return false;
  }
  return true;
}

bool Unifier::add_divisibility(const Poly& b, const Poly& a, Poly* quotient) {
  const Poly dividend = resolve(a);
  const Poly divisor = resolve(b);
  const Poly exact = symbols_->floor_div(dividend, divisor);
  if (exact * divisor == dividend) {
    if (quotient) *quotient = exact;
    return true;
  }
  if (dividend.constant() && divisor.constant()) return false;
  for (const Quotient& known : quotients_) {
    if (resolve(known.a) != dividend || resolve(known.b) != divisor) continue;
    if (quotient) *quotient = known.q;
    return unify(dividend, known.q * divisor);
  }
  const Poly q(symbols_->fresh_size("q"));
  quotients_.push_back({dividend, divisor, q});
  if (quotient) *quotient = q;
  return unify(dividend, q * divisor);
}

bool Unifier::simplify_residue(std::span<const Poly> positive) {
  while (!residue_.empty()) {
    std::vector<Poly> factors;
    for (const Poly& each : positive) {
      Poly factor = without_common_factors(resolve(each));
      if (factor.terms().size() > 1 && std::ranges::find(factors, factor) == factors.end())
        factors.push_back(std::move(factor));
    }
    const std::optional<Poly> equation = consequence(factors);
    if (!equation) break;
    if (!unify(*equation, 0)) return false;
  }
  return true;
}

std::optional<Poly> Unifier::consequence(const std::vector<Poly>& positive) const {
  const auto without_factors = [&](Poly equation) {
    for (std::size_t i = 0; i < positive.size() && !equation.is_zero();) {
      const Poly rest = symbols_->floor_div(equation, positive[i]);
      if (rest * positive[i] != equation) {
        ++i;
        continue;
      }
      equation = without_common_factors(rest);
      i = 0;
    }
    return equation;
  };
  const auto try_simplify = [&](const Poly& equation) -> std::optional<Poly> {
    const Poly reduced = without_factors(equation);
    const bool contradiction = symbols_->is_positive(reduced) || symbols_->is_positive(-reduced);
    if (contradiction || solve(reduced, *symbols_) || solve_with_cofactor(reduced, *symbols_)) return reduced;
    return std::nullopt;
  };
  for (const Poly& equation : residue_) {
    if (const auto found = try_simplify(equation)) return found;
  }
  for (std::size_t i = 0; i < residue_.size(); ++i) {
    for (std::size_t j = i + 1; j < residue_.size(); ++j) {
      for (const Poly& combined : eliminations(residue_[i], residue_[j])) {
        if (const auto found = try_simplify(without_common_factors(combined))) return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
