// The last resorts of the search: divides maxima by guards in their bodies, or unfolds functions, at any depth.

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

using Kind = check::Factor::Kind;

bool Elaborator::replace_anywhere(State state, bool unfolds) {
  for (std::size_t p = 0; p < state.sum.size(); ++p) {
    for (std::size_t f = 0; f < state.sum[p].factors.size(); ++f) {
      const bool here = unfolds ? unfold(state, p, f) : divide_maximum(state, p, f);
      if (here) return true;
      const check::Factor factor = state.sum[p].factors[f];
      for (std::size_t a = 0; a < factor.arguments.size(); ++a) {
        Step within = steps::nested(Op::Within, {p, f, a});
        check::Sum argument = factor.arguments[a];
        if (replace_anywhere({argument, check::argument_context(state.context, state.sum[p], factor), within.blocks[0]},
                             unfolds))
          return try_step(state, std::move(within));
      }
    }
  }
  return false;
}

bool Elaborator::divide_maximum(State state, std::size_t p, std::size_t f) {
  const check::Factor factor = state.sum[p].factors[f];
  if (factor.kind != Kind::Max) return false;
  const check::Guards given = check::argument_context(state.context, state.sum[p], factor).given;
  for (const check::Product& part : factor.arguments[0]) {
    for (const check::Guard& guard : part.guards) {
      const bool decided =
          guard.equality || is_shown(given, guard) || is_shown(check::conjunction(given, {guard}), std::nullopt);
      if (!decided && divide_maximum(state, p, f, guard)) return true;
    }
  }
  return false;
}

/// Tries as points of each range all zeros, and the largest lower bounds of the indices.
bool Elaborator::divide_maximum(State state, std::size_t p, std::size_t f, const check::Guard& guard) {
  const check::Factor factor = state.sum[p].factors[f];
  const std::set<Atom> bound(factor.bound.begin(), factor.bound.end());
  const auto points = [&](const check::Guard& half) {
    std::vector<std::vector<Poly>> result = {std::vector<Poly>(bound.size(), Poly(0)), {}};
    const check::Guards guards = check::conjunction(factor.guards, {half});
    for (const Atom atom : factor.bound)
      result[1].push_back(largest_lower_bound(atom, guards, bound).value_or(Poly(0)));
    return result;
  };
  for (const std::vector<Poly>& first : points(guard)) {
    for (const std::vector<Poly>& second : points(check::complement(guard).at(0))) {
      Step divided = steps::make(Op::DivideMax, {p, f});
      divided.guard = guard;
      divided.polys = first;
      divided.polys.insert(divided.polys.end(), second.begin(), second.end());
      if (!try_step(state, std::move(divided))) continue;
      simplify(state);
      return true;
    }
  }
  return false;
}

}  // namespace rulemill::prove
