#include "prove/elaboration/align.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

namespace rulemill::prove {
namespace {

bool has(const std::vector<Atom>& atoms, Atom atom) {
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

std::size_t count_unknown(const Poly& poly, const std::vector<Atom>& unknowns, const Atoms& atoms) {
  std::set<Atom> all;
  atoms.collect(poly, all);
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](Atom atom) { return has(unknowns, atom); }));
}

/// A key that equal factors share: the kind, the symbol and the number of bound indices.
std::tuple<Factor::Kind, std::uint32_t, std::size_t> head(const Factor& factor) {
  return {factor.kind, factor.symbol, factor.bound.size()};
}

template <class Part>
void rename_bound(Part& part, std::size_t& level, Atoms& atoms);

void rename_inside(Factor& factor, std::size_t& level, Atoms& atoms) {
  for (Sum& argument : factor.arguments) {
    for (Product& product : argument) rename_bound(product, level, atoms);
  }
}
void rename_inside(Product& product, std::size_t& level, Atoms& atoms) {
  for (Factor& factor : product.factors) rename_bound(factor, level, atoms);
}

template <class Part>
void rename_bound(Part& part, std::size_t& level, Atoms& atoms) {
  Images names;
  for (Atom& atom : part.bound) {
    const Atom name = atoms.level(level++);
    names[atom] = Poly(name);
    atom = name;
  }
  if (!names.empty()) check::for_each_poly(part, [&](Poly& poly) { poly = atoms.substitute(poly, names); });
  rename_inside(part, level, atoms);
}

using Wide = __int128;  // holds the difference of two products of coefficients, which are below 2^63
constexpr std::int64_t max_minor = std::numeric_limits<std::int64_t>::max();

/// Determinant by fraction-free elimination (Bareiss). Every intermediate value is a minor of the matrix. Returns
/// nothing if one exceeds 64 bits.
std::optional<std::int64_t> determinant(std::vector<std::vector<std::int64_t>> m) {
  const std::size_t n = m.size();
  std::int64_t sign = 1;
  std::int64_t previous = 1;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    std::size_t pivot = k;
    while (pivot < n && m[pivot][k] == 0) ++pivot;
    if (pivot == n) return 0;
    if (pivot != k) {
      std::swap(m[pivot], m[k]);
      sign = -sign;
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) {
        const Wide minor = (Wide{m[i][j]} * m[k][k] - Wide{m[i][k]} * m[k][j]) / previous;
        if (minor > max_minor || minor < -max_minor) return std::nullopt;
        m[i][j] = static_cast<std::int64_t>(minor);
      }
    }
    previous = m[k][k];
  }
  return n == 0 ? 1 : sign * m[n - 1][n - 1];
}

}  // namespace

bool mentions(const Poly& poly, const std::vector<Atom>& atoms, const Atoms& table) {
  return std::ranges::any_of(poly.terms(), [&](const Poly::Term& term) {
    return std::ranges::any_of(term.monomial, [&](Atom atom) {
      if (has(atoms, atom)) return true;
      return table.is_compound(atom) &&
             (mentions(table.left(atom), atoms, table) || mentions(table.right(atom), atoms, table));
    });
  });
}

std::optional<Poly> solution(const Poly& p, Atom atom, const Atoms& atoms) {
  const std::int64_t c = p.coefficient(atom);
  const Poly rest = p - Poly(atom) * Poly(c);
  if ((c != 1 && c != -1) || atoms.occurs(rest, atom)) return std::nullopt;
  return c == 1 ? -rest : rest;
}

void rename_bound(Product& product, Atoms& atoms) {
  std::size_t level = 0;
  rename_bound(product, level, atoms);
}
void rename_bound(Factor& factor, Atoms& atoms) {
  std::size_t level = 0;
  rename_bound(factor, level, atoms);
}

SolvedIndices solve_indices(std::vector<Poly> equations, const std::vector<Atom>& unknowns, Atoms& atoms,
                            Budget& budget) {
  SolvedIndices solved;
  while (true) {
    budget.spend(20 * (equations.size() + solved.map.size()));
    std::erase_if(equations, [](const Poly& poly) { return poly.is_zero(); });
    std::size_t best_count = 0;
    std::optional<std::pair<Atom, Poly>> best;
    for (const Poly& equation : equations) {
      const std::size_t count = count_unknown(equation, unknowns, atoms);
      if (count == 0 || (best && count >= best_count)) continue;
      for (const Poly::Term& term : equation.terms()) {
        if (term.monomial.size() != 1 || (term.coefficient != 1 && term.coefficient != -1)) continue;
        const Atom atom = term.monomial[0];
        if (!has(unknowns, atom)) continue;
        const Poly rest = equation - Poly::from_terms({term});
        if (atoms.occurs(rest, atom)) continue;
        best = {atom, term.coefficient == 1 ? -rest : rest};
        best_count = count;
        break;
      }
    }
    if (!best) break;
    const Images step{*best};
    for (auto& [atom, value] : solved.map) value = atoms.substitute(value, step);
    for (Poly& equation : equations) equation = atoms.substitute(equation, step);
    solved.map.insert(*best);
  }
  solved.rest = std::move(equations);
  return solved;
}

