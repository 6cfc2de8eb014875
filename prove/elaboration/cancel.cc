// Cancels products: rewrites one to have the bound indices of another, and then its factors.
#include <algorithm>
#include <iterator>

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {
namespace {

/// Sorts maps by the number of guards that they do not make equal, since only a few maps are tried. This decides where
/// factors do not determine the map, as for two windows over one tensor.
void sort_by_matching_guards(std::vector<Images>& maps, const Guards& own, const Guards& wanted, Atoms& atoms,
                             Budget& budget) {
  std::vector<std::pair<std::size_t, Images>> ranked;
  for (Images& map : maps) {
    budget.spend(100 * (1 + own.size()));
    const auto differ = std::ranges::count_if(own, [&](const Guard& guard) {
      return std::ranges::find(wanted, atoms.substitute(guard, map)) == wanted.end();
    });
    ranked.emplace_back(static_cast<std::size_t>(differ), std::move(map));
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  for (std::size_t i = 0; i < maps.size(); ++i) maps[i] = std::move(ranked[i].second);
}

}  // namespace

std::optional<check::Step> Elaborator::reindex(const Images& map, const std::vector<Atom>& old,
                                               const std::vector<Atom>& fresh, const std::vector<Atom>& onto) {
  Step step;
  step.op = Op::Reindex;
  std::vector<Poly> equations;
  Images names;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const auto image = map.find(fresh[i]);
    if (image == map.end()) return std::nullopt;
    step.images.emplace_back(old[i], image->second);
    equations.push_back(Poly(fresh[i]) - image->second);
    names[fresh[i]] = Poly(old[i]);
  }
  const SolvedIndices solved = solve_indices(std::move(equations), onto, atoms_, budget_);
  for (const Atom atom : onto) {
    const auto value = solved.map.find(atom);
    if (value == solved.map.end()) return std::nullopt;
    step.inverse.emplace_back(atom, atoms_.substitute(value->second, names));
  }
  return step;
}

void Elaborator::commit(Attempt attempt, State state) {
  state.sum = std::move(attempt.sum);
  std::ranges::move(attempt.steps, std::back_inserter(state.steps));
}

void Elaborator::commit(Alignment alignment, std::size_t p, check::Sum& sum, Steps& steps) {
  sum[p] = std::move(alignment.product);
  std::ranges::move(alignment.steps, std::back_inserter(steps));
}

bool Elaborator::cancel(State state) {
  for (std::size_t onto = 0; onto < state.sum.size(); ++onto) {
    std::vector<std::size_t> members = {onto};
    std::vector<Alignment> aligned;
    for (std::size_t p = 0; p < state.sum.size(); ++p) {
      if (p == onto) continue;
      std::vector<Alignment> found = alignments(state.sum, p, onto, state.context, 1);
      if (found.empty()) continue;
      members.push_back(p);
      aligned.push_back(std::move(found[0]));
    }
    if (!aligned.empty()) {
      Attempt group{state.sum, {}};
      for (std::size_t i = 0; i < aligned.size(); ++i)
        commit(std::move(aligned[i]), members[i + 1], group.sum, group.steps);
      if (try_step(group.in(state.context), steps::cancel(members))) {
        commit(std::move(group), state);
        return true;
      }
    }
    if (cancel_pair(state, onto)) return true;
  }
  return false;
}

bool Elaborator::cancel_pair(State state, std::size_t onto) {
  for (std::size_t p = onto + 1; p < state.sum.size(); ++p) {
    if (state.sum[p].coefficient + state.sum[onto].coefficient != Rational{0, 1}) continue;
    for (Alignment& alignment : alignments(state.sum, p, onto, state.context, max_alignments)) {
      Attempt pair{state.sum, {}};
      commit(std::move(alignment), p, pair.sum, pair.steps);
      if (!try_step(pair.in(state.context), steps::cancel({onto, p}))) continue;
      commit(std::move(pair), state);
      return true;
    }
  }
  return false;
}

std::vector<Elaborator::Alignment> Elaborator::alignments(const check::Sum& sum, std::size_t p, std::size_t onto,
                                                          const Context& context, std::size_t max_results) {
  std::vector<Alignment> result;
  Product product = sum[p];
  const Product& model = sum[onto];
  if (!are_comparable(product, model)) return result;
  prove::rename_bound(product, atoms_);
  const check::Sum both = {sum[p], sum[onto]};  // all that the steps are about
  for (const std::vector<FactorPair>& pairs : pair_factors(product.factors, model.factors, limits_.maps)) {
    std::vector<Images> maps = candidate_maps(product, model, pairs, commutative_, atoms_, limits_, budget_);
    if (maps.size() > 1) sort_by_matching_guards(maps, product.guards, model.guards, atoms_, budget_);
    for (const Images& map : maps) {
      Attempt attempt{both, {}};
      if (!product.bound.empty() && !try_map(attempt, {0}, map, both[0].bound, product.bound, both[1].bound, context))
        continue;
      const bool same = std::ranges::all_of(pairs, [&](const FactorPair& pair) {
        const auto f = static_cast<std::size_t>(pair.first - product.factors.data());
        const auto g = static_cast<std::size_t>(pair.second - model.factors.data());
        return equate(attempt, 0, f, 1, g, context);
      });
      if (!same) continue;
      for (Step& step : attempt.steps) {
        step.positions[0] = p;
        if (step.op == Op::Replace) step.positions[3] = onto;
      }
      result.push_back({std::move(attempt.sum[0]), std::move(attempt.steps)});
      if (result.size() >= max_results) return result;
    }
  }
  return result;
}

/// The map is from the indices `old`, which it has under the names `fresh`.
bool Elaborator::try_map(Attempt& attempt, Place at, const Images& map, const std::vector<Atom>& old,
                         const std::vector<Atom>& fresh, const std::vector<Atom>& onto, const Context& context) {
  std::optional<Step> found = reindex(map, old, fresh, onto);
  if (!found) return false;
  const bool identity = old == onto && std::ranges::all_of(found->images, [](const auto& image) {
                          return image.second == Poly(image.first);
                        });
  if (identity) return true;
  found->targets_maximum = at.size() == 2;
  found->positions = std::move(at);
  return try_step(attempt.in(context), std::move(*found));
}

bool Elaborator::equate(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                        const Context& context) {
  const check::Factor model = attempt.sum[onto].factors[g];
  const auto own = [&]() -> const check::Factor& { return attempt.sum[p].factors[f]; };
  if (own() == model) return true;
  for (std::size_t d = 0; d < model.index.size(); ++d) {
    if (own().index[d] == model.index[d]) continue;
    Step index = steps::make(Op::Equal, {p, f, d});
    index.polys.push_back(model.index[d]);
    if (!try_step(attempt.in(context), std::move(index))) return false;
  }
  if (model.kind == check::Factor::Kind::Max) return equate_maxima(attempt, p, f, onto, g, context);
  const auto arguments = [&](Attempt& trial) {
    for (std::size_t a = 0; a < model.arguments.size(); ++a) {
      if (!equate_argument(trial, p, f, onto, g, a, context)) return false;
    }
    return true;
  };
  Attempt straight = attempt;
  if (arguments(straight)) return attempt = std::move(straight), true;
  const bool commutes =
      model.kind == check::Factor::Kind::Apply && model.arguments.size() == 2 && commutative_[model.symbol];
  const algebra::LawEquation* law = commutes ? law_of(own(), "commutative") : nullptr;
  const std::size_t size = attempt.sum.size(), factors = attempt.sum[p].factors.size();
  if (!law || !try_step(attempt.in(context), steps::law(law->name, {p, f}, own().arguments))) return false;
  const bool is_number = attempt.sum.size() != size || attempt.sum[p].factors.size() != factors;
  return !is_number && arguments(attempt);
}

bool Elaborator::equate_argument(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                                 std::size_t a, const Context& context) {
  const check::Product& product = attempt.sum[p];
  const check::Sum& wanted = attempt.sum[onto].factors[g].arguments[a];
  if (product.factors[f].arguments[a] == wanted) return true;
  const Context inner = check::argument_context(context, product, product.factors[f]);
  check::Sum difference = check::subtract(product.factors[f].arguments[a], wanted);
  Step same = steps::nested(Op::Replace, {p, f, a, onto, g, a});
  if (depth_ == max_depth) return false;
  std::pair<check::Guards, std::string> key{inner.given, statement_.text(difference)};
  std::ranges::sort(key.first);
  if (unequal_.contains(key)) return false;
  ++depth_;
  const bool empty = rewrite_to_zero({difference, inner, same.blocks[0]});
  --depth_;
  if (!empty) unequal_.insert(std::move(key));
  return empty && try_step(attempt.in(context), std::move(same));
}

bool Elaborator::equate_maxima(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                               const Context& context) {
  const check::Factor own = attempt.sum[p].factors[f], model = attempt.sum[onto].factors[g];
  Factor renamed = own;
  prove::rename_bound(renamed, atoms_);
  std::vector<Images> maps;
  for (const Equations& system : unifying_equations({{&renamed, &model}}, commutative_, limits_.choices, budget_)) {
    std::vector<Atom> unknowns = renamed.bound;
    unknowns.insert(unknowns.end(), system.unknowns.begin(), system.unknowns.end());
    SolvedIndices solved = solve_indices(system.polys, unknowns, atoms_, budget_);
    std::erase_if(solved.map, [&](const auto& entry) {
      return std::ranges::find(renamed.bound, entry.first) == renamed.bound.end() ||
             mentions(entry.second, system.unknowns, atoms_);
    });
    complete_maps(solved.map, renamed.bound, model.bound, atoms_, limits_, budget_, maps);
  }
  for (const Images& map : maps) {
    Attempt trial = attempt;
    if (!try_map(trial, {p, f}, map, own.bound, renamed.bound, model.bound, context)) continue;
    if (!equate_ranges(trial, p, f, model.guards, context)) continue;
    if (!equate_argument(trial, p, f, onto, g, 0, context)) continue;
    attempt = std::move(trial);
    return true;
  }
  return false;
}

bool Elaborator::equate_ranges(Attempt& trial, std::size_t p, std::size_t f, const check::Guards& wanted,
                               const Context& context) {
  const auto own = [&]() -> const check::Guards& { return trial.sum[p].factors[f].guards; };
  for (const check::Guard& guard : wanted) {
    if (std::ranges::find(own(), guard) != own().end()) continue;
    if (!try_step(trial.in(context), steps::add_guard({p, f}, guard))) return false;
  }
  for (std::size_t i = own().size(); i-- > 0;) {
    if (std::ranges::find(wanted, own()[i]) != wanted.end()) continue;
    if (!try_step(trial.in(context), steps::drop_guard({p, f}, i))) return false;
  }
  return true;
}

}  // namespace rulemill::prove
