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
  };
  using RandomSums::RandomSums;
  Instance instance(Op op, const Scope& outer, std::size_t depth);
};

/// Product 0 has what the step is about, as its last factor if that is a factor. Others follow.
inline RandomSteps::Instance RandomSteps::instance(Op op, const Scope& outer, std::size_t depth) {
  Scope scope = outer;
  Product host = product(scope, depth);
  Sum others;
  Step step;
  step.op = op;
  step.positions = {0};
  const auto reads = [&] { return sum_of_reads(scope); };
  const auto plant = [&](Factor factor) {
    step.positions.push_back(host.factors.size());
    host.factors.push_back(std::move(factor));
  };
  /// The range of the product, or of a new maximum.
  const auto in_range = [&](const auto& use) {
    if (one_in(2)) return use(host, scope);
    step.targets_maximum = true;
    Factor factor = maximum(scope, 0);
    use(factor, inside(scope, factor));
    plant(std::move(factor));
  };
  const auto add_equation = [&](auto& range, const Poly& left, const Poly& right) {
    range.guards.push_back({true, one_in(2) ? left - right : 2 * right - 2 * left});
  };
  /// For each index the least or greatest value that a guard allows.
  const auto point = [&](const Factor& factor) {
    for (const Atom index : factor.bound) {
      Poly value = poly(scope);
      for (const Guard& guard : factor.guards) {
        if (guard.poly.coefficient(index) == 1) value = Poly(index) - guard.poly;
        if (guard.poly.coefficient(index) == -1 && one_in(2)) value = Poly(index) + guard.poly;
      }
      step.polys.push_back(value);
    }
  };
  const auto cancel = [&](std::size_t a, std::size_t b) {
    Step inner;
    inner.op = Op::Cancel;
    inner.positions = {a, b};
    step.block.push_back(std::move(inner));
  };
  /// exp(…), or a function that resembles it.
  const auto exponential = [&] { return apply(one_in(6) ? "second_exp" : "exp", {reads(), reads()}); };
  switch (op) {
    case Op::Drop:
      host.guards.push_back(guard(scope));
      host.guards.push_back(complement(host.guards.back())[0]);
      break;
    case Op::Set:
      in_range([&](auto& range, const Scope& within) {
        step.atom = one_in(3) ? *atom(within).atom() : fresh();
        step.polys = {poly(within)};
        if (!within.contains(*step.atom) && atoms_.kind(*step.atom) == Atoms::Kind::Bound)
          range.bound.push_back(*step.atom);
        add_equation(range, Poly(*step.atom), step.polys[0]);
      });
      break;
    case Op::Split:
      step.guard = guard(scope);
      break;
    case Op::Map:
      in_range([&](auto& range, Scope around) {
        for (const Atom index : range.bound) around.erase(index);
        for (const Atom index : range.bound) {
          const Poly shift = poly(around), sign = pick({1, -1, 1, -1, 1, 2});
          const Atom other = one_in(4) ? index : fresh();
          step.images.emplace_back(index, sign * Poly(other) + shift);
          step.inverse.emplace_back(other, sign * (Poly(index) - shift));
        }
        if (range.bound.size() != 2) return;
        const Poly sign = step.inverse[0].second.coefficient(range.bound[0]);  // and a shear
        step.images[0].second = step.images[0].second + 2 * Poly(step.inverse[1].first);
        step.inverse[0].second = step.inverse[0].second - 2 * sign * step.inverse[1].second;
      });
      break;
    case Op::AddGuard:
    case Op::DropGuard: {
      std::size_t guards = 0;
      in_range([&](auto& range, const Scope& within) {
        if (range.guards.empty()) range.guards.push_back(guard(within));
        Guard implied{false, number(-1, 3)};
        for (const Guard& each : range.guards) implied.poly = implied.poly + Poly(number(0, 2)) * each.poly;
        if (op == Op::AddGuard) return void(step.guard = implied);
        range.guards.push_back(implied);
        guards = range.guards.size();
      });
      if (op == Op::DropGuard) step.positions.push_back(guards - 1);
      break;
    }
    case Op::NewIndex:
      in_range([&](auto&, const Scope& within) {
        step.atom = fresh();
        step.polys = {poly(within)};
      });
      break;
    case Op::Index: {
      Factor factor = one_in(3) ? integer(poly(scope)) : read(scope);
      if (factor.index.empty()) factor = integer(poly(scope));
      const std::size_t d = below(factor.index.size());
      step.polys = {poly(scope)};
      add_equation(host, factor.index[d], step.polys[0]);
      plant(std::move(factor));
      step.positions.push_back(d);
      break;
    }
    case Op::Within: {
      Factor factor = one_in(2) ? maximum(scope, 0) : any_function(scope, 0);
      const auto nested = static_cast<Op>(below(StepMutator::op_count));
      Instance inner = instance(nested == Op::Within ? Op::Set : nested, inside(scope, factor), 0);
      const std::size_t a = below(factor.arguments.size());
      factor.arguments[a] = std::move(inner.sum);
      step.block = {std::move(inner.step)};
      plant(std::move(factor));
      step.positions.push_back(a);
      break;
    }
    case Op::Same: {
      Factor factor = one_in(2) ? maximum(scope, 0) : any_function(scope, 0);
      Sum& one = factor.arguments[0] = sum_of_reads(outer);
      const Sum other(one.rbegin(), one.rend());
      for (std::size_t left = one.size(); left > 0; --left) cancel(0, 2 * left - 1);
      plant(std::move(factor));
      others = {{{1, 1}, {}, {}, {apply("relu", {other})}}};
      if (one_in(2)) others[0].guards.push_back(guard(outer));
      step.positions.insert(step.positions.end(), {0, 1, 0, 0});
      break;
    }
    case Op::Zero:
      plant(one_in(2) ? maximum(scope, 0) : any_function(scope, 0));
      if (!one_in(4)) std::ranges::fill(host.factors.back().arguments, Sum());
      break;
    case Op::Idempotent: {
      const char* name = pick({"relu", "abs", "floor", "tanh", "step_up"});
      plant(apply(name, {to_sum(apply(name, {reads()}))}));
      break;
    }
    case Op::Commute:
      plant(apply(pick({"larger", "smaller", "equal", "less", "power", "first_larger"}), {reads(), reads(), reads()}));
      break;
    case Op::InstantiateMax: {
      Factor factor = maximum(scope, 0);
      for (Product& each : reads()) factor.arguments[0].push_back(std::move(each));
      if (one_in(2)) factor.arguments[0].push_back({{1, 1}, {guard(scope)}, {}, {read(scope)}});
      point(factor);
      plant(std::move(factor));
      break;
    }
    case Op::Cancel:
    case Op::CollectTerms:
      others = {host};
      std::ranges::shuffle(others[0].factors, random_);
      others[0].coefficient = op == Op::Cancel ? -host.coefficient : coefficient();
      step.positions = {0, 1};
      if (op == Op::Cancel && one_in(3)) {  // two parts of the range
        others.push_back(others[0]);
        others[0].guards.push_back(guard(scope));
        others[1].guards.push_back(complement(others[0].guards.back())[0]);
        step.positions.push_back(2);
      }
      break;
    case Op::Project: {
      step.targets_maximum = true;
      Factor factor = maximum(scope, 0);
      const Poly low = poly(inside(scope, factor));
      const Atom index = fresh();
      factor.bound.push_back(index);
      factor.guards.push_back({false, Poly(index) - low});
      factor.guards.push_back({false, low + number(-1, 2) - Poly(index)});
      step.images = {{index, low}};
      plant(std::move(factor));
      break;
    }
    case Op::CountRange: {
      step.atom = bind(host, scope);
      // Any two guards may be the range: the bounds may contain the index.
      const std::size_t guards = host.guards.size();
      const std::size_t low = one_in(3) ? below(guards) : guards - 2, high = one_in(3) ? below(guards) : guards - 1;
      step.polys = {Poly(*step.atom) - host.guards[low].poly, Poly(*step.atom) + host.guards[high].poly};
      break;
    }
    case Op::Expand:
      plant(integer(poly(scope) + poly(scope) * atom(scope)));
      break;
    case Op::CancelReciprocal:
      plant(integer(poly(scope)));
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
    case Op::Scale: {
      const char* name =
          pick({"relu", "abs", "recip", "less", "equal", "larger", "tanh", "smaller", "sqrt", "second_sqrt"});
      Factor factor = one_in(3) ? maximum(scope, 0) : apply(name, {});
      const Scope within = inside(scope, factor);
      const Factor exp = apply("exp", {sum_of_reads(one_in(4) ? within : scope)});
      const Factor common = one_in(3) ? inverse() : one_in(2) ? integer(poly(within)) : exp;
      for (Sum& argument : factor.arguments) {
        argument = multiply(sum(within, 0), to_sum(common));
        for (Product& each : argument) each.coefficient = each.coefficient * algebra::Rational{number(2, 3), 1};
      }
      plant(std::move(factor));
      break;
    }
    case Op::SplitExp:
      plant(exponential());
      step.positions.push_back(0);
      break;
    case Op::MergeExp:
      plant(apply("exp", {reads()}));
      host.factors.push_back(exponential());
      step.positions.push_back(host.factors.size() - 1);
      break;
    case Op::Monotone: {
      const char* name = pick({"relu", "tanh", "exp", "sigmoid", "floor", "abs", "step_up", "sqrt", "log", "decreasing",
                               "larger", "smaller", "less", "second_exp", "second_sqrt", "first_larger", "remainder"});
      const auto value = [&] { return to_sum(apply(name, {reads(), reads(), reads()})); };
      if (!one_in(3)) {
        Factor factor = maximum(scope, 0);
        const Sum varying = std::exchange(factor.arguments[0], value());
        factor.arguments[0][0].coefficient = coefficient();
        std::vector<Sum>& arguments = factor.arguments[0][0].factors[0].arguments;
        for (std::size_t i = one_in(6) ? 2 : 1; i > 0; --i) arguments[below(arguments.size())] = varying;
        point(factor);
        plant(std::move(factor));
      } else {
        plant(apply(pick({"larger", "smaller", "first_larger", "power", "less", "relu"}), {value(), value(), value()}));
      }
      break;
    }
    case Op::Flatten: {
      Factor factor = maximum(scope, 0);
      Factor inner = maximum(inside(scope, factor), 0);
      point(inner);
      factor.arguments = {to_sum(std::move(inner))};
      plant(std::move(factor));
      break;
    }
    case Op::Order: {
      const Sum s = to_sum(read(scope)), t = to_sum(read(scope)), minus = subtract({}, s), difference = subtract(s, t);
      const Sum minus_one = {{{-1, 1}, {}, {}, {}}}, whole = to_sum(integer(poly(scope)));
      const auto of = [&](const char* name, const Sum& a, const Sum& b = {}) { return to_sum(apply(name, {a, b})); };
      const auto identity =
          pick<std::vector<Sum>>({{of("relu", s), minus, subtract({}, of("relu", minus))},
                                  {of("larger", s, t), of("smaller", s, t), minus, subtract({}, t)},
                                  {of("abs", s), subtract({}, of("larger", s, minus))},
                                  {of("less", s, t), of("less", t, s), of("equal", s, t), minus_one},
                                  {of("less", s, t), subtract({}, of("less", difference))},
                                  {of("gated", s), minus, minus_one, of("equal", s)},
                                  {of("floor", subtract(s, whole)), whole, subtract({}, of("floor", s))},
                                  {of("remainder", of("remainder", s, t), t), subtract({}, of("remainder", s, t))},
                                  {of("half_inverse", s), of("half_inverse", minus)},
                                  {of("power", s, subtract({}, minus_one)), minus}});
      host.factors.clear();
      for (const Sum& part : identity) {
        for (const Product& each : part) others.push_back(multiply(host, each));
      }
      if (one_in(3)) others[below(others.size())].coefficient = coefficient();
      step.positions.clear();
      for (std::size_t i = 0; i < others.size(); ++i) step.positions.push_back(i);
      return {std::move(others), std::move(step)};
    }
    case Op::Parity:
      plant(apply(pick({"tanh", "abs", "cos", "recip", "erf", "sigmoid", "floor"}), {reads()}));
      break;
    case Op::CancelSum: {
      if (one_in(2)) host = {host.coefficient, {}, {}, {}}, scope = outer;
      const Product rest = (one_in(3) ? reads() : positive(one_in(3) ? scope : outer))[0];
      const algebra::Rational scale = std::exchange(host.coefficient, {1, 1});
      host = multiply(host, {{1, 1}, rest.guards, rest.bound, rest.factors});
      const Product divisor = renamed(host);
      host.coefficient = scale;
      Step map;
      map.op = Op::Map;
      map.positions = {0};
      for (std::size_t i = 0; i < host.bound.size(); ++i) {
        map.images.emplace_back(host.bound[i], Poly(divisor.bound[i]));
        map.inverse.emplace_back(divisor.bound[i], Poly(host.bound[i]));
      }
      if (!host.bound.empty()) step.block = {std::move(map)};
      cancel(0, 1);
      plant(apply(one_in(8) ? "second_inverse" : "recip", {{divisor}, reads()}));
      break;
    }
    case Op::Logarithm: {
      Product of{one_in(6) ? coefficient() : algebra::Rational{number(1, 3), number(1, 2)}, {}, {}, {}};
      Factor top = maximum(scope, 0);
      top.arguments[0] = positive(inside(scope, top));
      const Sum relu = to_sum(apply("relu", {reads()}));
      for (std::size_t i = 1 + below(2); i > 0; --i)
        of.factors.push_back(pick({apply("recip", {positive(scope)}), inverse(), exponential(), exponential(), top,
                                   apply(pick({"half_inverse", "recip"}), {relu}), any_function(scope, 0),
                                   apply("second_inverse", {positive(scope), positive(scope)})}));
      plant(apply(one_in(8) ? "second_log" : "log", {{of}, {of}}));
      break;
    }
    case Op::Root: {
      const Sum s = sum_of_reads(outer);
      plant(apply(one_in(8) ? "second_sqrt" : "sqrt", {multiply(s, s), s}));
      others = {{{1, 1}, {}, {}, {one_in(8) ? apply("second_abs", {s, reads()}) : apply("abs", {s})}}};
      step.positions.insert(step.positions.end(), {1, 0});
      for (std::size_t left = s.size() * s.size(); left > 0; --left) cancel(0, left);
      break;
    }
    case Op::RootOfExp: {
      const Sum exp = to_sum(exponential());
      plant(one_in(2) ? apply("sqrt", {exp}) : apply("power", {exp, sum(scope, 0)}));
      break;
    }
    case Op::LogScale: {
      const Sum of = multiply(positive(scope), to_sum(exponential()));
      plant(apply(one_in(8) ? "second_log" : "log", {of, of}));
      step.positions.push_back(of[0].factors.size() - 1);
      break;
    }
    case Op::Compare: {
      const char* name = pick({"exp", "tanh", "erf", "second_exp", "cos", "relu", "sigmoid"});
      const Sum s = to_sum(apply(name, {reads(), reads()})), t = to_sum(apply(name, {reads(), reads()}));
      plant(apply(pick({"less", "equal", "first_less"}), {s, t, t}));
      break;
    }
    case Op::Shift: {
      Sum s = reads(), t = reads();
      s.push_back({coefficient(), {}, {}, {read(scope)}});
      t.push_back(s.back());
      plant(apply(pick({"less", "equal", "larger", "smaller", "first_less"}), {s, t, t}));
      step.positions.insert(step.positions.end(), {s.size() - 1, t.size() - 1});
      break;
    }
    case Op::DivideMax: {
      Factor factor = maximum(scope, 0);
      step.guard = Guard{false, poly(inside(scope, factor))};
      point(factor);
      point(factor);
      plant(std::move(factor));
      break;
    }
    case Op::Unfold:
      plant(any_function(scope, 0));
      for (Sum& argument : host.factors.back().arguments) argument = one_in(2) ? positive(scope) : argument;
      break;
  }
  others.insert(others.begin(), std::move(host));
  for (Product& each : sum(outer, depth)) others.push_back(std::move(each));
  return {std::move(others), std::move(step)};
}

}  // namespace rulemill::check
