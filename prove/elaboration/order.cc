// Cancels products by the step Order, sums with their reciprocals, and replaces logarithms, square roots and other
// functions by their formulas.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "algebra/properties/exact_value.h"
#include "algebra/sizes/checked.h"
#include "check/kernel/kernel.h"
#include "check/kernel/statement.h"
#include "prove/elaboration/elaborator.h"
#include "prove/solver/models.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Function;
using Kind = check::Factor::Kind;

namespace {

/// Whether instruction i of the program is an operation of piecewise functions.
bool is_piecewise(const Function& function, std::size_t i) {
  using enum Function::Op;
  const auto is_number = [](const Function::Instruction& node) { return node.op == Number && node.exact; };
  const Function::Instruction& node = function.program[i];
  if (node.op == Div) return is_number(function.program.at(i - 1)) && function.program[i - 1].exact->num != 0;
  constexpr Function::Op others[] = {Argument, Add, Sub, Mul, Max, Min, Abs, Less, Equal, Gate};
  return is_number(node) || std::ranges::count(others, node.op) > 0;
}

/// Whether the formula consists of numbers, arguments, + − ·, quotients by numbers, max, min, abs and comparisons.
bool is_piecewise(const Function& function) {
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    if (!is_piecewise(function, i)) return false;
  }
  return true;
}

/// True for 1/t.
bool is_reciprocal(const Function& function) {
  const auto& program = function.program;
  return function.arity == 1 && program.size() == 3 && program[0].exact == Rational{1, 1} &&
         program[1].op == Function::Op::Argument && program[2].op == Function::Op::Div;
}

/// True for piecewise functions and for those with floor, powers and other quotients, except 1/t.
bool is_evaluated_by_cases(const Function& function) {
  using enum Function::Op;
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    const Function::Op op = function.program[i].op;
    if (op != Div && op != Floor && op != Power && !is_piecewise(function, i)) return false;
  }
  return !is_reciprocal(function);
}

class RandomPoint {
 public:
  RandomPoint(const check::Statement& statement, std::uint64_t seed) : statement_(statement), random_(seed) {}

  /// The value of the sum; nothing if it is not known exactly. Throws Overflow beyond 64 bits.
  std::optional<algebra::Rational> value(const check::Sum& sum);
  /// Whether the guards hold, as far as their integers have values already.
  bool satisfies(const check::Guards& guards) const;

 private:
  std::optional<algebra::Rational> value(const check::Factor& factor);
  algebra::Rational drawn(const check::Sum& product, const check::Factor* factor);
  std::int64_t value(const check::Poly& poly);

  const check::Statement& statement_;
  std::mt19937_64 random_;
  std::map<check::Sum, algebra::Rational> products_;  // by their canonical form
  std::map<check::Atom, std::int64_t> integers_;
};

std::optional<Rational> RandomPoint::value(const check::Sum& sum) {
  Rational total{0, 1};
  for (check::Product product : sum) {
    Rational value{1, 1};
    std::swap(value, product.coefficient);
    if (!product.guards.empty() || !product.bound.empty()) {
      value = value * drawn({product}, nullptr);
    } else {
      for (const check::Factor& factor : product.factors) {
        const std::optional<Rational> part = this->value(factor);
        if (!part) return std::nullopt;
        value = value * *part;
      }
    }
    total = total + value;
  }
  return total;
}

std::optional<Rational> RandomPoint::value(const check::Factor& factor) {
  if (factor.kind == Kind::Integer) return Rational{value(factor.index.at(0)), 1};
  if (factor.kind != Kind::Apply) return drawn(check::to_sum(factor), &factor);
  // The step Order evaluates the same functions (check/kernel/order.cc).
  const algebra::Function& function = statement_.function(factor.symbol);
  if (!is_evaluated_by_cases(function) && !is_reciprocal(function)) return drawn(check::to_sum(factor), &factor);
  std::vector<Rational> arguments;
  for (const check::Sum& argument : factor.arguments) {
    const std::optional<Rational> part = value(argument);
    if (!part) return std::nullopt;
    arguments.push_back(*part);
  }
  return algebra::evaluate_exactly(function, arguments);
}

