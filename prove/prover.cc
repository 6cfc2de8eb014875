#include "prove/prover.h"

#include <algorithm>
#include <chrono>

#include "prove/condition.h"
#include "prove/elaboration/difference.h"
#include "prove/elaboration/elaborate.h"
#include "prove/normal_form/definedness.h"
#include "prove/normal_form/equality.h"
#include "prove/normal_form/lower.h"
#include "prove/sizes.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Relation;
using algebra::SizeCondition;

Prover::Prover(algebra::TermBank& bank, algebra::Symbols& symbols, ProverOptions options)
    : bank_(bank), symbols_(symbols), options_(options) {
  solver_ = std::make_unique<Solver>(symbols, options_.solver);
  partial_functions_ = partial_functions(bank.library().functions());
}

Prover::~Prover() = default;

const SolverStatistics& Prover::solver_statistics() const { return solver_->statistics(); }

namespace {

/// What the types and the condition say, as guards. Inequations (≠) are left out: to know less is sound.
Guards facts_of(const algebra::TypedRule& typed, Fault fault) {
  Guards facts;
  for (const auto* conditions : {&typed.rule.condition, &typed.facts}) {
    for (const SizeCondition& c : *conditions) {
      if (c.relation == Relation::Ne) continue;
      const Poly difference = c.right - c.left;
      const bool strict = c.relation == Relation::Lt || (c.relation == Relation::Le && fault == Fault::FactsStrict);
      facts.push_back({c.relation == Relation::Eq, strict ? difference - 1 : difference});
    }
  }
  return facts;
}

}  // namespace

Prover::Outcome Prover::prove_equal(const algebra::TypedRule& typed) {
  solver_->budget().refill();
  return equal(typed);
}

/// As prove_equal, with what is left of the verdict's budget.
Prover::Outcome Prover::equal(const algebra::TypedRule& typed) {
  return within_limits(typed, [&](Outcome& outcome) {
    for (std::size_t output = 0; output < typed.rule.source.size() && outcome.proved; ++output) {
      compare_output(typed, output, outcome);
    }
    if (outcome.proved) compare_domains(typed, outcome);
  });
}

Prover::Outcome Prover::same_domain(const algebra::TypedRule& typed) {
  if (!applies(typed, bank_, partial_functions_)) return {true, {}};
  solver_->budget().refill();
  return within_limits(typed, [&](Outcome& outcome) { compare_domains(typed, outcome); });
}

Prover::Outcome Prover::within_limits(const algebra::TypedRule& typed, const std::function<void(Outcome&)>& compare) {
  solver_->start(facts_of(typed, solver_->fault()), sample_sizes(typed, bank_, symbols_, options_.seed));
  const Budget::Share share(solver_->budget(), options_.steps);
  Outcome outcome{true, {}};
  try {
    compare(outcome);
  } catch (const LimitReached& limit) {
    return {false, limit.what};
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    return {false, error.what()};
  }
  return outcome;
}

void Prover::compare_output(const algebra::TypedRule& typed, std::size_t output, Outcome& outcome) {
  const algebra::Shape& shape = typed.types.at(typed.rule.source[output]);
  IndexSupply supply(symbols_);
  std::vector<Poly> index;
  Guards ranges;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    index.emplace_back(symbols_.index("i" + std::to_string(d)));
    append_range(ranges, index.back(), shape[d]);
  }
  const Solver::Assumption inside(*solver_, ranges);
  Lowering lowering(typed, bank_, *solver_, supply);
  Sum difference = lowering.element(typed.rule.source[output], index);
  Sum minus = lowering.element(typed.rule.target[output], index);
  if (!solver_->has(Fault::SignForgotten)) minus = negated(std::move(minus));
  difference.insert(difference.end(), std::make_move_iterator(minus.begin()), std::make_move_iterator(minus.end()));
  Equality equality(bank_, *solver_, supply, options_.align);
  if (equality.zero(std::move(difference))) return;
  outcome = {false, "output " + std::to_string(output) + ": nothing cancels " + equality.left_over()};
}

/// Where the sides' values are equal: whether they are defined at the same points.
void Prover::compare_domains(const algebra::TypedRule& typed, Outcome& outcome) {
  if (!applies(typed, bank_, partial_functions_)) return;
  IndexSupply supply(symbols_);
  const std::vector<Demand> of_source = demands_of(typed.rule.source, typed, bank_, *solver_, supply);
  const std::vector<Demand> of_target = demands_of(typed.rule.target, typed, bank_, *solver_, supply);
  Equality equality(bank_, *solver_, supply, options_.align);
  const auto by_laws = [&](const Sum& sum) {
    const auto samples = sample_sizes_by_name(typed.rule, bank_, symbols_, options_.seed);
    return zero_by_steps(sum, solver_->assumptions(), typed, bank_, symbols_, samples, options_.align,
                         options_.elaboration);
  };
  Definedness definedness(bank_, *solver_, supply, equality, options_.align, by_laws);
  if (!definedness.follow(of_target, of_source)) {
    outcome = {false, "the target may be undefined where the source is not, by " + definedness.left_over()};
  } else if (!definedness.follow(of_source, of_target)) {
    outcome = {false, "the source may be undefined where the target is not, by " + definedness.left_over()};
  }
}