bool is_unimodular(const Images& map, const std::vector<Atom>& from, const std::vector<Atom>& to, const Atoms& atoms) {
  if (from.size() != to.size()) return false;
  std::vector<std::vector<std::int64_t>> matrix;
  for (const Atom atom : from) {
    const auto image = map.find(atom);
    if (image == map.end()) return false;
    std::vector<std::int64_t>& row = matrix.emplace_back();
    Poly rest = image->second;
    for (const Atom target : to) {
      row.push_back(image->second.coefficient(target));
      rest -= Poly(target) * Poly(row.back());
    }
    if (mentions(rest, to, atoms)) return false;
  }
  const std::optional<std::int64_t> value = determinant(std::move(matrix));
  return value && (*value == 1 || *value == -1);
}

bool are_comparable(const Product& a, const Product& b) {
  if (a.factors.size() != b.factors.size() || a.bound.size() != b.bound.size()) return false;
  return std::ranges::is_permutation(a.factors, b.factors, {}, head, head);
}

std::vector<std::vector<FactorPair>> pair_factors(const std::vector<Factor>& a, const std::vector<Factor>& b,
                                                  std::size_t limit) {
  std::vector<std::vector<FactorPair>> result;
  if (a.size() != b.size()) return result;
  std::vector<FactorPair> pairs;
  std::vector<bool> used(b.size());
  // Of equal reads, as in s·s, only the first unused one is tried.
  const auto is_duplicate = [&](std::size_t j) {
    for (std::size_t k = 0; k < j; ++k) {
      const bool reads = b[k].kind == Factor::Kind::Read && b[j].kind == Factor::Kind::Read;
      if (!used[k] && reads && b[k].symbol == b[j].symbol && b[k].index == b[j].index) return true;
    }
    return false;
  };
  const auto extend = [&](const auto& self) -> void {
    if (result.size() >= limit) return;
    const std::size_t i = pairs.size();
    if (i == a.size()) {
      result.push_back(pairs);
      return;
    }
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (used[j] || head(a[i]) != head(b[j]) || is_duplicate(j)) continue;
      used[j] = true;
      pairs.emplace_back(&a[i], &b[j]);
      self(self);
      pairs.pop_back();
      used[j] = false;
    }
  };
  extend(extend);
  return result;
}

namespace {

std::vector<Equations> unifying_equations_of(const FactorPair& pair, const std::vector<bool>& commutative,
                                             std::size_t limit, Budget& budget) {
  budget.spend(50);
  const Factor& a = *pair.first;
  const Factor& b = *pair.second;
  Equations direct;
  for (std::size_t i = 0; i < a.index.size(); ++i) direct.polys.push_back(a.index[i] - b.index[i]);
  if (a.arguments.empty()) return {direct};
  std::vector<Equations> systems;
  const auto nested = [&](const Sum& left, const Sum& right) {
    if (left.empty() || right.empty()) {
      if (left.empty() && right.empty()) systems.push_back(direct);
      return;
    }
    const auto has_index = [](const Factor& factor) { return !factor.index.empty() || !factor.arguments.empty(); };
    const auto representative = std::ranges::find_if(
        left, [&](const Product& product) { return std::ranges::any_of(product.factors, has_index); });
    const Product& first = representative == left.end() ? left[0] : *representative;
    for (const Product& second : right) {
      for (const std::vector<FactorPair>& pairs : pair_factors(first.factors, second.factors, limit)) {
        for (Equations system : unifying_equations(pairs, commutative, limit, budget)) {
          system.unknowns.insert(system.unknowns.end(), first.bound.begin(), first.bound.end());
          system.unknowns.insert(system.unknowns.end(), a.bound.begin(), a.bound.end());
          systems.push_back(std::move(system));
          if (systems.size() >= limit) return;
        }
      }
    }
  };
  const auto is_zero = [&](std::size_t i) { return a.arguments[i].empty() && b.arguments[i].empty(); };
  std::size_t first = 0;  // the first argument that is not 0 in both
  while (first + 1 < a.arguments.size() && is_zero(first)) ++first;
  nested(a.arguments[first], b.arguments[first]);
  const bool applies = a.kind == Factor::Kind::Apply || a.kind == Factor::Kind::Defined;
  const bool swap = applies && a.arguments.size() == 2 && commutative[a.symbol];
  if (swap) nested(a.arguments[0], b.arguments[1]);
  return systems;
}

}  // namespace

