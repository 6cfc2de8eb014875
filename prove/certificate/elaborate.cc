#include "prove/certificate/elaborate.h"

#include <algorithm>
#include <set>

#include "prove/certificate/bridge.h"
#include "prove/certificate/oracle.h"
#include "prove/solver/budget.h"
#include "runtime/error.h"

namespace rulemill::prove {

using check::Atoms;
using check::Objection;
using check::Statement;
using check::Step;
using Context = check::Kernel::Context;
using Op = Step::Op;
using Steps = std::vector<Step>;

namespace {

/// Throws this when a proof becomes longer than any that is worth having.
struct TooLong {};

class Elaborator {
 public:
  Elaborator(Statement& statement, const std::vector<SizesByName>& samples, const AlignLimits& align,
             const ElaborationLimits& limits, bool believing)
      : statement_(statement),
        atoms_(statement.atoms()),
        align_(align),
        limits_(limits),
        budget_(limits.work),
        bridge_(atoms_, budget_),
        oracle_(atoms_, bridge_, in_symbols(samples), believing) {
    for (const algebra::Function& function : statement.bank().library().functions())
      commutative_.push_back(function.commutative);
  }

  Elaboration run() {
    check::Proof proof;
    try {
      for (std::size_t o = 0; o < statement_.outputs(); ++o) {
        check::Sum sum = statement_.difference(o);
        check::OutputProof& output = proof.outputs.emplace_back();
        for (const check::Product& product : sum) output.normal_form.push_back(statement_.text(product));
        Context context{statement_.facts(), {}};
        for (check::Guard& guard : statement_.ranges(o)) context.given.push_back(std::move(guard));
        if (!zero(sum, context, output.steps)) return {{}, "nothing cancels " + statement_.text(sum.at(0))};
      }
      if (auto owed = typing(proof)) return {{}, *owed};
    } catch (const TooLong&) {
      return {{}, "the proof would be longer than " + std::to_string(limits_.steps) + " steps"};
    } catch (const LimitReached& limit) {
      return {{}, limit.what};
    } catch (const Objection& objection) {
      return {{}, objection.what};
    }
    return {std::move(proof), {}};
  }

 private:
  static constexpr int deepest = 12;
  static constexpr std::size_t most_ways = 6;  // to align two products, if the first does not make them cancel

  std::vector<Models::Values> in_symbols(const std::vector<SizesByName>& samples) {
    std::vector<Models::Values> result;
    for (const SizesByName& sizes : samples) {
      Models::Values& values = result.emplace_back();
      for (const auto& [name, value] : sizes) values[bridge_.symbols().size(name)] = value;
    }
    return result;
  }

  /// Lemmas for what the types and divisors owe.
  std::optional<std::string> typing(check::Proof& proof) {
    check::Guards goals = statement_.duties();
    for (const Poly& divisor : atoms_.divisors()) {
      if (!atoms_.nonnegative(divisor - 1)) goals.push_back({false, divisor - 1});
    }
    for (const check::Guard& goal : goals) {
      const check::Obligation obligation{"typing", statement_.facts(), goal, {}, {}};
      if (check::is_plain(obligation)) continue;
      const auto times = oracle_.shown(obligation);
      if (!times) return "typing it needs more than its condition says: " + atoms_.text(goal);
      for (const check::Times& lemma : *times) {
        if (std::ranges::find(proof.times, lemma) == proof.times.end()) proof.times.push_back(lemma);
      }
    }
    return std::nullopt;
  }

  /// Takes the step if the checker would let it pass.
  bool take(check::Sum& sum, const Context& context, Step step, Steps& steps) {
    if (++taken_ > 20 * limits_.steps || steps.size() > limits_.steps) throw TooLong{};
    const bool proved_before = step.op == Op::Within || step.op == Op::Same;
    bool granted = true;
    check::Kernel kernel(statement_, [&](const check::Obligation& obligation) {
      if (proved_before || !granted) return;
      const auto times = oracle_.shown(obligation);
      granted = times.has_value();
      if (!granted) throw Objection{"not shown"};
      for (const check::Times& lemma : *times) {
        if (std::ranges::find(step.times, lemma) == step.times.end()) step.times.push_back(lemma);
      }
    });
    check::Sum result = sum;
    try {
      kernel.apply(result, context, step);
    } catch (const Objection&) {
      return false;
    }
    sum = std::move(result);
    steps.push_back(std::move(step));
    return true;
  }

