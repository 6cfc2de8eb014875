#include "prove/prover/prover.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>

#include "algebra/sizes/shape_text.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "check/core_rule.h"
#include "prove/elaboration/elaborate.h"
#include "prove/elaboration/prove_zero.h"
#include "prove/normal_form/definedness.h"
#include "prove/normal_form/equality.h"
#include "prove/normal_form/lower.h"
#include "prove/prover/condition.h"
#include "prove/refuter/size_sampler.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Relation;
using algebra::SizeCondition;

Prover::Prover(algebra::TermBank& bank, algebra::Symbols& symbols, ProverOptions options)
    : bank_(bank), symbols_(symbols), options_(options) {
  solver_ = std::make_unique<Solver>(symbols, options_.solver);
  is_partial_ = find_partial_functions(bank.library().functions());
}

Prover::~Prover() = default;

const SolverStatistics& Prover::solver_statistics() const { return solver_->statistics(); }

namespace {

/// Appends conditions as guards. Inequations (≠) are left out, which is sound for facts.
void append(Guards& facts, std::span<const SizeCondition> conditions, Fault fault) {
  for (const SizeCondition& c : conditions) {
    if (c.relation == Relation::Ne) continue;
    const Poly difference = c.right - c.left;
    const bool strict = c.relation == Relation::Lt || (c.relation == Relation::Le && fault == Fault::FactsMadeStrict);
    facts.push_back({c.relation == Relation::Eq, strict ? difference - 1 : difference});
  }
}

/// Returns the facts of the types and the condition.
Guards facts_of(const algebra::TypedRule& typed, Fault fault) {
  Guards facts;
  append(facts, typed.rule.condition, fault);
  append(facts, typed.facts, fault);
  return facts;
}

}  // namespace

ProofResult Prover::prove_equal(const algebra::TypedRule& typed) {
  solver_->budget().refill();
  return prove_equal_within_budget(typed);
}

/// The same as prove_equal, with the rest of the verdict's budget.
ProofResult Prover::prove_equal_within_budget(const algebra::TypedRule& typed) {
  return run_within_limits(typed, [&](ProofResult& result) {
    for (std::size_t output = 0; output < typed.rule.source.size() && result.proved; ++output) {
      compare_output(typed, output, result);
    }
    if (result.proved) compare_domains(typed, result);
  });
}

ProofResult Prover::prove_same_domain(const algebra::TypedRule& typed) {
  if (!uses_any(typed, bank_, is_partial_)) return {true, {}};
  solver_->budget().refill();
  return run_within_limits(typed, [&](ProofResult& result) { compare_domains(typed, result); });
}

ProofResult Prover::run_within_limits(const algebra::TypedRule& typed,
                                      const std::function<void(ProofResult&)>& compare) {
  solver_->start(facts_of(typed, solver_->fault()), sample_sizes(typed, bank_, symbols_, options_.seed));
  const Budget::ScopedLimit share(solver_->budget(), options_.steps);
  ProofResult result{true, {}};
  try {
    compare(result);
  } catch (const LimitReached& limit) {
    return {false, limit.what};
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    return {false, error.what()};
  }
  return result;
}

void Prover::compare_output(const algebra::TypedRule& typed, std::size_t output, ProofResult& result) {
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
  if (!solver_->has_fault(Fault::TargetNotNegated)) minus = negate(std::move(minus));
  difference.insert(difference.end(), std::make_move_iterator(minus.begin()), std::make_move_iterator(minus.end()));
  Equality equality(bank_, *solver_, supply, options_.align);
  if (equality.is_zero(std::move(difference))) return;
  result = {false, "output " + std::to_string(output) + ": nothing cancels " + equality.uncancelled_product()};
}

/// Compares the domains of sides whose values are equal.
void Prover::compare_domains(const algebra::TypedRule& typed, ProofResult& result) {
  if (!uses_any(typed, bank_, is_partial_)) return;
  IndexSupply supply(symbols_);
  const std::vector<DefinednessCondition> of_source =
      collect_definedness_conditions(typed.rule.source, typed, bank_, *solver_, supply);
  const std::vector<DefinednessCondition> of_target =
      collect_definedness_conditions(typed.rule.target, typed, bank_, *solver_, supply);
  Equality equality(bank_, *solver_, supply, options_.align);
  const auto by_laws = [&](const Sum& sum) {
    const auto samples = sample_sizes_by_name(typed.rule, bank_, symbols_, options_.seed);
    return prove_zero(sum, solver_->assumptions(), typed, bank_, symbols_, samples, options_.align,
                      options_.elaboration);
  };
  Definedness definedness(bank_, *solver_, supply, equality, options_.align, by_laws);
  if (!definedness.all_follow(of_target, of_source)) {
    result = {false, "the target may be undefined where the source is not, by " + definedness.unproved_condition()};
  } else if (!definedness.all_follow(of_source, of_target)) {
    result = {false, "the source may be undefined where the target is not, by " + definedness.unproved_condition()};
  }
}

