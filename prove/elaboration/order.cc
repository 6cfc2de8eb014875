// Cancels products by the steps Order and CancelSum, and replaces logarithms and square roots.
#include <algorithm>
#include <set>

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

using Kind = check::Factor::Kind;

namespace {

std::pair<std::set<Atom>, check::Guards> range_of(const check::Product& product) {
  check::Guards guards = product.guards;
  std::ranges::sort(guards);
  return {std::set<Atom>(product.bound.begin(), product.bound.end()), std::move(guards)};
}

}  // namespace

bool Elaborator::apply_order(check::Sum& sum, const Context& context, Steps& steps) {
  const auto by_cases = [&](const check::Product& product) {
    return std::ranges::any_of(product.factors, [&](const check::Factor& factor) {
      return factor.kind == Kind::Apply && check::is_evaluated_by_cases(statement_.function(factor.symbol));
    });
  };
  std::vector<bool> seen(sum.size(), false);
  for (std::size_t first = 0; first < sum.size(); ++first) {
    if (seen[first]) continue;
    std::vector<std::size_t> members, others;
    bool any = false;
    for (std::size_t p = first; p < sum.size(); ++p) {
      if (range_of(sum[p]) != range_of(sum[first])) {
        if (sum[p].bound.size() == sum[first].bound.size() && !sum[p].bound.empty()) others.push_back(p);
        continue;
      }
      seen[p] = true;
      members.push_back(p);
      any = any || by_cases(sum[p]);
    }
    if (any && try_step(sum, context, step(Op::Order, members), steps)) return true;
    Attempt renamed{sum, {}};
    const std::size_t before = members.size();
    for (const std::size_t p : others) {
      if ((any || by_cases(sum[p])) && rename_bound(renamed, p, first, context)) members.push_back(p);
    }
    if (members.size() == before || !try_step(renamed.sum, context, step(Op::Order, members), renamed.steps)) continue;
    commit(std::move(renamed), sum, steps);
    return true;
  }
  return false;
}

bool Elaborator::rename_bound(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context) {
  Attempt trial = attempt;
  const std::vector<Atom> own = attempt.sum[p].bound, wanted = attempt.sum[onto].bound;
  Step map = step(Op::Map, {p});
  for (std::size_t i = 0; i < own.size(); ++i) {
    map.images.emplace_back(own[i], Poly(wanted[i]));
    map.inverse.emplace_back(wanted[i], Poly(own[i]));
  }
  if (!try_step(trial.sum, context, std::move(map), trial.steps)) return false;
  if (range_of(trial.sum[p]) != range_of(trial.sum[onto])) return false;
  attempt = std::move(trial);
  return true;
}

bool Elaborator::cancel_sum(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Factor divisor = sum[p].factors[f];
  if (depth_ == max_depth || divisor.arguments.size() != 1 || divisor.arguments[0].size() != 1) return false;
  if (statement_.function(divisor.symbol).program.back().op != algebra::Function::Op::Div) return false;
  check::Product rest = sum[p];
  rest.coefficient = {1, 1};
  rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(f));
  const auto heads = [](const check::Product& product) {
    std::multiset<std::pair<Kind, std::uint32_t>> result;
    for (const check::Factor& factor : product.factors) result.emplace(factor.kind, factor.symbol);
    return result;
  };
  if (heads(rest) != heads(divisor.arguments[0][0])) return false;
  Step whole = step(Op::CancelSum, {p, f});
  check::Sum difference = check::subtract({std::move(rest)}, divisor.arguments[0]);
  ++depth_;
  const bool same = rewrite_to_zero(difference, context, whole.block);
  --depth_;
  return same && try_step(sum, context, std::move(whole), steps);
}

bool Elaborator::take_logarithm(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Factor& whole = sum[p].factors[f];
  if (!algebra::applies_only(statement_.function(whole.symbol), algebra::Function::Op::Log)) return false;
  const check::Sum& argument = whole.arguments[0];
  if (argument.empty()) return false;
  if (argument.size() > 1 || !argument[0].bound.empty()) return take_power_out(sum, p, f, context, steps);
  const bool is_single = argument.size() == 1 && argument[0].coefficient == Rational{1, 1} &&
                         argument[0].factors.size() == 1 && !splits_logarithm(argument[0].factors[0]);
  return !is_single && try_step(sum, context, step(Op::Logarithm, {p, f}), steps);
}

/// Takes an exponential that all products in a logarithm have out of it.
bool Elaborator::take_power_out(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  Attempt attempt{sum, {}};
  split_common_exponents(attempt.sum, p, f, context, attempt.steps);
  const std::size_t count = attempt.sum[p].factors[f].arguments[0][0].factors.size();
  for (std::size_t e = 0; e < count; ++e) {
    if (!try_step(attempt.sum, context, step(Op::LogScale, {p, f, e}), attempt.steps)) continue;
    commit(std::move(attempt), sum, steps);
    return true;
  }
  return false;
}

bool Elaborator::shift_comparison(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Factor factor = sum[p].factors[f];
  if (factor.arguments.size() != 2) return false;
  for (std::size_t a = 0; a < factor.arguments[0].size(); ++a) {
    for (std::size_t b = 0; b < factor.arguments[1].size(); ++b) {
      if (factor.arguments[0][a] == factor.arguments[1][b] &&
          try_step(sum, context, step(Op::Shift, {p, f, a, b}), steps))
        return true;
    }
  }
  return false;
}

/// Whether the logarithm of the factor alone is replaced: it is exp(t) or 1/t.
bool Elaborator::splits_logarithm(const check::Factor& factor) const {
  if (factor.kind != Kind::Apply) return false;
  const algebra::Function& function = statement_.function(factor.symbol);
  return check::is_reciprocal(function) || algebra::applies_only(function, algebra::Function::Op::Exp);
}

bool Elaborator::take_root(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Factor root = sum[p].factors[f];
  if (try_step(sum, context, step(Op::RootOfExp, {p, f}), steps)) return true;
  if (depth_ == max_depth || !algebra::applies_only(statement_.function(root.symbol), algebra::Function::Op::Sqrt))
    return false;
  for (std::size_t q = 0; q < sum.size(); ++q) {
    for (std::size_t g = 0; g < sum[q].factors.size(); ++g) {
      const check::Factor& other = sum[q].factors[g];
      if (other.kind != Kind::Apply ||
          !algebra::applies_only(statement_.function(other.symbol), algebra::Function::Op::Abs))
        continue;
      check::Sum difference = root.arguments[0];
      for (const check::Product& one : other.arguments[0]) {
        for (const check::Product& another : other.arguments[0]) {
          difference.push_back(check::multiply(one, another));
          difference.back().coefficient = -difference.back().coefficient;
        }
      }
      Step replaced = step(Op::Root, {p, f, q, g});
      ++depth_;
      const Context inside = check::Kernel::within(context, sum[p]);
      const bool is_square = rewrite_to_zero(difference, inside, replaced.block);
      --depth_;
      if (is_square && try_step(sum, context, std::move(replaced), steps)) return true;
    }
  }
  return false;
}

/// True for exactly one of t and −t: the one whose product with the first text has a negative coefficient.
bool Elaborator::is_negated(const check::Sum& argument) const {
  std::string first;
  bool below = false;
  for (check::Product product : argument) {
    const bool negative = product.coefficient.num < 0;
    product.coefficient = {1, 1};
    std::string text = statement_.text(product);
    if (!first.empty() && first <= text) continue;
    first = std::move(text);
    below = negative;
  }
  return below;
}

}  // namespace rulemill::prove
