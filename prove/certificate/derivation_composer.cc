#include "prove/certificate/derivation_composer.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "prove/certificate/term_scope.h"
#include "runtime/text/byte_lists.h"

namespace rulemill::prove {
namespace {

using algebra::TermId;

/// Substitutes terms and sizes in a rule instance.
RuleInstance substitute(RuleInstance inner, const std::unordered_map<TermId, TermId>& terms,
                        const algebra::Substitution& sizes, algebra::TermBank& bank, algebra::Symbols& symbols) {
  for (auto& [variable, term] : inner.terms) term = bank.substitute({{term}}, terms, sizes, symbols).at(0);
  for (auto& [name, value] : inner.sizes) value = symbols.substitute(value, sizes);
  return inner;
}

void add_line(std::vector<std::string>& lines, const std::string& line) {
  if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
}

}  // namespace

std::optional<std::string> DerivationComposer::add(const std::string& name, const std::string& rule,
                                                   const std::string& instances) {
  std::optional<DerivedRule>& derived = derived_[name];
  std::optional<std::string> composed = compose(rule, instances);
  if (!composed) return std::nullopt;
  algebra::RefinedRule goal = refined_goal(rule);
  RuleInstanceReader reader(goal.rule.rule, library_, bank_, symbols_);
  derived = DerivedRule{std::move(goal.rule.rule), std::move(goal.factors), {}};
  for (const std::string& line : lines_of(*composed)) derived->instances.push_back(reader.read(line));
  return composed;
}

std::optional<std::string> DerivationComposer::compose(const std::string& goal, const std::string& instances) {
  const std::vector<std::string> lines = lines_of(instances);
  const auto is_derived = [&](const std::string& line) { return derived_.contains(rule_name_in(line)); };
  if (std::ranges::none_of(lines, is_derived)) return instances;

  const TermScope scope(bank_, symbols_);
  std::vector<std::string> composed;
  bool possible = true;
  RuleInstanceReader reader(refined_goal(goal).rule.rule, library_, bank_, symbols_);
  for (const std::string& line : lines) {
    if (!is_derived(line)) {
      add_line(composed, line);
      continue;
    }
    const RuleInstance outer = reader.read(line);
    const std::optional<DerivedRule>& derived = derived_.at(outer.rule);
    possible = possible && derived && add_instances(outer, *derived, composed);
  }
  if (!possible) return std::nullopt;
  std::string text;
  for (const std::string& line : composed) text += line + "\n";
  return text;
}

/// Types a rule and refines it, as for a derivation.
algebra::RefinedRule DerivationComposer::refined_goal(const std::string& rule) {
  algebra::TypedRule typed = read_statement(rule, library_, bank_, symbols_);
  std::optional<algebra::RefinedRule> refined = algebra::refine_factors(typed, bank_, symbols_);
  return refined ? std::move(*refined) : algebra::RefinedRule{std::move(typed), {}};
}

/// Adds the lines that imply `outer`, an instance of `derived`. False if the rule's equal products cannot be
/// distributed over the instance's sizes.
bool DerivationComposer::add_instances(const RuleInstance& outer, const DerivedRule& derived,
                                       std::vector<std::string>& lines) {
  std::unordered_map<TermId, TermId> terms;
  for (const TermId variable : derived.rule.variables) {
    const auto term = std::ranges::find(outer.terms, bank_.term(variable).name, &std::pair<std::string, TermId>::first);
    if (term != outer.terms.end()) terms.emplace(variable, term->second);
  }
  algebra::Substitution sizes;
  for (const auto& [name, value] : outer.sizes) sizes.emplace(symbols_.size(name), value);
  if (!algebra::distribute_factors(derived.factors, sizes)) return false;
  for (const RuleInstance& inner : derived.instances)
    add_line(lines, to_string(substitute(inner, terms, sizes, bank_, symbols_), bank_, symbols_));
  return true;
}

std::string pack(const CompositionRequest& request) {
  std::vector<std::string_view> texts = {request.goal, request.instances};
  for (const auto& [name, rule, instances] : request.derived) texts.insert(texts.end(), {name, rule, instances});
  runtime::Bytes bytes;
  runtime::append_texts(bytes, texts);
  return std::string(runtime::text_of(bytes));
}

std::string compose_derivation(std::string_view packed_request, algebra::Library& library) {
  runtime::ByteView bytes = runtime::bytes_of(packed_request);
  const std::vector<std::string> texts = runtime::take_texts(bytes);
  DerivationComposer composer(library);
  for (std::size_t i = 2; i + 2 < texts.size(); i += 3) composer.add(texts[i], texts[i + 1], texts[i + 2]);
  return composer.compose(texts.at(0), texts.at(1)).value_or("");
}

}  // namespace rulemill::prove
