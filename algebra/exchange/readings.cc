#include "algebra/exchange/readings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "algebra/exchange/fixed_forms.h"
#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/split_positions.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {
namespace {

using runtime::Json;

constexpr std::size_t max_readings = 8;
constexpr std::uint32_t max_read_rank = 4;

/// In imported rules, a split without a position is at the end of the first argument of the nearest concatenation
/// below: for each size parameter that cuts an axis and that no other size determines, adds its equality with the
/// nearest boundary on that axis, if any, to the condition. Returns the rule unchanged if it does not type, or only
/// under a narrowing.
Rule infer_split_positions(const Rule& rule, TermBank& bank, Symbols& symbols) {
  const auto typed = try_typing(rule, bank, symbols);
  if (!typed || !typed->narrowing.conditions.empty()) return rule;
  std::set<Atom> determined;
  for (const Shape& shape : typed->rule.shapes) {
    for (const Poly& dim : shape) {
      for (const Atom atom : symbols.atoms(dim)) determined.insert(atom);
    }
  }
  Rule result = typed->rule;
  const std::vector<TermId> roots = outputs_of(result);
  std::unordered_map<NodeId, std::vector<Poly>> slots;
  for (const NodeId id : bank.nodes(roots)) slots.emplace(id, size_slots(id, *typed, bank));
  const PositionContext context{bank, typed->types, slots, {}};
  bool found = false;
  for (const NodeId id : bank.nodes(roots)) {
    const Node& node = bank.node(id);
    const OperatorInstance& instance = bank.library().instance(node.instance);
    for (std::uint32_t p = 0; p < node.sizes.size(); ++p) {
      const std::optional<Atom> size = node.sizes[p].atom();
      if (!size || determined.contains(*size)) continue;
      const std::optional<Poly> position = nearest_split_position(context, id, instance.first_size_parameter + p);
      if (!position || *position == node.sizes[p]) continue;
      result.condition.push_back({Relation::Eq, node.sizes[p], *position});
      determined.insert(*size);
      found = true;
    }
  }
  return found ? result : rule;
}

using Ranks = std::map<std::string, std::uint32_t>;  // by variable

struct Reading {
  Ranks ranks;
  Rule rule;
  std::optional<Rule> typed = {};
  bool is_narrowed = false;  // by its types, which the text does not state
  bool is_general = false;   // `rule` is a general form
  bool covered = false;      // by the general form of another reading
};

class Readings {
 public:
  Readings(const Json& statement, const std::vector<std::string>& texts, const std::string& place, Library& library,
           TermBank& bank, Symbols& symbols)
      : library_(library),
        bank_(bank),
        symbols_(symbols),
        states_shapes_(statement["states_shapes"].get<bool>()),
        inferred_sizes_(statement.at("inferred_sizes").get<std::set<std::string>>()) {
    for (const std::string& text : texts) readings_.push_back(read(text, place));
  }

  std::vector<Rule> rules() {
    const bool any_typed = std::ranges::any_of(readings_, [](const Reading& each) { return each.typed.has_value(); });
    if (!any_typed) return {readings_[0].rule};  // the prover states the type error
    std::erase_if(readings_, [](const Reading& each) { return !each.typed; });
    for (Reading& reading : readings_) {
      if (!states_shapes_ && !reading.covered && !reading.is_narrowed) generalize(reading);
    }
    std::vector<Rule> result;
    for (Reading& reading : readings_) {
      if (!reading.covered && result.size() < max_readings) result.push_back(std::move(reading.rule));
    }
    return result;
  }

 private:
  Reading read(const std::string& text, const std::string& place) {
    Rule rule = parse_rule(text, place, library_, bank_, symbols_);
    if (!states_shapes_) rule = infer_split_positions(rule, bank_, symbols_);
    Reading reading{ranks_of(rule), std::move(rule)};
    if (auto typed = try_typing(reading.rule, bank_, symbols_)) {
      reading.typed = std::move(typed->rule);
      reading.is_narrowed = !typed->narrowing.conditions.empty();
      if (reading.is_narrowed && determines_inferred_sizes(typed->narrowing.conditions)) reading.rule = *reading.typed;
    }
    return reading;
  }