  static Step step(Op op, std::vector<std::size_t> at, bool of_maximum = false) {
    Step result;
    result.op = op;
    result.at = std::move(at);
    result.of_maximum = of_maximum;
    return result;
  }

  bool shown(const check::Guards& given, std::optional<check::Guard> goal) {
    const check::Obligation obligation{"", given, std::move(goal), {}, {}};
    return check::is_plain(obligation) || oracle_.shown(obligation).has_value();
  }

  static check::Guards joined(check::Guards a, const check::Guards& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  bool zero(check::Sum& sum, const Context& context, Steps& steps) {
    simplify(sum, context, steps);
    while (!sum.empty()) {
      if (!cancel(sum, context, steps) && !split(sum, context, steps)) return false;
    }
    return true;
  }

  void simplify(check::Sum& sum, const Context& context, Steps& steps, std::size_t from = 0) {
    for (std::size_t p = from; p < sum.size();) {
      if (simplify_product(sum, p, context, steps)) ++p;
    }
  }

  /// False if the product is gone: dropped, or opened into others at the end.
  bool simplify_product(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
    do {
      while (eliminate(sum, p, std::nullopt, context, steps)) {
      }
      if (vanishes(sum[p], context) && take(sum, context, step(Op::Drop, {p}), steps)) return false;
    } while (fix_division(sum, p, context, steps));
    for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
      switch (simplify_factor(sum, p, f, context, steps)) {
        case Change::Gone:
          return false;
        case Change::Some:
          --f;
          break;
        case Change::None:
          break;
      }
    }
    return true;
  }

  bool vanishes(const check::Product& product, const Context& context) {
    return !product.guards.empty() && shown(joined(context.given, product.guards), std::nullopt);
  }

  /// Equations that stand among guards: as such, or as two inequalities.
  static std::vector<Poly> equations(const check::Guards& own, const check::Guards& given) {
    std::vector<Poly> result;
    for (const check::Guard& a : own) {
      if (a.equality) {
        result.push_back(a.poly);
        continue;
      }
      for (const check::Guards* list : {&own, &given}) {
        for (const check::Guard& b : *list) {
          if (!b.equality && (a.poly + b.poly).is_zero()) result.push_back(a.poly);
        }
      }
    }
    return result;
  }

  /// A bound index, or one of the output, that an equation gives.
  bool eliminate(check::Sum& sum, std::size_t p, std::optional<std::size_t> maximum, const Context& context,
                 Steps& steps) {
    const check::Product& product = sum[p];
    const check::Factor* factor = maximum ? &product.factors[*maximum] : nullptr;
    const check::Guards& own = factor ? factor->guards : product.guards;
    const std::vector<Atom>& bound = factor ? factor->bound : product.bound;
    const auto attempt = [&](Atom atom, const Poly& equation) {
      const std::int64_t c = equation.coefficient(atom);
      if (c != 1 && c != -1) return false;
      const Poly rest = equation - Poly(atom) * Poly(c);
      if (atoms_.occurs(rest, atom)) return false;
      Step set = step(Op::Set, maximum ? std::vector<std::size_t>{p, *maximum} : std::vector<std::size_t>{p},
                      maximum.has_value());
      set.atom = atom;
      set.polys.push_back(c == 1 ? -rest : rest);
      return take(sum, context, std::move(set), steps);
    };
    for (const Poly& equation : equations(own, context.given)) {
      for (const Atom atom : std::vector<Atom>(bound)) {
        if (attempt(atom, equation)) return true;
      }
    }
    if (factor) return false;
    for (const Poly& equation : equations(own, context.given)) {
      std::set<Atom> all;
      atoms_.collect(equation, all);
      for (auto atom = all.rbegin(); atom != all.rend(); ++atom) {
        const std::int64_t c = atoms_.kind(*atom) == Atoms::Kind::Output ? equation.coefficient(*atom) : 0;
        if (c != 1 && c != -1) continue;
        if (used_elsewhere(product, *atom, equation) && attempt(*atom, equation)) return true;
        break;  // the equation is kept as what gives this index
      }
    }
    return false;
  }

