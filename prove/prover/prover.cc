#include "prove/prover/prover.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "check/core_rule.h"
#include "prove/elaboration/elaborate.h"
#include "prove/refuter/size_sampler.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Relation;
using algebra::SizeCondition;

Prover::Prover(algebra::TermBank& bank, algebra::Symbols& symbols, ProverOptions options)
    : bank_(bank), symbols_(symbols), options_(options), budget_(options.steps) {}

ProofResult Prover::prove_equal(const algebra::TypedRule& typed) {
  budget_.refill();
  return search(typed, Search::Full);
}

ProofResult Prover::prove_same_domain(const algebra::TypedRule& typed) {
  budget_.refill();
  return search(typed, Search::Domains);
}

ProofResult Prover::search(const algebra::TypedRule& typed, Search kind) {
  using enum check::Statement::Lower;
  try {
    check::Atoms atoms;
    const check::Statement statement(check::to_core(typed.rule, bank_, symbols_, atoms), atoms,
                                     kind == Search::Domains ? IfPartial : Always);
    const auto samples = sample_sizes_by_name(typed.rule, bank_, symbols_, options_.seed);
    ElaborationLimits limits = options_.elaboration;
    limits.quick = limits.quick || kind == Search::Quick;
    const Elaboration found = kind == Search::Domains ? elaborate_domains(statement, {}, samples, limits)
                                                      : elaborate(statement, samples, limits);
    queries_ += found.queries;
    budget_.spend(found.work);
    return {found.proof.has_value(), found.reason};
  } catch (const check::CheckError& error) {
    return {false, error.what};
  } catch (const LimitReached& limit) {
    return {false, limit.what};
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {  // for instance a number beyond 64 bits
    return {false, error.what()};
  }
}

Verdict Prover::decide(const algebra::TypedRule& typed) {
  Refutation refutation = refute(typed, bank_, symbols_, options_.seed, options_.refute, &budget_);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  if (refutation.compared == 0) return Unknown{"no small sizes satisfy its types and its condition"};
  ProofResult result = search(typed, Search::Quick);
  if (result.proved) return Proved{typed, {}, {}, {}, 0, 0};
  if (const auto split = split_sizes(typed); split && search(*split, Search::Quick).proved)
    return Proved{*split, {}, {}, {}, 0, 0};
  RefuteLimits thorough = options_.refute;
  thorough.tries *= 8;
  thorough.attempts *= 4;
  thorough.all_special_values = true;
  refutation = refute(typed, bank_, symbols_, options_.seed + 1, thorough, &budget_);
  if (refutation.counterexample) return Refuted{typed, std::move(*refutation.counterexample)};
  result = search(typed, Search::Full);
  if (result.proved) return Proved{typed, {}, {}, {}, 0, 0};
  return Unknown{result.reason};
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
    return search(conditioned, Search::Quick).proved;
  };
  std::optional<ConditionalRule> found = find_condition(typed, bank_, symbols_, options_.seed, options_.refute,
                                                        options_.condition, example, budget_, is_provable);
  if (!found) return std::nullopt;
  return Proved{std::move(found->typed), std::move(found->equations), {}, {}, 0, 0};
}

/// Whether the condition holds for all sizes that satisfy the others.
bool Prover::is_implied(const SizeCondition& condition, std::span<const SizeCondition> known) {
  if (algebra::holds(condition, symbols_) == algebra::Truth::Yes) return true;
  check::Atoms atoms;
  check::PolysByName sizes;  // other names than in the rule, where open sizes have names that no text has
  const auto poly = [&](const Poly& from) {
    for (const algebra::Atom size : symbols_.atoms(from))
      sizes.try_emplace(symbols_.name(size), atoms.size("s" + std::to_string(sizes.size())));
    return check::to_core(from, symbols_, atoms, &sizes);
  };
  const auto guard = [&](const SizeCondition& each) {
    return check::to_guard(each.relation, poly(each.left), poly(each.right));
  };
  if (condition.relation == algebra::Relation::Ne) return false;
  check::Guards given;
  for (const SizeCondition& each : known)
    if (each.relation != algebra::Relation::Ne) given.push_back(guard(each));
  try {
    return follow(given, {guard(condition)}, atoms);
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
  for (std::size_t v = 0; v < text.variables.size(); ++v)
    result += (v == 0 ? " with " : ", ") + bank.term(text.variables[v]).name +
              symbols.to_string(typed.rule.shapes[v], typed.rule.packs);
  return result;
}

}  // namespace

Verdict Prover::prove(const algebra::Rule& rule, const std::vector<std::vector<std::int64_t>>* example) {
  const runtime::Stopwatch watch;
  const std::uint64_t queries = queries_;
  budget_.refill();
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
    result->queries = queries_ - queries;
    result->seconds = watch.seconds();
  }
  return verdict;
}

}  // namespace rulemill::prove