std::vector<Equations> unifying_equations(const std::vector<FactorPair>& pairs, const std::vector<bool>& commutative,
                                          std::size_t limit, Budget& budget) {
  std::vector<Equations> systems(1);
  for (const FactorPair& pair : pairs) {
    const std::vector<Equations> more = unifying_equations_of(pair, commutative, limit, budget);
    budget.spend(50 * std::min(limit, systems.size() * more.size()));
    std::vector<Equations> product;
    for (const Equations& system : systems) {
      for (const Equations& other : more) {
        if (product.size() >= limit) break;
        Equations joined = system;
        joined.polys.insert(joined.polys.end(), other.polys.begin(), other.polys.end());
        joined.unknowns.insert(joined.unknowns.end(), other.unknowns.begin(), other.unknowns.end());
        product.push_back(std::move(joined));
      }
    }
    systems = std::move(product);
  }
  return systems;
}

void complete_maps(const Images& map, const std::vector<Atom>& from, const std::vector<Atom>& onto, Atoms& atoms,
                   const ElaborationLimits& limits, Budget& budget, std::vector<Images>& maps) {
  if (from.size() != onto.size()) return;
  std::vector<Atom> missing;
  for (const Atom atom : from) {
    if (!map.contains(atom)) missing.push_back(atom);
  }
  std::vector<std::size_t> order(onto.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    budget.spend(100 * (1 + onto.size() * onto.size()));
    Images rest;
    for (std::size_t i = 0; i < missing.size(); ++i) rest[missing[i]] = Poly(onto[order[i]]);
    Images full = rest;
    for (const auto& [atom, value] : map) full[atom] = atoms.substitute(value, rest);
    const bool closed =
        std::ranges::none_of(full, [&](const auto& entry) { return mentions(entry.second, from, atoms); });
    if (closed && is_unimodular(full, from, onto, atoms) && std::find(maps.begin(), maps.end(), full) == maps.end())
      maps.push_back(std::move(full));
    if (missing.empty()) return;
    // The next choice of the first missing.size() entries.
    std::reverse(order.begin() + static_cast<std::ptrdiff_t>(missing.size()), order.end());
  } while (maps.size() < limits.maps && std::next_permutation(order.begin(), order.end()));
}

std::vector<Images> candidate_maps(const Product& product, const Product& onto, const std::vector<FactorPair>& pairs,
                                   const std::vector<bool>& commutative, Atoms& atoms, const ElaborationLimits& limits,
                                   Budget& budget) {
  std::vector<Images> maps;
  std::vector<Poly> equations;
  std::vector<FactorPair> nested;
  for (const FactorPair& pair : pairs) {
    if (!pair.first->arguments.empty()) nested.push_back(pair);
    for (std::size_t i = 0; i < pair.first->index.size(); ++i)
      equations.push_back(pair.first->index[i] - pair.second->index[i]);
  }
  const SolvedIndices direct = solve_indices(equations, product.bound, atoms, budget);
  const bool solved =
      std::all_of(product.bound.begin(), product.bound.end(), [&](Atom atom) { return direct.map.contains(atom); });
  if (solved || nested.empty()) {
    complete_maps(direct.map, product.bound, onto.bound, atoms, limits, budget, maps);
    return maps;
  }
  std::set<Images> tried;
  for (const Equations& system : unifying_equations(nested, commutative, limits.choices, budget)) {
    std::vector<Poly> all = equations;
    all.insert(all.end(), system.polys.begin(), system.polys.end());
    std::vector<Atom> unknowns = product.bound;
    unknowns.insert(unknowns.end(), system.unknowns.begin(), system.unknowns.end());
    SolvedIndices found = solve_indices(std::move(all), unknowns, atoms, budget);
    std::erase_if(found.map, [&](const auto& entry) {
      return !has(product.bound, entry.first) || mentions(entry.second, system.unknowns, atoms);
    });
    if (tried.insert(found.map).second)
      complete_maps(found.map, product.bound, onto.bound, atoms, limits, budget, maps);
    if (maps.size() >= limits.maps) break;
  }
  return maps;
}

}  // namespace rulemill::prove