  bool used_elsewhere(check::Product product, Atom atom, const Poly& equation) {
    bool used = false;
    check::for_each_poly(
        product, [&](Poly& poly) { used |= poly != equation && poly != -equation && atoms_.occurs(poly, atom); });
    return used;
  }

  /// A quotient with an index above that can have one value alone.
  bool fix_division(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
    std::set<Atom> all;
    check::Product product = sum[p];
    for (check::Factor& factor : product.factors) {
      check::for_each_poly(factor, [&](Poly& poly) { atoms_.collect(poly, all); });
    }
    for (const Atom atom : all) {
      if (atoms_.kind(atom) != Atoms::Kind::Quotient) continue;
      std::set<Atom> above;
      atoms_.collect(atoms_.left(atom), above);
      const auto is_index = [&](Atom a) {
        return atoms_.kind(a) == Atoms::Kind::Output || atoms_.kind(a) == Atoms::Kind::Bound;
      };
      if (std::ranges::none_of(above, is_index)) continue;
      const check::Guards given = joined(context.given, product.guards);
      const auto value = oracle_.only_value(given, Poly(atom));
      if (!value) continue;
      Step set = step(Op::Set, {p});
      set.atom = atom;
      set.polys.emplace_back(*value);
      if (take(sum, context, std::move(set), steps)) return true;
    }
    return false;
  }

  enum class Change { None, Some, Gone };

  Change simplify_factor(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
    using Kind = check::Factor::Kind;
    const auto factor = [&]() -> const check::Factor& { return sum[p].factors[f]; };
    if (factor().kind != Kind::Apply && factor().kind != Kind::Max) return Change::None;
    if (factor().kind == Kind::Max) {
      if (eliminate(sum, p, f, context, steps)) return Change::Some;
      if (factor().bound.empty() && take(sum, context, step(Op::Open, {p, f}), steps)) return Change::Gone;
    }
    const bool lawful = factor().kind == Kind::Max || statement_.function(factor().symbol).maps_zero_to_zero;
    if (lawful && drop_arguments(sum, p, f, context, steps) && take(sum, context, step(Op::Zero, {p, f}), steps))
      return Change::Gone;
    if (factor().kind == Kind::Apply) {
      return statement_.function(factor().symbol).idempotent && unwrap(sum, p, f, context, steps) ? Change::Some
                                                                                                  : Change::None;
    }
    return open_constant(sum, p, f, context, steps) ? Change::Gone : Change::None;
  }

  /// Empties all arguments if every product in them vanishes where it stands.
  bool drop_arguments(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
    const check::Product& product = sum[p];
    const check::Factor& factor = product.factors[f];
    check::Kernel kernel(statement_, {});
    const Context inner = kernel.inside(context, product, factor);
    for (const check::Sum& argument : factor.arguments) {
      for (const check::Product& part : argument) {
        if (!vanishes(part, inner)) return false;
      }
    }
    const std::size_t count = factor.arguments.size();
    for (std::size_t a = 0; a < count; ++a) {
      Step within = step(Op::Within, {p, f, a});
      check::Sum argument = sum[p].factors[f].arguments[a];
      while (!argument.empty()) {
        if (!take(argument, inner, step(Op::Drop, {0}), within.block)) return false;
      }
      if (!within.block.empty() && !take(sum, context, std::move(within), steps)) return false;
    }
    return true;
  }

  /// Simplifies what an argument's products are, and forgets their guards where they say nothing new.
  bool bare_argument(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
    check::Kernel kernel(statement_, {});
    const Context inner = kernel.inside(context, sum[p], sum[p].factors[f]);
    Step within = step(Op::Within, {p, f, 0});
    check::Sum argument = sum[p].factors[f].arguments.at(0);
    simplify(argument, inner, within.block);
    for (std::size_t q = 0; q < argument.size(); ++q) {
      for (std::size_t g = argument[q].guards.size(); g-- > 0;)
        take(argument, inner, step(Op::Forget, {q, g}), within.block);
    }
    return !within.block.empty() && take(sum, context, std::move(within), steps);
  }

