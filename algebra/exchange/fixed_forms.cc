#include "algebra/exchange/fixed_forms.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/symbolic_parameters.h"

namespace rulemill::algebra {
namespace {

bool fits(const Rule& rule, std::uint32_t max_rank) {
  return std::ranges::all_of(rule.shapes, [&](const Shape& shape) {
    const auto packs = std::ranges::count_if(shape, [&](const Poly& dim) {
      return dim.atom() && std::ranges::find(rule.packs, *dim.atom()) != rule.packs.end();
    });
    return shape.size() - static_cast<std::size_t>(packs) <= max_rank;
  });
}

/// Returns the symbolic parameters, those that get the same number together.
std::vector<std::set<Atom>> parameter_groups(const Rule& rule, const TermBank& bank) {
  constexpr std::size_t max_single_parameters = 4;
  const bool are_single = symbolic_parameter_sizes(rule, bank).size() <= max_single_parameters;
  std::vector<std::set<Atom>> groups;
  std::set<Atom> known;
  std::string last;
  visit_symbolic_sizes(rule, bank, [&](const SymbolicParameter& list, Atom size) {
    if (!known.insert(size).second) return;
    if (are_single || last != list.name) groups.emplace_back();
    groups.back().insert(size);
    last = list.name;
  });
  return groups;
}

}  // namespace

std::vector<Rule> fixed_ranks(const Rule& rule, std::uint32_t max_rank, Library& library, TermBank& bank,
                              Symbols& symbols) {
  if (!fits(rule, max_rank)) return {};
  if (rule.packs.empty()) return {rule};
  std::vector<Rule> result;
  for (std::uint32_t rank = 0; rank <= max_rank; ++rank) {
    if (const auto expanded = expand_pack(rule, rule.packs[0], rank, library, bank, symbols))
      std::ranges::move(fixed_ranks(*expanded, max_rank, library, bank, symbols), std::back_inserter(result));
  }
  return result;
}

std::vector<Rule> fixed_parameters(const Rule& rule, Library& library, TermBank& bank, Symbols& symbols) {
  const std::vector<std::set<Atom>> groups = parameter_groups(rule, bank);
  const std::int64_t last = groups.size() <= 1 ? 8 : 3;
  std::vector<Rule> result{rule};
  for (const std::set<Atom>& group : groups) {
    std::vector<Rule> next;
    for (const Rule& each : result) {
      for (std::int64_t number = 1; number <= last; ++number) {
        Substitution numbers;
        for (const Atom parameter : group) numbers.emplace(parameter, Poly(number));
        if (auto fixed = substitute_sizes(each, numbers, library, bank, symbols)) next.push_back(std::move(*fixed));
      }
    }
    result = std::move(next);
  }
  return result;
}

}  // namespace rulemill::algebra