/// The same value for equal products, with a sign that the factor may have.
Rational RandomPoint::drawn(const check::Sum& product, const check::Factor* factor) {
  static constexpr std::array<Rational, 14> numbers = {{{0, 1},
                                                        {1, 1},
                                                        {-1, 1},
                                                        {1, 2},
                                                        {-1, 2},
                                                        {2, 1},
                                                        {-3, 1},
                                                        {5, 2},
                                                        {-7, 2},
                                                        {4, 1},
                                                        {259, 2},
                                                        {-261, 2},
                                                        {7, 1},
                                                        {-600, 1}}};
  const auto [known, is_new] = products_.try_emplace(check::canonical(product, statement_.atoms()));
  if (!is_new) return known->second;
  const algebra::Signs signs = factor ? check::SignAnalysis{statement_}.range(*factor, {}).signs : algebra::Signs{};
  if (!signs.negative && !signs.positive) return known->second = {0, 1};
  constexpr int max_draws = 40;
  for (int i = 0; i < max_draws; ++i) {
    known->second = numbers[random_() % numbers.size()];
    const std::int64_t sign = known->second.num;
    if (sign < 0 ? signs.negative : sign == 0 ? signs.zero : signs.positive) break;
  }
  return known->second;
}

std::int64_t RandomPoint::value(const check::Poly& poly) {
  const check::Atoms& atoms = statement_.atoms();
  return evaluate(poly, atoms, [&](check::Atom atom) {
    constexpr std::uint64_t width = 5;
    const std::int64_t first = atoms.kind(atom) == check::Atoms::Kind::Size ? 1 : 0;
    return integers_.try_emplace(atom, first + static_cast<std::int64_t>(random_() % width)).first->second;
  });
}

bool RandomPoint::satisfies(const check::Guards& guards) const {
  const check::Atoms& atoms = statement_.atoms();
  return std::ranges::all_of(guards, [&](const check::Guard& guard) {
    std::set<check::Atom> all;
    atoms.collect(guard.poly, all);
    const auto is_known = [&](check::Atom atom) { return atoms.is_compound(atom) || integers_.contains(atom); };
    if (!std::ranges::all_of(all, is_known)) return true;
    const std::int64_t value = evaluate(guard.poly, atoms, [&](check::Atom atom) { return integers_.at(atom); });
    return guard.equality ? value == 0 : value >= 0;
  });
}

std::pair<std::set<Atom>, check::Guards> range_of(const check::Product& product) {
  check::Guards guards = product.guards;
  std::ranges::sort(guards);
  return {std::set<Atom>(product.bound.begin(), product.bound.end()), std::move(guards)};
}

}  // namespace

bool Elaborator::apply_order(State state) {
  const auto by_cases = [&](const check::Product& product) {
    return std::ranges::any_of(product.factors, [&](const check::Factor& factor) {
      return factor.kind == Kind::Apply && is_evaluated_by_cases(statement_.function(factor.symbol));
    });
  };
  const auto try_order = [&](check::Sum& of, const std::vector<std::size_t>& members, Steps& to) {
    check::Sum products;
    for (const std::size_t p : members) products.push_back({of[p].coefficient, {}, {}, of[p].factors});
    auto cases = find_cases(products, check::within(state.context, of[members[0]]).given);
    if (!cases) return false;
    Step order = steps::make(Op::Order, members);
    order.name = std::move(*cases);
    return try_step({of, state.context, to}, std::move(order));
  };
  std::vector<bool> seen(state.sum.size(), false);
  for (std::size_t first = 0; first < state.sum.size(); ++first) {
    if (seen[first]) continue;
    std::vector<std::size_t> members, others;
    bool any = false;
    for (std::size_t p = first; p < state.sum.size(); ++p) {
      if (range_of(state.sum[p]) != range_of(state.sum[first])) {
        if (state.sum[p].bound.size() == state.sum[first].bound.size() && !state.sum[p].bound.empty())
          others.push_back(p);
        continue;
      }
      seen[p] = true;
      members.push_back(p);
      any = any || by_cases(state.sum[p]);
    }
    if (any && try_order(state.sum, members, state.steps)) return true;
    Attempt renamed{state.sum, {}};
    const std::size_t before = members.size();
    for (const std::size_t p : others) {
      if ((any || by_cases(state.sum[p])) && rename_bound(renamed, p, first, state.context)) members.push_back(p);
    }
    if (members.size() == before || !try_order(renamed.sum, members, renamed.steps)) continue;
    commit(std::move(renamed), state);
    return true;
  }
  return false;
}