  bool simplify_arguments(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
    bool changed = false;
    for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
      check::Kernel kernel(statement_, {});
      const Context inner = kernel.inside(context, sum[p], sum[p].factors[f]);
      for (std::size_t a = 0; a < sum[p].factors[f].arguments.size(); ++a) {
        Step within = step(Op::Within, {p, f, a});
        check::Sum argument = sum[p].factors[f].arguments[a];
        simplify(argument, inner, within.block);
        if (!within.block.empty()) changed |= take(sum, context, std::move(within), steps);
      }
    }
    return changed;
  }

  bool unwrap(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
    const check::Factor& factor = sum[p].factors[f];
    if (factor.arguments[0].empty()) return false;
    const bool itself = std::ranges::any_of(factor.arguments[0], [&](const check::Product& part) {
      return part.factors.size() == 1 && part.factors[0].kind == check::Factor::Kind::Apply &&
             part.factors[0].symbol == factor.symbol;
    });
    if (!itself) return false;
    check::Sum changed = sum;
    Steps more;
    bare_argument(changed, p, f, context, more);
    if (!take(changed, context, step(Op::Unwrap, {p, f}), more)) return false;
    sum = std::move(changed);
    steps.insert(steps.end(), more.begin(), more.end());
    return true;
  }

  /// The maximum of what does not vary, at a point where all its indices are the same small number.
  bool open_constant(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
    const check::Factor factor = sum[p].factors[f];
    bool varies = false;
    check::Kernel kernel(statement_, {});
    const Context inside = kernel.inside(context, sum[p], factor);
    for (const check::Product& part : factor.arguments.at(0)) {
      bool here = false;
      for (check::Factor inner : part.factors) {
        check::for_each_poly(inner, [&](Poly& poly) {
          for (const Atom atom : factor.bound) here |= atoms_.occurs(poly, atom);
        });
      }
      varies |= here && !vanishes(part, inside);
    }
    if (varies) return false;
    check::Sum changed = sum;
    Steps more;
    bare_argument(changed, p, f, context, more);
    for (std::int64_t point = 0; point <= 3; ++point) {
      Step open = step(Op::Open, {p, f});
      open.polys.assign(factor.bound.size(), Poly(point));
      if (!take(changed, context, std::move(open), more)) continue;
      sum = std::move(changed);
      steps.insert(steps.end(), more.begin(), more.end());
      return true;
    }
    return false;
  }

  // Alignment and cancellation.

  struct Attempt {
    check::Sum sum;
    Steps steps;
  };

  void accept(Attempt attempt, check::Sum& sum, Steps& steps) {
    sum = std::move(attempt.sum);
    steps.insert(steps.end(), std::make_move_iterator(attempt.steps.begin()),
                 std::make_move_iterator(attempt.steps.end()));
  }

  bool cancel(check::Sum& sum, const Context& context, Steps& steps) {
    for (std::size_t onto = 0; onto < sum.size(); ++onto) {
      Attempt group{sum, {}};
      std::vector<std::size_t> members = {onto};
      for (std::size_t p = 0; p < sum.size(); ++p) {
        if (p == onto) continue;
        auto aligned = alignments(group, p, onto, context, 1);
        if (aligned.empty()) continue;
        group = std::move(aligned[0]);
        members.push_back(p);
      }
      if (members.size() > 1 && take(group.sum, context, step(Op::Cancel, members), group.steps)) {
        accept(std::move(group), sum, steps);
        return true;
      }
      if (cancel_pair(sum, onto, context, steps)) return true;
    }
    return false;
  }

  bool cancel_pair(check::Sum& sum, std::size_t onto, const Context& context, Steps& steps) {
    for (std::size_t p = onto + 1; p < sum.size(); ++p) {
      if (sum[p].coefficient + sum[onto].coefficient != Rational{0, 1}) continue;
      for (Attempt& pair : alignments({sum, {}}, p, onto, context, most_ways)) {
        if (!take(pair.sum, context, step(Op::Cancel, {onto, p}), pair.steps)) continue;
        accept(std::move(pair), sum, steps);
        return true;
      }
    }
    return false;
  }