Proved Prover::proved(algebra::TypedRule typed) const {
  if (solver_->has(Fault::ConditionForgotten)) typed.rule.condition.clear();
  return {std::move(typed), {}, 0, 0};
}

Verdict Prover::judge(const algebra::TypedRule& typed) {
  Budget* budget = &solver_->budget();
  Refutation refutation = refute(typed, bank_, symbols_, options_.seed, options_.refute, budget);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  if (refutation.compared == 0) return Unknown{"no small sizes satisfy its types and its condition"};
  const Outcome outcome = equal(typed);
  if (outcome.proved) return proved(typed);
  if (const auto split = with_parts(typed); split && equal(*split).proved) return proved(*split);
  RefuteLimits thorough = options_.refute;
  thorough.tries *= 8;
  thorough.attempts *= 4;
  refutation = refute(typed, bank_, symbols_, options_.seed + 1, thorough, budget);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  if (by_steps(typed)) return proved(typed);
  return Unknown{outcome.reason};
}

/// By steps that the checker follows, laws of functions and maxima among them, where normal forms do not agree.
bool Prover::by_steps(const algebra::TypedRule& typed) {
  if (solver_->fault() != Fault::None) return false;  // of the comparison of normal forms
  try {
    check::Atoms atoms;
    check::Statement statement(typed.rule, bank_, symbols_, atoms);
    const auto samples = sample_sizes_by_name(typed.rule, bank_, symbols_, options_.seed);
    if (!elaborate(statement, samples, options_.align, options_.elaboration).proof) return false;
  } catch (const check::Objection&) {
    return false;
  }
  if (!applies(typed, bank_, partial_functions_)) return true;
  return within_limits(typed, [&](Outcome& outcome) { compare_domains(typed, outcome); }).proved;
}

/// The same rule with d = p + q, where typing says p < d of a size d: the difference is then a size, and positive by
/// looking at it. Nothing if there is no such size.
std::optional<algebra::TypedRule> Prover::with_parts(const algebra::TypedRule& typed) {
  algebra::Rule rule = typed.rule;
  std::vector<algebra::Atom> divided;
  for (const SizeCondition& fact : typed.facts) {
    const std::optional<algebra::Atom> whole = fact.right.atom();
    const bool below = fact.relation == Relation::Lt && whole && !symbols_.contains(fact.left, *whole);
    if (!below || symbols_.kind(*whole) != algebra::Symbols::Kind::Size) continue;
    if (std::find(divided.begin(), divided.end(), *whole) != divided.end()) continue;
    divided.push_back(*whole);
    rule.condition.push_back({Relation::Eq, fact.right, fact.left + Poly(symbols_.fresh_size("q"))});
  }
  if (divided.empty()) return std::nullopt;
  auto types = algebra::infer_types(rule, bank_, symbols_);
  if (!std::holds_alternative<algebra::TypedRule>(types)) return std::nullopt;
  return std::move(std::get<algebra::TypedRule>(types));
}

/// The rule with the condition found under which it holds.
std::optional<Proved> Prover::under_condition(const algebra::TypedRule& typed,
                                              const std::vector<std::vector<std::int64_t>>* example) {
  const auto provable = [this](const algebra::TypedRule& conditioned) { return equal(conditioned).proved; };
  std::optional<Conditioned> found = find_condition(typed, bank_, symbols_, options_.seed, options_.refute,
                                                    options_.condition, example, solver_->budget(), provable);
  if (!found) return std::nullopt;
  Proved result = proved(std::move(found->typed));
  result.found = std::move(found->equations);
  return result;
}

Verdict Prover::prove(const algebra::Rule& rule, const std::vector<std::vector<std::int64_t>>* example) {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t queries = solver_->statistics().queries;
  solver_->budget().refill();
  std::variant<algebra::TypedRule, algebra::TypeError> types = algebra::infer_types(rule, bank_, symbols_, example);
  if (const auto* error = std::get_if<algebra::TypeError>(&types)) return IllTyped{error->what};
  const auto& typed = std::get<algebra::TypedRule>(types);
  Verdict verdict = Unknown{};
  const auto note = [&](const std::string& reason) {
    if (auto* unknown = std::get_if<Unknown>(&verdict); unknown && unknown->reason.empty()) unknown->reason = reason;
  };
  try {
    verdict = judge(typed);
    if (!std::holds_alternative<Proved>(verdict) && options_.find_conditions) {
      if (std::optional<Proved> found = under_condition(typed, example)) verdict = std::move(*found);
    }
  } catch (const LimitReached& limit) {
    note(limit.what);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {  // a number beyond 64 bits, say
    note(error.what());
  }
  if (auto* result = std::get_if<Proved>(&verdict)) {
    result->queries = solver_->statistics().queries - queries;
    result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return verdict;
}

}  // namespace rulemill::prove
