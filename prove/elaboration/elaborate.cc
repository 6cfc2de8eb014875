#include "prove/elaboration/elaborate.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

using check::Objection;
using check::Statement;

namespace {

/// Throws this when a proof becomes longer than any that is worth having.
struct TooLong {};

}  // namespace

Elaborator::Elaborator(Statement& statement, const std::vector<SizesByName>& samples, const AlignLimits& align,
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

Elaboration Elaborator::run() {
  return within_limits([&](check::Proof& proof) -> std::optional<std::string> {
    for (std::size_t o = 0; o < statement_.outputs(); ++o) {
      check::Sum sum = statement_.difference(o);
      check::OutputProof& output = proof.outputs.emplace_back();
      for (const check::Product& product : sum) output.normal_form.push_back(statement_.text(product));
      Context context{statement_.facts(), {}};
      for (check::Guard& guard : statement_.ranges(o)) context.given.push_back(std::move(guard));
      if (!zero(sum, context, output.steps)) return "nothing cancels " + statement_.text(sum.at(0));
    }
    if (auto undefined = domains(proof)) return undefined;
    return typing(proof);
  });
}

Elaboration Elaborator::run_domains(const std::vector<check::Obligation>& owed) {
  return within_limits([&](check::Proof& proof) -> std::optional<std::string> {
    for (const check::Obligation& obligation : owed) {
      if (!add_lemmas(obligation, proof)) return "an instance needs more than the rule says: " + obligation.what;
    }
    return domains(proof);
  });
}

Elaboration Elaborator::within_limits(const std::function<std::optional<std::string>(check::Proof&)>& search) {
  check::Proof proof;
  try {
    if (auto reason = search(proof)) return {{}, *reason};
  } catch (const TooLong&) {
    return {{}, "the proof would be longer than " + std::to_string(limits_.steps) + " steps"};
  } catch (const LimitReached& limit) {
    return {{}, limit.what};
  } catch (const Objection& objection) {
    return {{}, objection.what};
  }
  return {std::move(proof), {}};
}

bool Elaborator::empties(check::Sum sum, const Context& context) {
  Steps steps;
  try {
    return zero(sum, context, steps);
  } catch (const TooLong&) {
  } catch (const LimitReached&) {
  } catch (const Objection&) {
  }
  return false;
}

std::vector<Models::Values> Elaborator::in_symbols(const std::vector<SizesByName>& samples) {
  std::vector<Models::Values> result;
  for (const SizesByName& sizes : samples) {
    Models::Values& values = result.emplace_back();
    for (const auto& [name, value] : sizes) values[bridge_.symbols().size(name)] = value;
  }
  return result;
}

std::optional<std::string> Elaborator::typing(check::Proof& proof) {
  check::Guards goals = statement_.duties();
  for (const Poly& divisor : atoms_.divisors()) {
    if (!atoms_.nonnegative(divisor - 1)) goals.push_back({false, divisor - 1});
  }
  for (const check::Guard& goal : goals) {
    if (!add_lemmas({"typing", statement_.facts(), goal, {}, {}}, proof))
      return "typing it needs more than its condition says: " + atoms_.text(goal);
  }
  return std::nullopt;
}

bool Elaborator::add_lemmas(const check::Obligation& obligation, check::Proof& proof) {
  if (check::is_plain(obligation)) return true;
  const auto times = oracle_.shown(obligation);
  if (!times) return false;
  for (const check::Times& lemma : *times) {
    if (std::ranges::find(proof.times, lemma) == proof.times.end()) proof.times.push_back(lemma);
  }
  return true;
}

bool Elaborator::take(check::Sum& sum, const Context& context, Step step, Steps& steps) {
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
  } catch (const algebra::Overflow&) {  // coefficients beyond 64 bits
    return false;
  }
  sum = std::move(result);
  steps.push_back(std::move(step));
  return true;
}

Elaborator::Step Elaborator::step(Op op, std::vector<std::size_t> at, bool of_maximum) {
  Step result;
  result.op = op;
  result.at = std::move(at);
  result.of_maximum = of_maximum;
  return result;
}

bool Elaborator::shown(const check::Guards& given, std::optional<check::Guard> goal) {
  const check::Obligation obligation{"", given, std::move(goal), {}, {}};
  return check::is_plain(obligation) || oracle_.shown(obligation).has_value();
}

check::Guards Elaborator::joined(check::Guards a, const check::Guards& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool Elaborator::zero(check::Sum& sum, const Context& context, Steps& steps) {
  simplify(sum, context, steps);
  while (!sum.empty()) {
    if (!cancel(sum, context, steps) && !split(sum, context, steps) && !by_order(sum, context, steps) &&
        !by_laws(sum, context, steps))
      return false;
  }
  return true;
}

bool Elaborator::split(check::Sum& sum, const Context& context, Steps& steps) {
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

std::optional<check::Guard> Elaborator::undecided(const check::Product& product, const Context& context) {
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

std::optional<check::Guard> Elaborator::undecided(const check::Sum& sum, const std::set<Atom>& scope,
                                                  const check::Guards& given) {
  for (const check::Product& product : sum) {
    for (const check::Guard& guard : product.guards) {
      std::set<Atom> all;
      atoms_.collect(guard.poly, all);
      const auto inner = [&](Atom atom) {
        return atoms_.kind(atom) == check::Atoms::Kind::Bound && !scope.contains(atom);
      };
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

Elaboration elaborate(Statement& statement, const std::vector<SizesByName>& samples, const AlignLimits& align,
                      const ElaborationLimits& limits, bool believing) {
  return Elaborator(statement, samples, align, limits, believing).run();
}

Elaboration elaborate_domains(Statement& statement, const std::vector<check::Obligation>& owed,
                              const std::vector<SizesByName>& samples, const AlignLimits& align,
                              const ElaborationLimits& limits) {
  return Elaborator(statement, samples, align, limits, false).run_domains(owed);
}

}  // namespace rulemill::prove