Proved Prover::proved(algebra::TypedRule typed) const {
  if (solver_->has_fault(Fault::ConditionDropped)) typed.rule.condition.clear();
  return {std::move(typed), {}, {}, {}, 0, 0};
}

Verdict Prover::decide(const algebra::TypedRule& typed) {
  Budget* budget = &solver_->budget();
  Refutation refutation = refute(typed, bank_, symbols_, options_.seed, options_.refute, budget);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  if (refutation.compared == 0) return Unknown{"no small sizes satisfy its types and its condition"};
  const ProofResult result = prove_equal_within_budget(typed);
  if (result.proved) return proved(typed);
  if (const auto split = split_sizes(typed); split && prove_equal_within_budget(*split).proved) return proved(*split);
  RefuteLimits thorough = options_.refute;
  thorough.tries *= 8;
  thorough.attempts *= 4;
  thorough.all_special_values = true;
  refutation = refute(typed, bank_, symbols_, options_.seed + 1, thorough, budget);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  if (prove_by_elaboration(typed)) return proved(typed);
  return Unknown{result.reason};
}

/// Proves a rule whose normal forms differ by proof steps, which also use laws of functions and maxima.
bool Prover::prove_by_elaboration(const algebra::TypedRule& typed) {
  if (solver_->fault() != Fault::None) return false;  // faults are injected into the comparison of normal forms only
  try {
    check::Atoms atoms;
    const check::Statement statement(check::to_core(typed.rule, bank_, symbols_, atoms), atoms);
    const auto samples = sample_sizes_by_name(typed.rule, bank_, symbols_, options_.seed);
    if (!elaborate(statement, samples, options_.align, options_.elaboration).proof) return false;
  } catch (const check::CheckError&) {
    return false;
  }
  if (!uses_any(typed, bank_, is_partial_)) return true;
  return run_within_limits(typed, [&](ProofResult& result) { compare_domains(typed, result); }).proved;
}

/// Adds d = p + q with a new size q wherever typing implies p < d for a size d. The difference d - p is then a size,
/// and thus visibly positive. None if there is no such d.
std::optional<algebra::TypedRule> Prover::split_sizes(const algebra::TypedRule& typed) {
  algebra::Rule rule = typed.rule;
  std::vector<algebra::Atom> split;
  for (const SizeCondition& fact : typed.facts) {
    const std::optional<algebra::Atom> whole = fact.right.atom();
    const bool below = fact.relation == Relation::Lt && whole && !symbols_.contains(fact.left, *whole);
    if (!below || symbols_.kind(*whole) != algebra::Symbols::Kind::Size) continue;
    if (std::find(split.begin(), split.end(), *whole) != split.end()) continue;
    split.push_back(*whole);
    rule.condition.push_back({Relation::Eq, fact.right, fact.left + Poly(symbols_.fresh_size("q"))});
  }
  if (split.empty()) return std::nullopt;
  return algebra::try_typing(rule, bank_, symbols_);
}

/// Proves the rule under a condition that is searched for.
std::optional<Proved> Prover::prove_under_condition(const algebra::TypedRule& typed,
                                                    const std::vector<std::vector<std::int64_t>>* example) {
  const auto is_provable = [this](const algebra::TypedRule& conditioned) {
    return prove_equal_within_budget(conditioned).proved;
  };
  std::optional<ConditionalRule> found = find_condition(typed, bank_, symbols_, options_.seed, options_.refute,
                                                        options_.condition, example, solver_->budget(), is_provable);
  if (!found) return std::nullopt;
  Proved result = proved(std::move(found->typed));
  result.found = std::move(found->equations);
  return result;
}

/// Whether the condition holds for all sizes that satisfy the others.
bool Prover::is_implied(const SizeCondition& condition, std::span<const SizeCondition> known) {
  if (algebra::holds(condition, symbols_) == algebra::Truth::Yes) return true;
  Guards facts, goal;
  append(facts, known, Fault::None);
  append(goal, {&condition, 1}, Fault::None);
  try {
    solver_->start(std::move(facts));
    return !goal.empty() && solver_->is_implied({}, goal[0], "narrowing");
  } catch (const LimitReached&) {
    return false;
  }
}

std::vector<SizeCondition> Prover::narrowing(const algebra::TypedRule& typed, const std::vector<SizeCondition>& found) {
  algebra::Substitution values;
  for (const SizeCondition& equation : found) {
    if (const auto size = equation.left.atom()) values[*size] = equation.right;
  }
  std::vector<SizeCondition> result;
  std::ranges::copy_if(typed.narrowing.conditions, std::back_inserter(result), [&](const SizeCondition& each) {
    return !is_implied(algebra::substitute(each, values, symbols_), typed.narrowing.known);
  });
  result.insert(result.end(), found.begin(), found.end());
  return result;
}