namespace {

/// Whether the sum is not 0 at one of a few random points where the guards hold.
bool differs_from_zero(const check::Sum& sum, const check::Guards& given, const check::Statement& statement) {
  constexpr std::uint64_t max_points = 40;
  for (std::uint64_t seed = 1; seed <= max_points; ++seed) {
    try {
      RandomPoint point(statement, seed);
      const std::optional<Rational> value = point.value(sum);
      if (value && value->num != 0 && point.satisfies(given)) return true;
    } catch (const runtime::Error&) {  // a division by zero, or a number beyond 64 bits
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> Elaborator::find_cases(const check::Sum& products, const check::Guards& given) {
  constexpr std::size_t max_cases = 400;
  constexpr unsigned max_solver_steps = 200'000;  // of Z3, for a case
  if (differs_from_zero(products, given, statement_)) return std::nullopt;
  std::string cases;
  std::set<std::string> shown;
  const auto is_shown = [&](const std::string& script, unsigned limit) {
    return shown.contains(script) || (z3_.answer(script, limit) == "unsat" && shown.insert(script).second);
  };
  Z3Session solver;  // most cases exist, which no script of the proof says
  const auto decide = [&](const std::function<std::string()>& contradiction) {
    if (cases.size() >= max_cases) throw check::CheckError{"too many cases"};
    budget_.spend(100'000);
    const std::string script = contradiction();
    const bool exists = solver.answer(script, max_solver_steps, Z3Session::Context::Shared) != "unsat";
    return cases += !exists && is_shown(script, max_solver_steps) ? 'x' : 's', cases.back();
  };
  const auto show = [&](const std::string& script) {
    if (!is_shown(script, 10 * max_solver_steps)) throw check::CheckError{"not 0 in a case"};
  };
  try {
    check::evaluate_in_cases(products, given, statement_, decide, show);
  } catch (const check::CheckError&) {
    return std::nullopt;
  } catch (const algebra::Overflow&) {
    return std::nullopt;
  }
  return cases;
}

bool Elaborator::rename_bound(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context) {
  Attempt trial = attempt;
  const std::vector<Atom> own = attempt.sum[p].bound, wanted = attempt.sum[onto].bound;
  Step map = steps::make(Op::Reindex, {p});
  for (std::size_t i = 0; i < own.size(); ++i) {
    map.images.emplace_back(own[i], Poly(wanted[i]));
    map.inverse.emplace_back(wanted[i], Poly(own[i]));
  }
  if (!try_step(trial.in(context), std::move(map))) return false;
  if (range_of(trial.sum[p]) != range_of(trial.sum[onto])) return false;
  attempt = std::move(trial);
  return true;
}

/// Cancels factors with their reciprocal, whose sign is known.
bool Elaborator::cancel_reciprocal(State state, std::size_t p, std::size_t f) {
  const check::Factor divisor = state.sum[p].factors[f];
  const algebra::Function& function = statement_.function(divisor.symbol);
  if (!is_reciprocal(function) || divisor.arguments[0].size() != 1) return false;
  const check::Product& wanted = divisor.arguments[0][0];
  if (wanted.factors.empty() || !wanted.bound.empty() || !wanted.guards.empty()) return false;
  steps::Positions all = {p, f};
  for (const check::Factor& each : wanted.factors) {
    const auto is_free = [&](std::size_t g) { return std::ranges::find(all.begin() + 1, all.end(), g) == all.end(); };
    std::size_t g = 0;
    while (g < state.sum[p].factors.size() && !(state.sum[p].factors[g] == each && is_free(g))) ++g;
    if (g == state.sum[p].factors.size()) return false;
    all.push_back(g);
  }
  return try_law_step(state, steps::law(function.name + ".cancel", all, {{}, divisor.arguments[0]}));
}

/// Cancels a product with the reciprocal of its other factors, if these are shown to be the divisor.
bool Elaborator::cancel_sum(State state, std::size_t p, std::size_t f) {
  const check::Factor divisor = state.sum[p].factors[f];
  if (depth_ == max_depth || divisor.arguments.size() != 1 || divisor.arguments[0].size() != 1) return false;
  if (!is_reciprocal(statement_.function(divisor.symbol))) return false;
  check::Product rest = state.sum[p];
  rest.coefficient = {1, 1};
  check::erase_at(rest.factors, f);
  const auto heads = [](const check::Product& product) {
    std::multiset<std::pair<Kind, std::uint32_t>> result;
    for (const check::Factor& factor : product.factors) result.emplace(factor.kind, factor.symbol);
    return result;
  };
  if (heads(rest) != heads(divisor.arguments[0][0])) return false;
  check::Images names;
  check::Product renamed = rest;  // the divisor is in the scope of the product's indices
  for (Atom& atom : renamed.bound) names[atom] = Poly(atoms_.fresh_bound()), atom = *names[atom].atom();
  check::for_each_poly(renamed, [&](Poly& poly) { poly = atoms_.substitute(poly, names); });
  Attempt attempt{state.sum, {}};
  if (check::canonical(divisor.arguments[0], atoms_) != check::canonical({rest}, atoms_)) {
    Step same = steps::nested(Op::Replace, {p, f, 0});
    same.sums = {{renamed}};
    check::Sum difference = check::subtract(divisor.arguments[0], {renamed});
    ++depth_;
    const bool is_equal =
        rewrite_to_zero({difference, check::argument_context(state.context, state.sum[p], divisor), same.blocks[0]});
    --depth_;
    if (!is_equal || !try_step(attempt.in(state.context), std::move(same))) return false;
  }
  steps::Positions all = {p};
  for (std::size_t each = 0; each < state.sum[p].factors.size(); ++each) all.push_back(each);
  const std::string name = statement_.function(divisor.symbol).name;
  if (!try_law_step(attempt.in(state.context), steps::law(name + ".cancel", all, {{}, {rest}}))) return false;
  commit(std::move(attempt), state);
  return true;
}

bool Elaborator::take_power_out(State state, std::size_t p, std::size_t f) {
  const algebra::LawEquation* law = law_of(state.sum[p].factors[f], "power");
  if (!law || state.sum[p].factors[f].arguments[0].empty()) return false;
  Attempt attempt{state.sum, {}};
  split_common_exponents(attempt.in(state.context), p, f);
  if (!try_law(attempt.in(state.context), p, f, *law)) return false;
  commit(std::move(attempt), state);
  return true;
}

bool Elaborator::take_root(State state, std::size_t p, std::size_t f) {
  const check::Factor root = state.sum[p].factors[f];
  const algebra::LawEquation* law = law_of(root, "square");
  if (depth_ == max_depth || !law) return false;
  for (const check::Product& product : state.sum) {
    for (const check::Factor& other : product.factors) {
      if (other.kind != Kind::Apply || !algebra::applies_only(statement_.function(other.symbol), Function::Op::Abs))
        continue;
      const check::Sum& value = other.arguments[0];
      if (std::ranges::any_of(value, [](const check::Product& part) { return !part.bound.empty(); })) continue;
      const check::Sum square = check::multiply(value, value);
      check::Sum difference = check::subtract(root.arguments[0], square);
      Attempt attempt{state.sum, {}};
      Step replaced = steps::nested(Op::Replace, {p, f, 0});
      replaced.sums = {square};
      ++depth_;
      const bool is_square =
          rewrite_to_zero({difference, check::argument_context(state.context, state.sum[p], root), replaced.blocks[0]});
      --depth_;
      if (!is_square || !try_step(attempt.in(state.context), std::move(replaced))) continue;
      if (!try_step(attempt.in(state.context), steps::law(law->name, {p, f}, {{}, value}))) continue;
      commit(std::move(attempt), state);
      return true;
    }
  }
  return false;
}

/// Replaces a function that no case analysis evaluates by its formula.
bool Elaborator::unfold(State state, std::size_t p, std::size_t f) {
  const algebra::LawEquation* formula = law_of(state.sum[p].factors[f], "formula");
  if (!formula || is_piecewise(statement_.function(state.sum[p].factors[f].symbol))) return false;
  if (!try_law(state, p, f, *formula)) return false;
  simplify(state);
  return true;
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
