#include "optimize/gpu/lowering/index_range.h"

#include <algorithm>
#include <set>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using algebra::Symbols;

namespace {

Range product(Range a, Range b) {
  const auto [low, high] =
      std::minmax({algebra::checked_multiply(a.low, b.low), algebra::checked_multiply(a.low, b.high),
                   algebra::checked_multiply(a.high, b.low), algebra::checked_multiply(a.high, b.high)});
  return {low, high};
}

/// The range of a floor division by a positive divisor.
Range quotient(Range a, Range b) {
  if (b.low < 1) throw algebra::Overflow("a divisor may be zero or negative");
  const auto [low, high] =
      std::minmax({algebra::floor_quotient(a.low, b.low), algebra::floor_quotient(a.low, b.high),
                   algebra::floor_quotient(a.high, b.low), algebra::floor_quotient(a.high, b.high)});
  return {low, high};
}

Range range_of_atom(Atom atom, const Extents& extents, const Symbols& symbols) {
  const auto extent = extents.find(atom);
  if (extent != extents.end()) return {0, extent->second - 1};
  const Symbols::Kind kind = symbols.kind(atom);
  if (kind == Symbols::Kind::Size || kind == Symbols::Kind::Index)
    throw runtime::Error("kernel", "index without an extent: " + symbols.name(atom));
  const Range a = range_of(symbols.left(atom), extents, symbols), b = range_of(symbols.right(atom), extents, symbols);
  if (kind == Symbols::Kind::FloorDiv) return quotient(a, b);
  if (kind == Symbols::Kind::Min) return {std::min(a.low, b.low), std::min(a.high, b.high)};
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

/// floor((c·a + b) / (c·m)) = floor(a / m) where 0 ≤ b < c.
Poly with_smaller_divisor(const Poly& dividend, std::int64_t divisor, const Extents& extents, Symbols& symbols) {
  std::set<std::int64_t, std::greater<>> factors;
  for (const auto& term : dividend.terms()) {
    const std::int64_t size = std::abs(term.coefficient);
    if (size > 1 && divisor % size == 0) factors.insert(size);
  }
  for (const std::int64_t factor : factors) {
    std::vector<Poly::Term> whole, rest;
    for (const auto& term : dividend.terms()) (term.coefficient % factor == 0 ? whole : rest).push_back(term);
    const Range range = range_of(Poly::from_terms(rest), extents, symbols);
    if (range.low < 0 || range.high >= factor) continue;
    for (auto& term : whole) term.coefficient /= factor;
    return symbols.floor_div(Poly::from_terms(std::move(whole)), divisor / factor);
  }
  return symbols.floor_div(dividend, divisor);
}

Poly quotient(const Poly& dividend, const Poly& divisor, const Extents& extents, Symbols& symbols) {
  const auto number = divisor.constant();
  if (!number || *number < 1) return symbols.floor_div(dividend, divisor);
  const Range range = range_of(dividend, extents, symbols);
  const std::int64_t low = algebra::floor_quotient(range.low, *number);
  if (low == algebra::floor_quotient(range.high, *number)) return low;
  const Poly result = with_smaller_divisor(dividend, *number, extents, symbols);
  // The reduced quotient may simplify further.
  const auto atom = result.atom();
  if (atom && symbols.kind(*atom) == Symbols::Kind::FloorDiv && symbols.left(*atom) == dividend) return result;
  return simplify(result, extents, symbols);
}

Poly simplified_atom(Atom atom, const Extents& extents, Symbols& symbols) {
  const Symbols::Kind kind = symbols.kind(atom);
  if (kind == Symbols::Kind::Size || kind == Symbols::Kind::Index) {
    const auto extent = extents.find(atom);
    return extent != extents.end() && extent->second == 1 ? Poly(0) : Poly(atom);
  }
  const Poly a = simplify(symbols.left(atom), extents, symbols);
  const Poly b = simplify(symbols.right(atom), extents, symbols);
  if (kind == Symbols::Kind::FloorDiv) return quotient(a, b, extents, symbols);
  const Range difference = range_of(a - b, extents, symbols);
  const bool is_min = kind == Symbols::Kind::Min;
  if (difference.high <= 0) return is_min ? a : b;
  if (difference.low >= 0) return is_min ? b : a;
  return is_min ? symbols.min(a, b) : symbols.max(a, b);
}

}  // namespace

std::optional<Remainder> find_remainder(const Poly& poly, const Symbols& symbols) {
  for (const auto& term : poly.terms()) {
    if (term.monomial.size() != 1 || symbols.kind(term.monomial[0]) != Symbols::Kind::FloorDiv) continue;
    const auto divisor = symbols.right(term.monomial[0]).constant();
    if (!divisor || *divisor < 1 || term.coefficient % *divisor != 0) continue;
    Remainder found{symbols.left(term.monomial[0]), {}, *divisor, -term.coefficient / *divisor};
    const Poly one = found.dividend - Poly(*divisor) * Poly(term.monomial[0]);
    found.rest = poly - one * Poly(found.factor);
    if (found.rest.terms().size() < poly.terms().size()) return found;
  }
  return std::nullopt;
}

Range range_of(const Poly& poly, const Extents& extents, const Symbols& symbols) {
  Range sum;
  for (const auto& term : poly.terms()) {
    Range each{term.coefficient, term.coefficient};
    for (const Atom atom : term.monomial) each = product(each, range_of_atom(atom, extents, symbols));
    sum = {algebra::checked_add(sum.low, each.low), algebra::checked_add(sum.high, each.high)};
  }
  const auto found = find_remainder(poly, symbols);
  if (!found) return sum;
  const Range rest = range_of(found->rest, extents, symbols);
  const Range all = product({0, found->divisor - 1}, {found->factor, found->factor});
  return {std::max(sum.low, algebra::checked_add(rest.low, all.low)),
          std::min(sum.high, algebra::checked_add(rest.high, all.high))};
}

Poly simplify(const Poly& poly, const Extents& extents, Symbols& symbols) {
  Poly sum;
  for (const auto& term : poly.terms()) {
    Poly each = term.coefficient;
    for (const Atom atom : term.monomial) each = each * simplified_atom(atom, extents, symbols);
    sum += each;
  }
  return sum;
}

}  // namespace rulemill::optimize::gpu