  /// Ways to give product p the bound indices and factors of `onto`.
  std::vector<Attempt> alignments(const Attempt& from, std::size_t p, std::size_t onto, const Context& context,
                                  std::size_t most) {
    std::vector<Attempt> result;
    Product product = bridge_.there(from.sum[p]);
    const Product model = bridge_.there(from.sum[onto]);
    if (!comparable(product, model)) return result;
    bridge_.rename(product);
    for (const std::vector<FactorPair>& pairs : pairings(product.factors, model.factors, align_.maps)) {
      for (const Substitution& map :
           candidate_maps(product, model, pairs, commutative_, bridge_.symbols(), align_, budget_)) {
        Attempt attempt = from;
        if (!product.bound.empty() &&
            !take_map(attempt, {p}, map, from.sum[p].bound, product.bound, from.sum[onto].bound, context))
          continue;
        const bool same = std::ranges::all_of(pairs, [&](const FactorPair& pair) {
          const auto f = static_cast<std::size_t>(pair.first - product.factors.data());
          const auto g = static_cast<std::size_t>(pair.second - model.factors.data());
          return equate(attempt, p, f, onto, g, context);
        });
        if (!same) continue;
        result.push_back(std::move(attempt));
        if (result.size() >= most) return result;
      }
    }
    return result;
  }

  bool take_map(Attempt& attempt, std::vector<std::size_t> at, const Substitution& map, const std::vector<Atom>& old,
                const std::vector<Atom>& fresh, const std::vector<Atom>& onto, const Context& context) {
    std::optional<Step> found;
    try {
      found = bridge_.map_step(map, old, fresh, onto);
    } catch (const runtime::Error&) {
      return false;  // an image in names that the checker does not have
    }
    if (!found) return false;
    const bool identity = old == onto && std::ranges::all_of(found->to, [](const auto& image) {
                            return image.second == Poly(image.first);
                          });
    if (identity) return true;
    found->of_maximum = at.size() == 2;
    found->at = std::move(at);
    return take(attempt.sum, context, std::move(*found), attempt.steps);
  }