  /// Whether each condition is the value of an inferred size, so that it narrows nothing that the statement has.
  bool determines_inferred_sizes(const std::vector<SizeCondition>& conditions) const {
    std::set<std::string> determined;
    return std::ranges::all_of(conditions, [&](const SizeCondition& each) {
      const auto is_inferred = [&](const Poly& side) {
        const auto atom = side.atom();
        return atom && symbols_.kind(*atom) == Symbols::Kind::Size && inferred_sizes_.contains(symbols_.name(*atom)) &&
               determined.insert(symbols_.name(*atom)).second;
      };
      return each.relation == Relation::Eq && (is_inferred(each.left) || is_inferred(each.right));
    });
  }

  Ranks ranks_of(const Rule& rule) const {
    Ranks ranks;
    for (const TermId variable : rule.variables) ranks[bank_.term(variable).name] = bank_.rank(variable);
    return ranks;
  }

  /// Replaces the reading by a general form of which all specializations are readings, and marks those as covered.
  void generalize(Reading& reading) {
    const Rule& typed = *reading.typed;
    const Rule candidates[] = {with_outer_dimension(typed, true, library_, bank_, symbols_).value_or(typed),
                               with_outer_dimension(typed, false, library_, bank_, symbols_).value_or(typed), typed};
    for (const Rule& candidate : candidates) {
      Rule general = with_packs_in_readings(generalize_rank(candidate, library_, bank_, symbols_));
      const std::vector<Reading*> specializations = specializations_in_readings(general);
      if (specializations.empty()) continue;
      for (Reading* each : specializations) each->covered = !each->is_general;
      reading.covered = false;
      reading.is_general = true;
      reading.rule = std::move(general);
      return;
    }
  }

  /// Keeps the packs that can have any number of dimensions in the readings, too.
  Rule with_packs_in_readings(Rule general) {
    const Rule all = general;
    std::erase_if(general.packs, [&](Atom pack) {
      Rule single = all;
      single.packs = {pack};
      return specializations_in_readings(single).empty();
    });
    return general;
  }

  /// Returns the readings that are the specializations of a general form; none if it has others, too.
  std::vector<Reading*> specializations_in_readings(const Rule& general) {
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

  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  const bool states_shapes_;
  const std::set<std::string> inferred_sizes_;
  std::vector<Reading> readings_;
};

std::vector<Rule> rules_of(const Json& statement, const std::string& place, Library& library, TermBank& bank,
                           Symbols& symbols) {
  const auto texts = statement["readings"].get<std::vector<std::string>>();
  if (statement.contains("states_shapes")) return Readings(statement, texts, place, library, bank, symbols).rules();
  // Of two sizes that typing equates, the one that was interned first remains: that which the text has first.
  for (const std::string& size : statement.at("sizes").get<std::vector<std::string>>()) symbols.size(size);
  std::vector<Rule> rules;
  for (const std::string& text : texts) {
    Rule rule = parse_rule(text, place, library, bank, symbols);
    if (const auto typed = try_typing(rule, bank, symbols)) {
      std::erase_if(rule.condition, [&](const SizeCondition& each) {
        return std::ranges::find(typed->facts, each) != typed->facts.end();
      });
    }
    rules.push_back(statement.contains("infers_positions") ? infer_split_positions(rule, bank, symbols) : rule);
  }
  return rules;
}

}  // namespace

std::string without_place(const runtime::Error& error) {
  const std::string_view message = error.what();
  return std::string(error.where().empty() ? message : message.substr(error.where().size() + 2));
}

std::vector<ImportedRule> read_statements(const Json& statements, Library& library, TermBank& bank, Symbols& symbols) {
  std::vector<ImportedRule> rules;
  for (const Json& each : statements) {
    const std::string name = each.at("name").get<std::string>(), place = each.at("place").get<std::string>();
    try {
      if (!each.contains("readings")) throw runtime::InputError("", each.at("problem").get<std::string>());
      std::vector<Rule> readings = rules_of(each, place, library, bank, symbols);
      for (std::size_t r = 0; r < readings.size(); ++r) {
        readings[r].id = readings.size() == 1 ? name : name + "_" + std::to_string(r + 1);
        rules.push_back({readings[r].id, place, std::move(readings[r]), {}});
      }
    } catch (const runtime::InputError& error) {
      rules.push_back({name, place, std::nullopt, without_place(error)});
    }
  }
  return rules;
}

}  // namespace rulemill::algebra
