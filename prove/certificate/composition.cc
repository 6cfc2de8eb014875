#include "prove/certificate/composition.h"

#include <algorithm>

#include "algebra/terms/equal_products.h"
#include "algebra/terms/rule_text.h"

namespace rulemill::prove {
namespace {

using algebra::TermId;

/// An instance over the variables and sizes of a rule, at an instance of that rule.
Instance at(Instance inner, const Instance& outer, const algebra::Rule& rule, algebra::TermBank& bank,
            algebra::Symbols& symbols) {
  std::unordered_map<TermId, TermId> terms;
  for (const TermId variable : rule.variables) {
    const auto term = std::ranges::find(outer.terms, bank.term(variable).name, &std::pair<std::string, TermId>::first);
    if (term != outer.terms.end()) terms.emplace(variable, term->second);
  }
  algebra::Substitution sizes;
  for (const auto& [name, value] : outer.sizes) sizes.emplace(symbols.size(name), value);
  for (auto& [variable, term] : inner.terms) term = bank.substitute({{term}}, terms, sizes, symbols).at(0);
  for (auto& [name, value] : inner.sizes) value = symbols.substitute(value, sizes);
  return inner;
}

}  // namespace

bool Composition::add(const std::string& name, const std::string& rule, const std::string& instances) {
  std::optional<DerivedRule>& entry = derived_[name];
  const std::optional<std::string> plain = compose(rule, instances);
  const algebra::TypedRule typed = read_statement(rule, library_, bank_, symbols_);
  if (!plain || algebra::with_equal_products_dealt_out(typed, bank_, symbols_)) return false;
  entry = DerivedRule{typed.rule, {}};
  InstanceReader reader(rule, library_, bank_, symbols_);
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
  const auto add_line = [&](const std::string& line) {
    if (std::ranges::find(composed, line) == composed.end()) composed.push_back(line);
  };
  bool possible = true;
  {
    const algebra::TypedRule typed = read_statement(goal, library_, bank_, symbols_);
    const auto dealt_out = algebra::with_equal_products_dealt_out(typed, bank_, symbols_);
    InstanceReader reader(dealt_out ? algebra::to_string(dealt_out->rule, bank_, symbols_) : goal, library_, bank_,
                          symbols_);
    for (const std::string& line : lines) {
      if (!is_derived(line)) {
        add_line(line);
        continue;
      }
      const Instance outer = reader.read(line);
      const std::optional<DerivedRule>& derived = derived_.at(outer.rule);
      possible = possible && derived;
      if (!derived) continue;
      for (const Instance& inner : derived->instances)
        add_line(to_string(at(inner, outer, derived->rule, bank_, symbols_), bank_, symbols_));
    }
  }
  bank_.roll_back(terms);
  symbols_.roll_back(symbols);
  if (!possible) return std::nullopt;
  std::string text;
  for (const std::string& line : composed) text += line + "\n";
  return text;
}

}  // namespace rulemill::prove
