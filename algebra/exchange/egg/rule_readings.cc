#include "algebra/exchange/egg/rule_readings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "algebra/exchange/egg/rank_search.h"
#include "algebra/exchange/egg/s_expression.h"
#include "algebra/exchange/fixed_forms.h"
#include "algebra/exchange/infer_split_positions.h"
#include "algebra/exchange/readings.h"
#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using Ranks = std::vector<std::uint32_t>;

constexpr std::size_t max_readings = 8;

bool has_stated_shape(const RuleTemplate& rule) {
  return std::ranges::any_of(rule.unknowns, [](const UnknownRank& unknown) { return unknown.shape.has_value(); });
}

/// Returns the rule in the text form, with a `let` for each operator, so that shared terms are written once.
std::string text_of(const RuleTemplate& rule, const Ranks& ranks) {
  const bool has_shapes = has_stated_shape(rule);
  std::set<std::string> used_names = rule.size_names;
  const auto unused_name = [&] {
    std::string name;
    for (int number = 1; !used_names.insert(name = fmt::format("d{}", number)).second;) ++number;
    return name;
  };
  std::vector<std::string> variables;
  for (std::size_t u = 0; u < rule.unknowns.size(); ++u) {
    const UnknownRank& unknown = rule.unknowns[u];
    if (unknown.variable.empty()) continue;
    if (!has_shapes) {
      variables.push_back(fmt::format("{}:{}", unknown.variable, ranks[u]));
      continue;
    }
    std::vector<std::string> shape;
    for (std::uint32_t d = 0; d < ranks[u]; ++d) shape.push_back(unknown.shape ? (*unknown.shape)[d] : unused_name());
    variables.push_back(fmt::format("{}[{}]", unknown.variable, fmt::join(shape, ", ")));
  }
  std::string text = fmt::format("rule {}({})\n", rule.name, fmt::join(variables, ", "));
  std::vector<std::string> values;  // by term
  for (std::size_t t = 0; t < rule.terms.size(); ++t) {
    const TermTemplate& term = rule.terms[t];
    if (term.op.empty()) {
      values.push_back(rule.unknowns[*term.unknown].variable);
      continue;
    }
    std::vector<std::string> arguments;
    for (const std::size_t argument : term.arguments) arguments.push_back(values[argument]);
    text += fmt::format("  let _{} = {}\n", t, call_text(term, arguments, term.unknown ? ranks[*term.unknown] : 0));
    values.push_back(fmt::format("_{}{}{}", t, term.output.empty() ? "" : ".", term.output));
  }
  const auto outputs = [&](const std::vector<std::size_t>& side) {
    std::vector<std::string> names;
    for (const std::size_t term : side) names.push_back(values[term]);
    return names;
  };
  text += fmt::format("  {} => {}\n", fmt::join(outputs(rule.source), ", "), fmt::join(outputs(rule.target), ", "));
  if (!rule.conditions.empty()) text += fmt::format("  when {}\n", fmt::join(rule.conditions, ", "));
  return text;
}

/// The rule at some ranks, with its types if it has any.
struct Reading {
  Ranks ranks;  // by variable
  Rule rule;
  std::optional<Rule> typed = {};
  bool is_narrowed = false;  // by its types, which the text does not state
  bool is_general = false;   // `rule` is a general form
  bool covered = false;      // by the general form of another reading
};

class Readings {
 public:
  Readings(const RuleTemplate& rule, Library& library, TermBank& bank, Symbols& symbols)
      : template_(rule), library_(library), bank_(bank), symbols_(symbols) {
    for (const Ranks& ranks : RankSearch(rule, library).run()) readings_.push_back(read(ranks));
  }

  std::vector<Rule> general() {
    const bool any_typed = std::ranges::any_of(readings_, [](const Reading& each) { return each.typed.has_value(); });
    if (!any_typed) return {readings_[0].rule};  // the prover states the type error
    std::erase_if(readings_, [](const Reading& each) { return !each.typed; });
    if (!has_stated_shape(template_)) {
      for (Reading& reading : readings_) {
        if (!reading.covered && !reading.is_narrowed) generalize(reading);
      }
    }
    std::vector<Rule> result;
    for (Reading& reading : readings_) {
      if (!reading.covered && result.size() < max_readings) result.push_back(std::move(reading.rule));
    }
    return result;
  }

 private:
  Reading read(const Ranks& ranks) {
    try {
      Rule rule = parse_rule(text_of(template_, ranks), template_.place, library_, bank_, symbols_);
      if (!has_stated_shape(template_)) rule = infer_split_positions(rule, bank_, symbols_);
      Reading reading{ranks_of(rule), std::move(rule)};
      if (auto typed = try_typing(reading.rule, bank_, symbols_)) {
        reading.typed = std::move(typed->rule);
        reading.is_narrowed = !typed->narrowing.conditions.empty();
      }
      return reading;
    } catch (const runtime::InputError& error) {
      throw runtime::InputError(template_.place, without_place(error));
    }
  }

  /// The ranks of the variables, in the template's order.
  Ranks ranks_of(const Rule& rule) const {
    std::map<std::string, std::uint32_t> by_name;
    for (const TermId variable : rule.variables) by_name[bank_.term(variable).name] = bank_.rank(variable);
    Ranks ranks;
    for (const UnknownRank& unknown : template_.unknowns) {
      if (!unknown.variable.empty()) ranks.push_back(by_name[unknown.variable]);
    }
    return ranks;
  }

  /// Replaces the reading by a general form of which the text has all specializations, and marks those as covered.
  void generalize(Reading& reading) {
    const Rule& typed = *reading.typed;
    const Rule candidates[] = {with_outer_dimension(typed, true, library_, bank_, symbols_).value_or(typed),
                               with_outer_dimension(typed, false, library_, bank_, symbols_).value_or(typed), typed};
    for (const Rule& candidate : candidates) {
      Rule general = with_packs_in_text(generalize_rank(candidate, library_, bank_, symbols_));
      const std::vector<Reading*> specializations = specializations_in_text(general);
      if (specializations.empty()) continue;
      for (Reading* each : specializations) each->covered = !each->is_general;
      reading.covered = false;
      reading.is_general = true;
      reading.rule = std::move(general);
      return;
    }
  }

  /// Keeps the packs that can have any number of dimensions in the text, too.
  Rule with_packs_in_text(Rule general) {
    const Rule all = general;
    std::erase_if(general.packs, [&](Atom pack) {
      Rule single = all;
      single.packs = {pack};
      return specializations_in_text(single).empty();
    });
    return general;
  }

  /// Returns the readings that are the specializations of a general form; none if it has others, too.
  std::vector<Reading*> specializations_in_text(const Rule& general) {
    if (general.packs.empty()) return {};
    std::vector<Reading*> found;
    for (const Rule& fixed : fixed_ranks(general, max_read_rank, library_, bank_, symbols_)) {
      const Ranks ranks = ranks_of(fixed);
      const auto same = std::ranges::find_if(readings_, [&](const Reading& each) {
        return each.ranks == ranks && is_renaming_of(*each.typed, fixed, bank_, symbols_);
      });
      if (same == readings_.end()) return {};
      found.push_back(&*same);
    }
    return found;
  }

  const RuleTemplate& template_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::vector<Reading> readings_;
};

}  // namespace

std::vector<Rule> readings_of(const RuleTemplate& rule, Library& library, TermBank& bank, Symbols& symbols) {
  return Readings(rule, library, bank, symbols).general();
}

}  // namespace rulemill::algebra
