#include "algebra/exchange/fixed_forms.h"

#include <algorithm>
#include <iterator>
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
  const std::vector<Atom> parameters = symbolic_parameter_sizes(rule, bank);
  const std::int64_t last = parameters.size() <= 1 ? 8 : 3;
  std::vector<Rule> result{rule};
  for (const Atom parameter : parameters) {
    std::vector<Rule> next;
    for (const Rule& each : result) {
      for (std::int64_t number = 1; number <= last; ++number) {
        if (auto fixed = substitute_sizes(each, {{parameter, Poly(number)}}, library, bank, symbols))
          next.push_back(std::move(*fixed));
      }
    }
    result = std::move(next);
  }
  return result;
}

}  // namespace rulemill::algebra