  /// Makes factor f of product p what factor g of `onto` is.
  bool equate(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, const Context& context) {
    const check::Factor model = attempt.sum[onto].factors[g];
    const auto own = [&]() -> const check::Factor& { return attempt.sum[p].factors[f]; };
    if (own() == model) return true;
    for (std::size_t d = 0; d < model.index.size(); ++d) {
      if (own().index[d] == model.index[d]) continue;
      Step index = step(Op::Index, {p, f, d});
      index.polys.push_back(model.index[d]);
      if (!take(attempt.sum, context, std::move(index), attempt.steps)) return false;
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
    if (!commutes || !take(attempt.sum, context, step(Op::Swap, {p, f}), attempt.steps)) return false;
    return arguments(attempt);
  }

  bool equate_argument(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, std::size_t a,
                       const Context& context) {
    const check::Product& product = attempt.sum[p];
    const check::Sum& wanted = attempt.sum[onto].factors[g].arguments[a];
    if (product.factors[f].arguments[a] == wanted) return true;
    check::Kernel kernel(statement_, {});
    const Context inner = kernel.inside(context, product, product.factors[f]);
    check::Sum difference = product.factors[f].arguments[a];
    for (check::Product part : wanted) {
      part.coefficient = part.coefficient * Rational{-1, 1};
      difference.push_back(std::move(part));
    }
    Step same = step(Op::Same, {p, f, a, onto, g, a});
    if (depth_ == deepest) return false;
    std::pair<check::Guards, std::string> key{inner.given, statement_.text(difference)};
    std::ranges::sort(key.first);
    if (different_.contains(key)) return false;
    ++depth_;
    const bool empty = zero(difference, inner, same.block);
    --depth_;
    if (!empty) different_.insert(std::move(key));
    return empty && take(attempt.sum, context, std::move(same), attempt.steps);
  }

  bool equate_maxima(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                     const Context& context) {
    const check::Factor own = attempt.sum[p].factors[f], model = attempt.sum[onto].factors[g];
    Factor renamed = bridge_.there(own);
    const Factor target = bridge_.there(model);
    bridge_.rename(renamed);
    std::vector<Substitution> maps;
    for (const Equations& way : ways_to_equal({{&renamed, &target}}, commutative_, align_.choices, budget_)) {
      std::vector<Atom> unknown = renamed.bound;
      unknown.insert(unknown.end(), way.unknown.begin(), way.unknown.end());
      SolvedIndices solved = solve_indices(way.polys, unknown, bridge_.symbols(), budget_);
      std::erase_if(solved.map, [&](const auto& entry) {
        return std::ranges::find(renamed.bound, entry.first) == renamed.bound.end() ||
               mentions(entry.second, unknown, bridge_.symbols());
      });
      complete_maps(solved.map, renamed.bound, target.bound, bridge_.symbols(), align_, budget_, maps);
    }
    for (const Substitution& map : maps) {
      Attempt trial = attempt;
      if (!take_map(trial, {p, f}, map, own.bound, renamed.bound, model.bound, context)) continue;
      if (!equate_ranges(trial, p, f, model.guards, context)) continue;
      if (!equate_argument(trial, p, f, onto, g, 0, context)) continue;
      attempt = std::move(trial);
      return true;
    }
    return false;
  }

  bool equate_ranges(Attempt& trial, std::size_t p, std::size_t f, const check::Guards& wanted,
                     const Context& context) {
    const auto own = [&]() -> const check::Guards& { return trial.sum[p].factors[f].guards; };
    for (const check::Guard& guard : wanted) {
      if (std::ranges::find(own(), guard) != own().end()) continue;
      Step know = step(Op::Know, {p, f}, true);
      know.guard = guard;
      if (!take(trial.sum, context, std::move(know), trial.steps)) return false;
    }
    for (std::size_t i = own().size(); i-- > 0;) {
      if (std::ranges::find(wanted, own()[i]) != wanted.end()) continue;
      if (!take(trial.sum, context, step(Op::Forget, {p, f, i}, true), trial.steps)) return false;
    }
    return true;
  }

  /// Splits a product by a guard that stands in its functions and maxima and that nothing decides. Where none does as
  /// they stand, they are simplified: that may leave guards without the indices that are bound within.
  bool split(check::Sum& sum, const Context& context, Steps& steps) {
    for (std::size_t p = 0; p < sum.size(); ++p) {
      const auto guard = undecided(sum[p], context);
      if (!guard && simplify_arguments(sum, p, context, steps)) return true;
      if (!guard) continue;
      Step cut = step(Op::Split, {p});
      cut.guard = *guard;
      const std::size_t before = sum.size();
      if (!take(sum, context, std::move(cut), steps)) continue;
      if (!simplify_product(sum, p, context, steps))
        simplify(sum, context, steps, before - 1);
      else
        simplify(sum, context, steps, before);
      return true;
    }
    return false;
  }

  std::optional<check::Guard> undecided(const check::Product& product, const Context& context) {
    const check::Guards given = joined(context.given, product.guards);
    std::set<Atom> scope = context.scope;
    scope.insert(product.bound.begin(), product.bound.end());
    for (const check::Factor& factor : product.factors) {
      for (const check::Sum& argument : factor.arguments) {
        if (auto guard = undecided(argument, scope, given)) return guard;
      }
    }
    return std::nullopt;
  }

  std::optional<check::Guard> undecided(const check::Sum& sum, const std::set<Atom>& scope,
                                        const check::Guards& given) {
    for (const check::Product& product : sum) {
      for (const check::Guard& guard : product.guards) {
        std::set<Atom> all;
        atoms_.collect(guard.poly, all);
        const auto inner = [&](Atom atom) { return atoms_.kind(atom) == Atoms::Kind::Bound && !scope.contains(atom); };
        if (std::ranges::any_of(all, inner) || shown(given, guard)) continue;
        if (!shown(joined(given, {guard}), std::nullopt)) return guard;
      }
      for (const check::Factor& factor : product.factors) {
        for (const check::Sum& argument : factor.arguments) {
          if (auto guard = undecided(argument, scope, given)) return guard;
        }
      }
    }
    return std::nullopt;
  }

  Statement& statement_;
  Atoms& atoms_;
  AlignLimits align_;
  ElaborationLimits limits_;
  Budget budget_;
  Bridge bridge_;
  Oracle oracle_;
  std::vector<bool> commutative_;
  std::size_t taken_ = 0;
  int depth_ = 0;
  std::set<std::pair<check::Guards, std::string>> different_;  // differences that did not come out as zero
};

}  // namespace

Elaboration elaborate(Statement& statement, const std::vector<SizesByName>& samples, const AlignLimits& align,
                      const ElaborationLimits& limits, bool believing) {
  return Elaborator(statement, samples, align, limits, believing).run();
}

}  // namespace rulemill::prove
