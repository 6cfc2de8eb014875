// Sums over an index that occurs in floor quotients, as strided and merged ranges do, become sums over the quotients.
#include <algorithm>

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

namespace {

/// The value c·(c·atom − p) of the atom where p = 0, for its coefficient c = ±1 in p; nothing for others.
std::optional<Poly> solution(const Poly& p, Atom atom, const check::Atoms& atoms) {
  const std::int64_t c = p.coefficient(atom);
  const Poly rest = p - Poly(atom) * Poly(c);
  if ((c != 1 && c != -1) || atoms.occurs(rest, atom)) return std::nullopt;
  return c == 1 ? -rest : rest;
}

}  // namespace

/// Rewrites Σ_u [G] t(u, floor(n / d)) to a sum over v = floor(n / d), and, unless G determines u by v, over the
/// remainder n − d·v, where n contains u once. This is kept if the product then cancels.
bool Elaborator::name_quotients(check::Sum& sum, const Context& context, Steps& steps) {
  for (std::size_t p = 0; p < sum.size(); ++p) {
    if (name_quotients({sum, {}}, p, max_named_quotients, context, sum, steps)) return true;
  }
  return false;
}

bool Elaborator::name_quotients(const Attempt& before, std::size_t p, int left, const Context& context, check::Sum& sum,
                                Steps& steps) {
  std::set<Atom> all;
  check::Product product = before.sum[p];
  check::for_each_poly(product, [&](Poly& poly) { atoms_.collect(poly, all); });
  for (const Atom quotient : all) {
    for (const Atom index : product.bound) {
      if (!determines(quotient, index)) continue;
      Attempt attempt = before;
      if (!name_quotient(attempt, p, quotient, index, context)) continue;
      if (!simplify_product(attempt.sum, p, context, attempt.steps)) continue;
      Attempt named = attempt;
      if (cancel(attempt.sum, context, attempt.steps)) {
        commit(std::move(attempt), sum, steps);
        return true;
      }
      if (left > 1 && name_quotients(named, p, left - 1, context, sum, steps)) return true;
    }
  }
  return false;
}

bool Elaborator::determines(Atom quotient, Atom index) const {
  return atoms_.kind(quotient) == check::Atoms::Kind::Quotient && solution(atoms_.left(quotient), index, atoms_) &&
         !atoms_.occurs(atoms_.right(quotient), index);
}

bool Elaborator::name_quotient(Attempt& attempt, std::size_t p, Atom quotient, Atom index, const Context& context) {
  const Poly above = atoms_.left(quotient), divisor = atoms_.right(quotient);
  const auto named = [&](const Poly& value) {
    const Atom fresh = atoms_.fresh_bound();
    Step step = this->step(Op::NewIndex, {p});
    step.atom = fresh;
    step.polys.push_back(value);
    return try_step(attempt.sum, context, std::move(step), attempt.steps) ? std::optional(fresh) : std::nullopt;
  };
  const auto set = [&](Atom atom, const Poly& value) {
    Step step = this->step(Op::Set, {p});
    step.atom = atom;
    step.polys.push_back(value);
    return try_step(attempt.sum, context, std::move(step), attempt.steps);
  };
  const auto v = named(Poly(quotient));
  if (!v || !set(quotient, Poly(*v))) return false;
  for (const check::Guard& guard : check::Guards(attempt.sum[p].guards)) {
    const auto value = guard.equality ? solution(guard.poly, index, atoms_) : std::nullopt;
    if (value && set(index, *value)) return true;
  }
  const auto remainder = named(above - divisor * Poly(*v));
  return remainder && set(index, *solution(above - divisor * Poly(*v) - Poly(*remainder), index, atoms_));
}

}  // namespace rulemill::prove