namespace {

/// The sizes that a rule's text names, and x[1] for a dimension of a variable without a shape.
class NamesOfText {
 public:
  NamesOfText(const algebra::Rule& text, const algebra::TypedRule& typed, const algebra::TermBank& bank,
              algebra::Symbols& symbols)
      : symbols_(symbols), stated_(algebra::sizes_in_text(text, bank, symbols)) {
    for (std::size_t v = 0; v < text.variables.size(); ++v) {
      const algebra::Shape& shape = typed.rule.shapes[v];
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::string dimension = fmt::format("{}[{}]", bank.term(text.variables[v]).name, d);
        const Poly name = text.shapes.empty() ? Poly(symbols.size(dimension)) : text.shapes[v][d];
        dimensions_.emplace_back(name, shape[d]);
        if (const auto size = shape[d].atom(); size && !stated_.contains(*size)) names_.try_emplace(*size, name);
      }
    }
  }

  bool covers(const SizeCondition& condition) const {
    return std::ranges::all_of(symbols_.atoms(condition.right - condition.left), [&](algebra::Atom atom) {
      return stated_.contains(atom) || symbols_.name(atom).ends_with(']');
    });
  }

  /// Returns the equation between names that says the same as one that was found, if there is one: c = g for q = 1,
  /// where c is g*q.
  SizeCondition equation(const SizeCondition& found) const {
    if (covers(found)) return found;
    for (const auto& [name, dimension] : dimensions_) {
      const auto size = found.left.atom();
      const std::vector<Poly> powers = size ? dimension.coefficients_in(*size) : std::vector<Poly>{};
      if (powers.size() != 2 || !symbols_.is_positive(powers[1])) continue;
      const Poly value = symbols_.substitute(powers[0] + powers[1] * found.right, names_);
      if (const SizeCondition named{Relation::Eq, name, value}; covers(named)) return named;
    }
    return found;
  }

 private:
  algebra::Symbols& symbols_;
  std::set<algebra::Atom> stated_;
  algebra::Substitution names_;
  std::vector<std::pair<Poly, Poly>> dimensions_;  // in the text, and their types
};

/// Returns Proved::condition. `typed` is the rule without the equations found.
std::string describe_condition(const algebra::Rule& text, const algebra::TypedRule& typed, const Proved& proved,
                               const NamesOfText& names, const algebra::TermBank& bank,
                               const algebra::Symbols& symbols) {
  if (proved.narrowing.empty()) {
    std::vector<SizeCondition> added;
    std::ranges::copy_if(typed.rule.condition, std::back_inserter(added), [&](const SizeCondition& each) {
      const bool is_stated = std::ranges::find(text.condition, each) != text.condition.end();
      return each.relation != Relation::Eq && !is_stated;  // an equation that narrows nothing is implied
    });
    return added.empty() ? "" : "where " + algebra::to_string(added, symbols);
  }
  std::string result = "when " + algebra::to_string(proved.narrowing, symbols);
  if (std::ranges::all_of(proved.narrowing, [&](const SizeCondition& each) { return names.covers(each); }))
    return result;
  for (std::size_t v = 0; v < text.variables.size(); ++v) {
    result += (v == 0 ? " with " : ", ") + bank.term(text.variables[v]).name +
              algebra::shape_text(typed.rule.shapes[v], typed.rule.packs, symbols);
  }
  return result;
}

}  // namespace

Verdict Prover::prove(const algebra::Rule& rule, const std::vector<std::vector<std::int64_t>>* example) {
  const runtime::Stopwatch watch;
  const std::uint64_t queries = solver_->statistics().queries;
  solver_->budget().refill();
  std::variant<algebra::TypedRule, algebra::TypeError> types = algebra::infer_types(rule, bank_, symbols_, example);
  if (const auto* error = std::get_if<algebra::TypeError>(&types)) return IllTyped{error->what};
  const auto& typed = std::get<algebra::TypedRule>(types);
  Verdict verdict = Unknown{};
  const auto set_reason = [&](const std::string& reason) {
    if (auto* unknown = std::get_if<Unknown>(&verdict); unknown && unknown->reason.empty()) unknown->reason = reason;
  };
  try {
    verdict = decide(typed);
    if (!std::holds_alternative<Proved>(verdict) && options_.find_conditions) {
      if (std::optional<Proved> found = prove_under_condition(typed, example)) verdict = std::move(*found);
    }
  } catch (const LimitReached& limit) {
    set_reason(limit.what);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {  // for instance a number beyond 64 bits
    set_reason(error.what());
  }
  if (auto* result = std::get_if<Proved>(&verdict)) {
    if (!example) {
      const NamesOfText names(rule, typed, bank_, symbols_);
      result->narrowing = narrowing(typed, result->found);
      for (SizeCondition& each : result->narrowing) each = names.equation(each);
      result->condition = describe_condition(rule, typed, *result, names, bank_, symbols_);
    }
    result->queries = solver_->statistics().queries - queries;
    result->seconds = watch.seconds();
  }
  return verdict;
}

}  // namespace rulemill::prove
