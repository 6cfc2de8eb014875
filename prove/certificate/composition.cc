#include "prove/certificate/composition.h"

#include <algorithm>

#include "algebra/terms/equal_products.h"
#include "algebra/terms/rule_text.h"

namespace rulemill::prove {
namespace {

using algebra::TermId;

/// An instance over the variables and sizes of a rule, at these terms and sizes of them.
Instance at(Instance inner, const std::unordered_map<TermId, TermId>& terms, const algebra::Substitution& sizes,
            algebra::TermBank& bank, algebra::Symbols& symbols) {
  for (auto& [variable, term] : inner.terms) term = bank.substitute({{term}}, terms, sizes, symbols).at(0);
  for (auto& [name, value] : inner.sizes) value = symbols.substitute(value, sizes);
  return inner;
}

void add_line(std::vector<std::string>& lines, const std::string& line) {
  if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
}

}  // namespace

bool Composition::add(const std::string& name, const std::string& rule, const std::string& instances) {
  std::optional<DerivedRule>& entry = derived_[name];
  const std::optional<std::string> plain = compose(rule, instances);
  if (!plain) return false;
  algebra::DealtOut goal = goal_of(rule);
  InstanceReader reader(algebra::to_string(goal.rule.rule, bank_, symbols_), library_, bank_, symbols_);
  entry = DerivedRule{std::move(goal.rule.rule), std::move(goal.equations), {}};
  for (const std::string& line : lines_of(*plain)) entry->instances.push_back(reader.read(line));
  return true;
}

std::optional<std::string> Composition::compose(const std::string& goal, const std::string& instances) {
  const std::vector<std::string> lines = lines_of(instances);
  const auto is_derived = [&](const std::string& line) { return derived_.contains(rule_of(line)); };
  if (std::ranges::none_of(lines, is_derived)) return instances;

  const algebra::TermBank::Mark terms = bank_.mark();
  const algebra::Symbols::Mark symbols = symbols_.mark();
  std::vector<std::string> composed;
  bool possible = true;
  {
    InstanceReader reader(algebra::to_string(goal_of(goal).rule.rule, bank_, symbols_), library_, bank_, symbols_);
    for (const std::string& line : lines) {
      if (!is_derived(line)) {
        add_line(composed, line);
        continue;
      }
      const Instance outer = reader.read(line);
      const std::optional<DerivedRule>& derived = derived_.at(outer.rule);
      possible = possible && derived && add_instances(outer, *derived, composed);
    }
  }
  bank_.roll_back(terms);
  symbols_.roll_back(symbols);
  if (!possible) return std::nullopt;
  std::string text;
  for (const std::string& line : composed) text += line + "\n";
  return text;
}

/// As it is derived: equal products are dealt out.
algebra::DealtOut Composition::goal_of(const std::string& rule) {
  algebra::TypedRule typed = read_statement(rule, library_, bank_, symbols_);
  std::optional<algebra::DealtOut> dealt_out = algebra::with_equal_products_dealt_out(typed, bank_, symbols_);
  return dealt_out ? std::move(*dealt_out) : algebra::DealtOut{std::move(typed), {}};
}

/// The instances that imply a derived rule, at an instance of that; false if equal products of its own can't be dealt
/// out there.
bool Composition::add_instances(const Instance& outer, const DerivedRule& of, std::vector<std::string>& lines) {
  std::unordered_map<TermId, TermId> terms;
  for (const TermId variable : of.rule.variables) {
    const auto term = std::ranges::find(outer.terms, bank_.term(variable).name, &std::pair<std::string, TermId>::first);
    if (term != outer.terms.end()) terms.emplace(variable, term->second);
  }
  algebra::Substitution sizes;
  for (const auto& [name, value] : outer.sizes) sizes.emplace(symbols_.size(name), value);
  if (!algebra::deal_out(of.equations, sizes)) return false;
  for (const Instance& inner : of.instances)
    add_line(lines, to_string(at(inner, terms, sizes, bank_, symbols_), bank_, symbols_));
  return true;
}

}  // namespace rulemill::prove
