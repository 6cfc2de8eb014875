// For each kind of step a random sum to which it mostly applies, with the step. One case for each kind makes this long.
#pragma once

#include "tests/check/kernel/random_sums.h"
#include "tests/check/kernel/step_mutator.h"

namespace rulemill::check {

class RandomSteps : public RandomSums {
 public:
  using Op = Step::Op;
  struct Instance {
    Sum sum;
    Step step;
    std::vector<DefinednessCondition> given{};  // conditions of the other side
  };
  using RandomSums::RandomSums;
  Instance instance(Op op, const Scope& outer, std::size_t depth);

 private:
  struct Build;
  void indicators(Build& build);
  void reindex(Build& build);
  void law(Build& build);

  /// For each index the least or greatest value that a guard allows.
  std::vector<Poly> point(const Factor& factor, const Scope& scope) {
    std::vector<Poly> values;
    for (const Atom index : factor.bound) {
      Poly value = poly(scope);
      for (const Guard& guard : factor.guards) {
        if (guard.poly.coefficient(index) == 1) value = Poly(index) - guard.poly;
        if (guard.poly.coefficient(index) == -1 && one_in(2)) value = Poly(index) + guard.poly;
      }
      values.push_back(value);
    }
    return values;
  }
  /// The expression of a law with a sum for each variable.
  Sum value(const algebra::ScalarExpr& expression, const std::vector<Sum>& variables) {
    using ExprKind = algebra::ScalarExpr::Kind;
    if (expression.kind == ExprKind::Read) return variables.at(expression.tensor);
    if (expression.kind == ExprKind::Constant)
      return expression.value.num == 0 ? Sum{} : Sum{{expression.value, {}, {}, {}}};
    std::vector<Sum> operands;
    for (const auto& operand : expression.operands) operands.push_back(value(*operand, variables));
    if (expression.kind == ExprKind::Apply)
      return to_sum({Kind::Apply, statement_.function(expression.function).representative, {}, operands, {}, {}});
    Sum result = operands.at(0);
    for (std::size_t i = 1; i < operands.size(); ++i)
      result =
          expression.kind == ExprKind::Mul ? multiply(result, operands[i]) : subtract(result, negated(operands[i]));
    return result;
  }
};

/// Product 0 is the host: it has what the step is about, as its last factor if that is a factor. Others follow.
struct RandomSteps::Build {
  Scope outer, scope;
  Product host;
  Sum others;
  Step step;
  std::vector<DefinednessCondition> given;

