#include "prove/prover.h"

#include <chrono>

#include "prove/condition.h"
#include "prove/normal_form/equality.h"
#include "prove/normal_form/lower.h"
#include "prove/sizes.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Relation;
using algebra::SizeCondition;

Prover::Prover(algebra::TermBank& bank, algebra::Symbols& symbols, ProverOptions options)
    : bank_(bank), symbols_(symbols), options_(options) {
  options_.solver.keep_obligations = options_.certificates;
  solver_ = std::make_unique<Solver>(symbols, options_.solver);
}

Prover::~Prover() = default;

const SolverStatistics& Prover::solver_statistics() const { return solver_->statistics(); }

namespace {

/// What the types and the condition say, as guards. Inequations (≠) are left out: to know less is sound.
Guards facts_of(const algebra::TypedRule& typed) {
  Guards facts;
  for (const auto* conditions : {&typed.rule.condition, &typed.facts}) {
    for (const SizeCondition& c : *conditions) {
      if (c.relation == Relation::Ne) continue;
      const Poly difference = c.right - c.left;
      facts.push_back({c.relation == Relation::Eq, c.relation == Relation::Lt ? difference - 1 : difference});
    }
  }
  return facts;
}

}  // namespace

/// A few sizes at which the rule stands, for the solver's satisfiable queries.
std::vector<Models::Values> Prover::sample_sizes(const algebra::TypedRule& typed) const {
  SizeSampler sampler(typed, bank_, symbols_, options_.seed);
  std::vector<Models::Values> samples;
  for (std::uint64_t attempt = 0; attempt < 60 && samples.size() < 6; ++attempt) {
    std::optional<SizeValues> sizes = sampler.draw(attempt % 2 == 0 ? 5 : 3);
    if (sizes) samples.push_back(std::move(*sizes));
  }
  return samples;
}

Prover::Outcome Prover::prove_equal(const algebra::TypedRule& typed) {
  solver_->start(facts_of(typed), sample_sizes(typed));
  try {
    for (std::size_t output = 0; output < typed.rule.source.size(); ++output) {
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
      Sum minus = negated(lowering.element(typed.rule.target[output], index));
      difference.insert(difference.end(), std::make_move_iterator(minus.begin()), std::make_move_iterator(minus.end()));
      Equality equality(bank_, *solver_, supply, options_.align);
      if (!equality.zero(std::move(difference))) {
        return {false, "output " + std::to_string(output) + ": nothing cancels " + equality.left_over()};
      }
    }
  } catch (const TooLarge& large) {
    return {false, "the normal form has more than " + std::to_string(large.products - 1) + " products"};
  } catch (const runtime::Error& error) {
    return {false, error.what()};
  }
  if (solver_->exhausted()) return {false, "more than " + std::to_string(options_.solver.queries) + " queries"};
  return {true, {}};
}

Proved Prover::proved(algebra::TypedRule typed) const {
  Proved result{std::move(typed), {}, {}, 0, 0};
  for (const Query& query : solver_->obligations()) result.obligations.push_back(to_smtlib(query, symbols_));
  return result;
}

Verdict Prover::judge(const algebra::TypedRule& typed) {
  Refutation refutation = refute(typed, bank_, symbols_, options_.seed, options_.refute);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  if (refutation.compared == 0) return Unknown{"no small sizes satisfy its types and its condition"};
  const Outcome outcome = prove_equal(typed);
  if (outcome.proved) return proved(typed);
  RefuteLimits thorough = options_.refute;
  thorough.tries *= 8;
  thorough.attempts *= 4;
  refutation = refute(typed, bank_, symbols_, options_.seed + 1, thorough);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  return Unknown{outcome.reason};
}

Verdict Prover::prove(const algebra::Rule& rule, const std::vector<std::vector<std::int64_t>>* example) {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t queries = solver_->statistics().queries;
  std::variant<algebra::TypedRule, algebra::TypeError> types = algebra::infer_types(rule, bank_, symbols_, example);
  if (const auto* error = std::get_if<algebra::TypeError>(&types)) return IllTyped{error->what};
  const auto& typed = std::get<algebra::TypedRule>(types);
  Verdict verdict = judge(typed);
  if (!std::holds_alternative<Proved>(verdict) && options_.find_conditions) {
    const auto provable = [this](const algebra::TypedRule& conditioned) { return prove_equal(conditioned).proved; };
    std::optional<Conditioned> found =
        find_condition(typed, bank_, symbols_, options_.seed, options_.refute, options_.condition, example, provable);
    if (found) {
      Proved result = proved(std::move(found->typed));
      result.found = std::move(found->equations);
      verdict = std::move(result);
    }
  }
  if (auto* result = std::get_if<Proved>(&verdict)) {
    result->queries = solver_->statistics().queries - queries;
    result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return verdict;
}

}  // namespace rulemill::prove
