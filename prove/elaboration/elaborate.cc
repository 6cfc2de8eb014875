#include "prove/elaboration/elaborate.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

using check::CheckError;
using check::Statement;

namespace {

/// Thrown where a proof would exceed the limit on steps.
struct TooLong {};

std::vector<Models::Values> values_of(const std::vector<SizesByName>& samples, Atoms& atoms) {
  std::vector<Models::Values> result;
  for (const SizesByName& sizes : samples) {
    Models::Values& values = result.emplace_back();
    for (const auto& [name, value] : sizes) values[*atoms.size(name).atom()] = value;
  }
  return result;
}

}  // namespace

Elaborator::Elaborator(const Statement& statement, const std::vector<SizesByName>& samples,
                       const ElaborationLimits& limits, bool assume_obligations)
    : statement_(statement),
      atoms_(statement.atoms()),
      limits_(limits),
      budget_(limits.work),
      oracle_(atoms_, values_of(samples, atoms_), limits.quick, assume_obligations) {
  const check::CoreRule& rule = statement.rule();
  for (const algebra::Function& function : rule.functions) commutative_.push_back(function.commutative);
  laws_.resize(rule.functions.size());
  for (const algebra::LawEquation& law : rule.laws) {
    if (law.left->kind == algebra::ScalarExpr::Kind::Apply)
      laws_[statement.function(law.left->function).representative].push_back(&law);
  }
}

Elaboration Elaborator::run() {
  return run_within_limits([&](check::Proof& proof) -> std::optional<std::string> {
    known_ = check::conditions_in_values(statement_);
    for (std::size_t o = 0; o < statement_.outputs(); ++o) {
      check::Sum sum = statement_.difference(o);
      const Context context{check::conjunction(statement_.facts(), statement_.index_ranges(o)), {}};
      if (!rewrite_to_zero({sum, context, proof.outputs.emplace_back()}))
        return "nothing cancels " + statement_.text(sum.at(0));
    }
    if (auto undefined = prove_domains(proof)) return undefined;
    return prove_typing(proof);
  });
}

Elaboration Elaborator::run_domains(const std::vector<check::Obligation>& obligations) {
  return run_within_limits([&](check::Proof& proof) -> std::optional<std::string> {
    for (const check::Obligation& obligation : obligations) {
      if (!add_lemmas(obligation, proof)) return "not shown: " + obligation.what;
    }
    return prove_domains(proof);
  });
}

Elaboration Elaborator::run_within_limits(const std::function<std::optional<std::string>(check::Proof&)>& search) {
  check::Proof proof;
  Elaboration result;
  try {
    if (auto reason = search(proof))
      result.reason = std::move(*reason);
    else
      result.proof = std::move(proof);
  } catch (const TooLong&) {
    result.reason = "the proof would be longer than " + std::to_string(limits_.steps) + " steps";
  } catch (const LimitReached& limit) {
    result.reason = limit.what;
  } catch (const CheckError& error) {
    result.reason = error.what;
  } catch (const algebra::Overflow& error) {
    result.reason = error.what();
  }
  result.queries = oracle_.queries();
  result.work = budget_.spent();
  return result;
}

std::optional<std::string> Elaborator::prove_typing(check::Proof& proof) {
  check::Guards goals = statement_.target_obligations();
  for (const Poly& divisor : atoms_.divisors()) goals.push_back({false, divisor - 1});
  for (const check::Guard& goal : goals) {
    if (!add_lemmas({"typing", statement_.facts(), goal, {}}, proof))
      return "not implied by the rule's condition: " + atoms_.text(goal);
  }
  return std::nullopt;
}

bool Elaborator::add_lemmas(const check::Obligation& obligation, check::Proof& proof) {
  const auto lemmas = oracle_.find_lemmas(obligation);
  if (!lemmas) return false;
  for (const check::ProductLemma& lemma : *lemmas) {
    if (std::ranges::find(proof.lemmas, lemma) == proof.lemmas.end()) proof.lemmas.push_back(lemma);
  }
  return true;
}