  void plant(Factor factor) {
    step.positions.push_back(host.factors.size());
    host.factors.push_back(std::move(factor));
  }
};

inline void RandomSteps::indicators(Build& build) {
  Product& host = build.host;
  Step& step = build.step;
  const auto implied = [&](const Guards& guards) {
    Guard guard{false, number(-1, 3)};
    for (const Guard& each : guards) guard.poly = guard.poly + Poly(number(0, 2)) * each.poly;
    return guard;
  };
  if (one_in(4)) {  // a guard of a maximum more, or less
    step.targets_maximum = true;
    Factor factor = maximum(build.scope, 0);
    if (one_in(2)) {
      step.indicators = {{{}, {}, {implied(factor.guards)}}};
    } else {
      factor.guards.push_back(implied(factor.guards));
      step.indicators = {{{}, {factor.guards.size() - 1}, {}}};
    }
    return build.plant(std::move(factor));
  }
  const Guard dividing = guard(build.scope), also_holds = implied(host.guards);
  switch (below(6)) {
    case 0:  // no point
      host.guards.push_back(dividing);
      host.guards.push_back(complement(dividing)[0]);
      return;
    case 1:  // the parts of a range
      step.indicators = {{{}, {}, {dividing}}};
      for (const Guard& part : complement(dividing)) step.indicators.push_back({{}, {}, {part}});
      return;
    case 2:
      step.indicators = {{{}, {}, {also_holds}}};
      return;
    case 3:
      host.guards.push_back(also_holds);
      step.indicators = {{{}, {host.guards.size() - 1}, {}}};
      return;
    default:  // two products, or three
      build.others = {host};
      std::ranges::shuffle(build.others[0].factors, random_);
      build.others[0].coefficient = one_in(2) ? -host.coefficient : coefficient();
      step.positions.push_back(1);
      if (one_in(3)) {
        build.others.push_back(build.others[0]);
        build.others[0].guards.push_back(dividing);
        build.others[1].guards.push_back(complement(dividing)[0]);
        step.positions.push_back(2);
      }
      if (one_in(2) || (host.coefficient + build.others[0].coefficient).num != 0)
        step.indicators = {{host.coefficient + build.others[0].coefficient, {}, {}}};
  }
}

inline void RandomSteps::reindex(Build& build) {
  Step& step = build.step;
  const auto change = [&](auto& range, Scope around) {
    const Scope within = around;
    for (const Atom index : range.bound) around.erase(index);
    switch (below(4)) {
      case 0: {  // an index or another atom has a value
        const Poly which = atom(within);
        const Poly value = poly(one_in(4) ? within : around);
        range.guards.push_back({true, one_in(2) ? which - value : 2 * value - 2 * which});
        step.images = {{*which.atom(), value}};
        return;
      }
      case 1:  // an index more
        step.inverse = {{fresh(), poly(within)}};
        return;
      case 2: {  // an index less, of a maximum that is not of it
        const Atom index = fresh();
        const Poly low = poly(around);
        range.bound.push_back(index);
        range.guards.push_back({false, Poly(index) - low});
        range.guards.push_back({false, low + number(-1, 2) - Poly(index)});
        step.images = {{index, low}};
        return;
      }
      default:  // a shift of each, and a shear
        for (const Atom index : range.bound) {
          const Poly shift = poly(around), sign = pick({1, -1, 1, -1, 1, 2});
          const Atom other = one_in(4) ? index : fresh();
          step.images.emplace_back(index, sign * Poly(other) + shift);
          step.inverse.emplace_back(other, sign * (Poly(index) - shift));
        }
        if (range.bound.size() != 2) return;
        const Poly sign = step.inverse[0].second.coefficient(range.bound[0]);
        step.images[0].second = step.images[0].second + 2 * Poly(step.inverse[1].first);
        step.inverse[0].second = step.inverse[0].second - 2 * sign * step.inverse[1].second;
    }
  };
  if (one_in(2)) return change(build.host, build.scope);
  step.targets_maximum = true;
  Factor factor = maximum(build.scope, 0);
  change(factor, inside(build.scope, factor));
  build.plant(std::move(factor));
}

inline void RandomSteps::law(Build& build) {
  const auto laws = statement_.rule().laws;
  const algebra::LawEquation& law = laws[below(laws.size())];
  Step& step = build.step;
  step.name = law.name;
  step.reversed = one_in(3);
  const std::size_t zero = static_cast<std::size_t>(std::ranges::count(
      law.conditions, algebra::LawEquation::Condition::Kind::Zero, &algebra::LawEquation::Condition::kind));
  step.blocks.resize(zero);
  const Rational scale{number(1, 3), number(1, 2)};
  for (std::uint32_t v = 0; v < law.variables; ++v) {
    Sum value = one_in(2) ? positive(build.scope) : sum_of_reads(build.scope);
    if (one_in(6)) value = negated(value);
    if (one_in(6)) value = sum(build.scope, 0);
    if (one_in(8) || (zero > 0 && v == law.positive)) value = {{scale, {}, {}, {}}};
    if (zero > 0 && v == law.positive + 1) value = {{algebra::reciprocal(scale), {}, {}, {}}};
    step.sums.push_back(std::move(value));
  }
  const Sum side = value(step.reversed ? *law.right : *law.left, step.sums);
  const std::size_t first = build.host.factors.size();
  if (!side.empty()) build.host = multiply(build.host, side[0]);
  for (std::size_t f = first; f < build.host.factors.size(); ++f) step.positions.push_back(f);
  if (build.host.factors.empty()) build.host.factors.push_back(read(build.scope));
  if (step.positions.size() == 1) step.positions.push_back(0);
}

inline RandomSteps::Instance RandomSteps::instance(Op op, const Scope& outer, std::size_t depth) {
  Build build{outer, outer, {}, {}, {}, {}};
  const Scope& scope = build.scope;
  Product& host = build.host = product(build.scope, depth);
  Step& step = build.step;
  step.op = op;
  step.positions = {0};
  const auto reads = [&] { return sum_of_reads(scope); };
  const auto plant = [&](Factor factor) { build.plant(std::move(factor)); };
  const auto function_or_maximum = [&] { return one_in(2) ? maximum(scope, 0) : any_function(scope, 0); };
  switch (op) {
    case Op::Indicators:
      indicators(build);
      break;
    case Op::Reindex:
      reindex(build);
      break;
    case Op::Law:
      law(build);
      break;
    case Op::Count: {
      step.atom = bind(host, build.scope);
      // Any two guards may be the range: the bounds may contain the index.
      const std::size_t guards = host.guards.size();
      const std::size_t low = one_in(3) ? below(guards) : guards - 2, high = one_in(3) ? below(guards) : guards - 1;
      step.polys = {Poly(*step.atom) - host.guards[low].poly, Poly(*step.atom) + host.guards[high].poly};
      break;
    }
    case Op::Equal: {
      Factor factor = one_in(3) ? integer_factor(poly(scope)) : read(scope);
      if (factor.index.empty()) factor = integer_factor(poly(scope));
      const std::size_t d = below(factor.index.size());
      step.polys = {poly(scope)};
      host.guards.push_back({true, factor.index[d] - step.polys[0]});
      plant(std::move(factor));
      step.positions.push_back(d);
      break;
    }
    case Op::Within: {
      Factor factor = function_or_maximum();
      const auto nested = static_cast<Op>(below(StepMutator::op_count));
      Instance inner = instance(nested == Op::Within ? Op::Equal : nested, inside(scope, factor), 0);
      const std::size_t a = below(factor.arguments.size());
      factor.arguments[a] = std::move(inner.sum);
      build.given = std::move(inner.given);
      step.blocks = {{std::move(inner.step)}};
      plant(std::move(factor));
      step.positions.push_back(a);
      break;
    }
    case Op::Replace: {
      Factor factor = function_or_maximum();
      Sum& one = factor.arguments[0] = sum_of_reads(one_in(2) ? outer : scope);
      const Sum other(one.rbegin(), one.rend());
      step.blocks = {{}};
      for (std::size_t left = one.size(); left > 0; --left) {
        Step& cancel = step.blocks[0].emplace_back();
        cancel.positions = {0, 2 * left - 1};
      }
      plant(std::move(factor));
      step.positions.push_back(0);
      if (one_in(2)) {
        step.sums = {other};
        break;
      }
      build.others = {{{1, 1}, {}, {}, {apply("relu", {other})}}};
      if (one_in(2)) build.others[0].guards.push_back(guard(outer));
      step.positions.insert(step.positions.end(), {1, 0, 0});
      break;
    }
    case Op::Expand:
      plant(integer_factor(poly(scope) + poly(scope) * atom(scope)));
      break;
    case Op::Reciprocal:
      plant(integer_factor(poly(scope)));
      host.factors.push_back(inverse());
      if (!one_in(4)) host.factors.back().index = host.factors[step.positions[1]].index;
      step.positions.push_back(host.factors.size() - 1);
      break;
    case Op::Constant:
      plant(any_function(scope, 0));
      for (Sum& argument : host.factors.back().arguments) {
        argument.clear();
        for (std::size_t i = below(3); i > 0; --i) argument.push_back({coefficient(), {}, {}, {}});
        if (one_in(6)) argument.push_back({coefficient(), {guard(scope)}, {}, {}});
      }
      break;
    case Op::TakeOut: {
      Factor factor = maximum(scope, 0);
      for (Product& each : reads()) factor.arguments[0].push_back(std::move(each));
      if (one_in(2)) factor.arguments[0].push_back({{1, 1}, {guard(scope)}, {}, {read(scope)}});
      step.polys = point(factor, scope);
      plant(std::move(factor));
      break;
    }
    case Op::Scale: {
      Factor factor = maximum(scope, 0);
      const Scope within = inside(scope, factor);
      Sum scale = one_in(3) ? to_sum(inverse()) : positive(one_in(4) ? within : scope);
      scale.resize(1);
      if (one_in(5)) scale = to_sum(integer_factor(poly(scope)));
      step.sums = {scale, sum(within, 0)};
      factor.arguments[0] = multiply(scale, step.sums[1]);
      std::ranges::shuffle(factor.arguments[0], random_);
      plant(std::move(factor));
      break;
    }
    case Op::Monotone: {
      const char* name = pick({"relu", "tanh", "exp", "sigmoid", "floor", "abs", "step_up", "sqrt", "log", "decreasing",
                               "larger", "smaller", "less", "second_exp", "second_sqrt", "first_larger", "remainder"});
      Factor factor = maximum(scope, 0);
      Factor function = apply(name, {reads(), reads(), reads()});
      std::size_t argument = 0;
      for (std::size_t i = one_in(6) ? 2 : 1; i > 0; --i)
        function.arguments[argument = below(function.arguments.size())] = factor.arguments[0];
      factor.arguments = {{{coefficient(), {}, {}, {std::move(function)}}}};
      step.polys = point(factor, scope);
      plant(std::move(factor));
      step.positions.push_back(one_in(8) ? below(3) : argument);
      break;
    }
    case Op::Flatten: {
      Factor factor = maximum(scope, 0);
      const Scope within = inside(scope, factor);
      Factor inner = maximum(within, 0);
      step.polys = point(inner, within);
      factor.arguments = {to_sum(std::move(inner))};
      plant(std::move(factor));
      break;
    }
    case Op::DivideMax: {
      Factor factor = maximum(scope, 0);
      step.guard = Guard{false, poly(inside(scope, factor))};
      for (int half = 0; half < 2; ++half)
        for (const Poly& each : point(factor, scope)) step.polys.push_back(each);
      plant(std::move(factor));
      break;
    }
    case Op::Order: {
      const Sum s = to_sum(read(scope)), t = to_sum(read(scope)), minus = negated(s), difference = subtract(s, t);
      const Sum minus_one = {{{-1, 1}, {}, {}, {}}}, whole = to_sum(integer_factor(poly(scope)));
      const auto of = [&](const char* name, const Sum& a, const Sum& b = {}) { return to_sum(apply(name, {a, b})); };
      const auto identity = pick<std::vector<Sum>>({{of("relu", s), minus, negated(of("relu", minus))},
                                                    {of("larger", s, t), of("smaller", s, t), minus, negated(t)},
                                                    {of("abs", s), negated(of("larger", s, minus))},
                                                    {of("less", s, t), of("less", t, s), of("equal", s, t), minus_one},
                                                    {of("less", s, t), negated(of("less", difference))},
                                                    {of("floor", subtract(s, whole)), whole, negated(of("floor", s))},
                                                    {of("half_inverse", s), of("half_inverse", minus)},
                                                    {of("power", s, negated(minus_one)), minus}});
      host.factors.clear();
      for (const Sum& part : identity) {
        for (const Product& each : part) build.others.push_back(multiply(host, each));
      }
      if (one_in(3)) build.others[below(build.others.size())].coefficient = coefficient();
      step.positions.clear();
      for (std::size_t i = 0; i < build.others.size(); ++i) step.positions.push_back(i);
      step.name = std::string(below(5), 's');
      return {std::move(build.others), std::move(step)};
    }
    case Op::Signs:
    case Op::Given: {
      const char* name = pick({"recip", "sqrt", "log", "second_log", "second_sqrt", "half_inverse", "power"});
      const auto argument = [&] { return one_in(2) ? positive(scope) : reads(); };
      Factor factor = apply(name, {argument(), argument()});
      factor.kind = Kind::Defined;
      if (op == Op::Given) {
        DefinednessCondition condition;
        Scope around = outer;
        bind(condition, around);
        const Factor known = apply(name, {sum_of_reads(around), sum_of_reads(around)});
        condition.factors = {known};
        condition.factors[0].kind = Kind::Defined;
        build.given = {condition};
        Factor range;
        range.bound = condition.bound, range.guards = condition.guards;
        step.positions = {0, host.factors.size(), 0};
        step.polys = point(range, scope);
        step.reversed = one_in(3);
        Images images;
        images[condition.bound[0]] = step.polys[0];
        factor = condition.factors[0];
        for_each_poly(factor, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
        if (step.reversed) factor.arguments[0] = negated(factor.arguments[0]);
        host.factors.push_back(std::move(factor));
      } else {
        plant(std::move(factor));
      }
      break;
    }
  }
  Sum all = {std::move(host)};
  all.insert(all.end(), build.others.begin(), build.others.end());
  for (Product& each : sum(outer, depth)) all.push_back(std::move(each));
  return {std::move(all), std::move(step), std::move(build.given)};
}

}  // namespace rulemill::check
