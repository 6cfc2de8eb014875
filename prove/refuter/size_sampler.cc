#include "prove/refuter/size_sampler.h"

#include <algorithm>
#include <limits>

#include "algebra/sizes/checked.h"
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

std::optional<std::pair<std::int64_t, std::int64_t>> SizeSampler::linear_in(const Poly& poly, Atom size,
                                                                            const SizeValues& values) const {
  const auto at = [&](std::int64_t value) {
    return symbols_.evaluate(poly, [&](Atom atom) { return atom == size ? value : values.at(atom); });
  };
  const std::int64_t first = at(1), a = at(2) - first;  // not at 0, by which sizes may be divided
  return at(3) - at(2) != a || at(4) - at(3) != a ? std::nullopt : std::optional(std::pair(a, first - a));
}

/// Solves the equation a·size + b = 0 at the values drawn so far: size = −b / a. False if that is not a valid size. A
/// size that occurs non-linearly stays unassigned and is drawn later.
bool SizeSampler::solve(const Equation& equation, Atom size, SizeValues& values) const {
  const auto linear = linear_in(equation.poly, size, values);
  if (!linear) return true;
  const auto [a, b] = *linear;
  if (a == 0) return b == 0;
  if (b % a != 0 || -b / a < 1) return false;
  values[size] = -b / a;
  return symbols_.evaluate(equation.poly, [&](Atom atom) { return values.at(atom); }) == 0;
}

bool SizeSampler::start_at_bounds() {
  for (const auto* conditions : {&rule_.rule.condition, &rule_.facts}) {
    for (const SizeCondition& c : *conditions) {
      if (c.relation != Relation::Lt && c.relation != Relation::Le) continue;
      const Poly poly = c.relation == Relation::Lt ? c.right - c.left - 1 : c.right - c.left;
      bounds_.push_back({poly, symbols_.atoms(poly)});
    }
  }
  return !bounds_.empty();
}

std::int64_t SizeSampler::draw_size(Atom size, std::uint64_t range, std::span<const std::int64_t> boundary_values,
                                    const SizeValues& values) {
  std::int64_t least = 1, greatest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [poly, sizes] : bounds_) {
    const auto is_known = [&](Atom atom) { return atom == size || values.contains(atom); };
    if (std::ranges::find(sizes, size) == sizes.end() || !std::ranges::all_of(sizes, is_known)) continue;
    const auto linear = linear_in(poly, size, values);
    if (linear && linear->first > 0) least = std::max(least, -algebra::floor_quotient(linear->second, linear->first));
    if (linear && linear->first < 0)
      greatest = std::min(greatest, algebra::floor_quotient(linear->second, -linear->first));
  }
  const std::int64_t small = std::min(greatest, least + static_cast<std::int64_t>(random_() % range));
  if (boundary_values.empty() || random_() % 2 == 0) return std::max<std::int64_t>(small, 1);
  return boundary_values[random_() % boundary_values.size()] - 2 + static_cast<std::int64_t>(1 + random_() % 4) * small;
}

std::optional<SizeValues> SizeSampler::draw(std::uint64_t range, std::span<const std::int64_t> boundary_values) {
  SizeValues values;
  std::vector<bool> used(equations_.size());
  std::vector<Atom> order = sizes_;
  if (!bounds_.empty()) std::ranges::shuffle(order, random_);
  try {
    for (const Atom size : order) {
      if (values.contains(size)) continue;
      values[size] = draw_size(size, range, boundary_values, values);
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