bool Elaborator::try_step(State state, Step step) {
  if (++tried_steps_ > 20 * limits_.steps || state.steps.size() > limits_.steps) throw TooLong{};
  const bool checked_before = step.op == Op::Within || step.op == Op::Replace;
  bool confirmed = true;
  const auto confirm = [&](const check::Obligation& obligation) {
    if (checked_before || !confirmed || !obligation.script.empty()) return;  // the search has asked for the cases
    const auto lemmas = oracle_.find_lemmas(obligation);
    confirmed = lemmas.has_value();
    if (!confirmed) throw CheckError{"not shown"};
    for (const check::ProductLemma& lemma : *lemmas) {
      if (std::ranges::find(step.lemmas, lemma) == step.lemmas.end()) step.lemmas.push_back(lemma);
    }
  };
  check::Kernel kernel(statement_, confirm, known_);
  check::Guards ranges;  // of products of which some replace others
  if (step.op == Op::Indicators && !step.targets_maximum && step.positions.size() + step.indicators.size() > 1) {
    for (const std::size_t p : step.positions) ranges = check::conjunction(ranges, state.sum.at(p).guards);
  }
  oracle_.consider(std::move(ranges));
  const std::size_t changed = step.position(0), size = state.sum.size();
  check::Product before = state.sum.at(changed);  // copying the sum would take most of the time of a long search
  bool applies = true;
  try {
    kernel.apply(state.sum, state.context, step);
    state.steps.push_back(std::move(step));
  } catch (const CheckError&) {
    applies = false;
  } catch (const algebra::Overflow&) {  // coefficients beyond 64 bits
    applies = false;
  }
  oracle_.consider({});
  if (!applies) {
    state.sum.resize(size);
    state.sum[changed] = std::move(before);
  }
  return applies;
}

bool Elaborator::is_shown(const check::Guards& given, std::optional<check::Guard> goal) {
  return oracle_.find_lemmas({"", given, std::move(goal), {}}).has_value();
}

bool Elaborator::rewrite_to_zero(State state) {
  simplify(state);
  while (!state.sum.empty()) {
    if (cancel(state) || split(state)) continue;
    const bool changed =
        !limits_.quick && (apply_order(state) || apply_laws(state) || (depth_ == 0 && replace_anywhere(state, true)));
    if (!changed) return false;
  }
  return true;
}

bool Elaborator::split(State state) {
  for (std::size_t p = 0; p < state.sum.size(); ++p) {
    const auto guard = undecided_guard(state.sum[p], state.context);
    if (!guard && simplify_arguments(state, p)) return true;
    if (!guard) continue;
    const std::size_t before = state.sum.size();
    if (!try_step(state, steps::split(p, *guard))) continue;
    if (!simplify_product(state, p))
      simplify(state, before - 1);
    else
      simplify(state, before);
    return true;
  }
  return false;
}

std::optional<check::Guard> Elaborator::undecided_guard(const check::Product& product, const Context& context) {
  const check::Guards given = check::conjunction(context.given, product.guards);
  std::set<Atom> scope = context.scope;
  scope.insert(product.bound.begin(), product.bound.end());
  for (const check::Factor& factor : product.factors) {
    for (const check::Sum& argument : factor.arguments) {
      if (auto guard = undecided_guard(argument, scope, given)) return guard;
    }
  }
  return std::nullopt;
}

std::optional<check::Guard> Elaborator::undecided_guard(const check::Sum& sum, const std::set<Atom>& scope,
                                                        const check::Guards& given) {
  for (const check::Product& product : sum) {
    for (const check::Guard& guard : product.guards) {
      std::set<Atom> all;
      atoms_.collect(guard.poly, all);
      const auto inner = [&](Atom atom) {
        return atoms_.kind(atom) == check::Atoms::Kind::Bound && !scope.contains(atom);
      };
      if (std::ranges::any_of(all, inner) || is_shown(given, guard)) continue;
      if (!is_shown(check::conjunction(given, {guard}), std::nullopt)) return guard;
    }
    for (const check::Factor& factor : product.factors) {
      for (const check::Sum& argument : factor.arguments) {
        if (auto guard = undecided_guard(argument, scope, given)) return guard;
      }
    }
  }
  return std::nullopt;
}

Elaboration elaborate(const Statement& statement, const std::vector<SizesByName>& samples,
                      const ElaborationLimits& limits, bool assume_obligations) {
  return Elaborator(statement, samples, limits, assume_obligations).run();
}

Elaboration elaborate_domains(const Statement& statement, const std::vector<check::Obligation>& obligations,
                              const std::vector<SizesByName>& samples, const ElaborationLimits& limits) {
  return Elaborator(statement, samples, limits, false).run_domains(obligations);
}

bool follow(const check::Guards& given, const check::Guards& goals, Atoms& atoms) {
  Oracle oracle(atoms);
  return std::ranges::all_of(goals, [&](const check::Guard& goal) {
    return oracle.find_lemmas({"", given, goal, {}}).has_value();
  });
}

}  // namespace rulemill::prove
