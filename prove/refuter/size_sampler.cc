#include "prove/refuter/size_sampler.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Atom;
using algebra::Poly;
using algebra::Relation;
using algebra::SizeCondition;

SizeSampler::SizeSampler(const algebra::TypedRule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                         std::uint64_t seed)
    : rule_(rule), symbols_(symbols), random_(seed) {
  collect_sizes(bank);
  for (const SizeCondition& c : rule.rule.condition) {
    if (c.relation != Relation::Eq) continue;
    const Poly poly = c.left - c.right;
    equations_.push_back({poly, symbols.atoms(poly)});
  }
}

void SizeSampler::collect_sizes(const algebra::TermBank& bank) {
  std::set<Atom> all;
  const auto add = [&](const Poly& poly) {
    for (const Atom atom : symbols_.atoms(poly)) all.insert(atom);
  };
  for (const auto& [term, shape] : rule_.types) {
    for (const Poly& dim : shape) add(dim);
    if (bank.term(term).is_variable) continue;
    for (const Poly& size : bank.node_of(term).sizes) add(size);
  }
  for (const auto* conditions : {&rule_.rule.condition, &rule_.facts}) {
    for (const SizeCondition& c : *conditions) {
      add(c.left);
      add(c.right);
    }
  }
  sizes_.assign(all.begin(), all.end());
}

/// Solves the equation a·size + b = 0 at the values drawn so far: size = −b / a. False if that is not a valid size. A
/// size that occurs non-linearly stays unassigned and is drawn later.
bool SizeSampler::solve(const Equation& equation, Atom size, SizeValues& values) const {
  const auto at = [&](std::int64_t value) {
    return symbols_.evaluate(equation.poly, [&](Atom atom) { return atom == size ? value : values.at(atom); });
  };
  const std::int64_t b = at(0);
  const std::int64_t a = at(1) - b;
  if (at(2) - at(1) != a || at(3) - at(2) != a) return true;
  if (a == 0) return b == 0;
  if (b % a != 0 || -b / a < 1 || at(-b / a) != 0) return false;
  values[size] = -b / a;
  return true;
}

/// An inequality a·size + b ≥ 0 with numbers a > 0 and b holds from ⌈−b / a⌉ on.
bool SizeSampler::start_at_bounds() {
  for (const auto* conditions : {&rule_.rule.condition, &rule_.facts}) {
    for (const SizeCondition& c : *conditions) {
      if (c.relation != Relation::Lt && c.relation != Relation::Le) continue;
      const Poly poly = c.relation == Relation::Lt ? c.right - c.left - 1 : c.right - c.left;
      const std::vector<Atom> sizes = symbols_.atoms(poly);
      const auto parts = sizes.size() == 1 ? poly.coefficients_in(sizes[0]) : std::vector<Poly>();
      const auto b = parts.size() == 2 ? parts[0].constant() : std::nullopt;
      const auto a = parts.size() == 2 ? parts[1].constant() : std::nullopt;
      if (!a || !b || *a <= 0 || *b > -2 * *a) continue;
      std::int64_t& least = least_[sizes[0]];
      least = std::max(least, (-*b + *a - 1) / *a);
    }
  }
  return !least_.empty();
}

std::int64_t SizeSampler::draw_size(Atom size, std::uint64_t range, std::span<const std::int64_t> boundary_values) {
  const auto least = least_.find(size);
  const auto small = (least == least_.end() ? 1 : least->second) + static_cast<std::int64_t>(random_() % range);
  if (boundary_values.empty() || random_() % 2 == 0) return small;
  return boundary_values[random_() % boundary_values.size()] - 2 + static_cast<std::int64_t>(1 + random_() % 4) * small;
}

std::optional<SizeValues> SizeSampler::draw(std::uint64_t range, std::span<const std::int64_t> boundary_values) {
  SizeValues values;
  std::vector<bool> used(equations_.size());
  try {
    for (const Atom size : sizes_) {
      if (values.contains(size)) continue;
      values[size] = draw_size(size, range, boundary_values);
      for (bool progress = true; progress;) {
        progress = false;
        for (std::size_t e = 0; e < equations_.size(); ++e) {
          if (used[e]) continue;
          std::optional<Atom> unassigned;
          std::size_t count = 0;
          for (const Atom atom : equations_[e].sizes) {
            if (values.contains(atom)) continue;
            unassigned = atom;
            ++count;
          }
          if (count > 1) continue;
          used[e] = progress = true;
          if (unassigned && !solve(equations_[e], *unassigned, values)) return std::nullopt;
        }
      }
    }
    std::vector<std::int64_t> drawn;
    for (const Atom size : sizes_) drawn.push_back(values.at(size));
    if (!sizes_.empty() && !drawn_.insert(std::move(drawn)).second) return std::nullopt;
    if (!satisfies_rule(values)) return std::nullopt;
  } catch (const runtime::Error&) {  // a division by zero: invalid sizes
    return std::nullopt;
  }
  return values;
}

std::optional<SizeValues> SizeSampler::all_ones() const {
  SizeValues values;
  for (const Atom size : sizes_) values[size] = 1;
  try {
    return satisfies_rule(values) ? std::optional(values) : std::nullopt;
  } catch (const runtime::Error&) {  // a division by zero: invalid sizes
    return std::nullopt;
  }
}

bool SizeSampler::satisfies_rule(const SizeValues& values) const {
  const auto all_hold = [&](const std::vector<SizeCondition>& conditions) {
    return std::ranges::all_of(conditions, [&](const auto& condition) { return holds(condition, values); });
  };
  return all_hold(rule_.rule.condition) && all_hold(rule_.facts);
}

bool SizeSampler::holds(const SizeCondition& c, const SizeValues& values) const {
  const auto at = [&](const Poly& poly) { return symbols_.evaluate(poly, [&](Atom atom) { return values.at(atom); }); };
  const std::int64_t left = at(c.left);
  const std::int64_t right = at(c.right);
  return algebra::holds(c.relation, left, right);
}

std::vector<SizeValues> sample_sizes(const algebra::TypedRule& rule, const algebra::TermBank& bank,
                                     const algebra::Symbols& symbols, std::uint64_t seed) {
  SizeSampler sampler(rule, bank, symbols, seed);
  std::vector<SizeValues> samples;
  const auto draw = [&] {
    for (std::uint64_t attempt = 0; attempt < 60 && samples.size() < 6; ++attempt) {
      std::optional<SizeValues> sizes = sampler.draw(attempt % 2 == 0 ? 5 : 3);
      if (sizes) samples.push_back(std::move(*sizes));
    }
  };
  draw();
  if (samples.empty() && sampler.start_at_bounds()) draw();
  return samples;
}

std::vector<SizesByName> sample_sizes_by_name(const algebra::Rule& rule, algebra::TermBank& bank,
                                              algebra::Symbols& symbols, std::uint64_t seed) {
  const auto typed = algebra::try_typing(rule, bank, symbols);
  if (!typed) return {};
  std::vector<SizesByName> samples;
  for (const SizeValues& values : sample_sizes(*typed, bank, symbols, seed)) {
    SizesByName& sizes = samples.emplace_back();
    for (const auto& [size, value] : values) sizes[symbols.name(size)] = value;
  }
  return samples;
}

}  // namespace rulemill::prove
