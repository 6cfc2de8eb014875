#include "prove/farm/general_core.h"

#include <algorithm>

#include "algebra/rules/general_rules.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/instance_text.h"

namespace rulemill::prove {
namespace {

using algebra::Certificate;
using algebra::Rule;
using algebra::RuleRecord;
using algebra::Tier;
using Families = std::vector<std::vector<RuleRecord>>;

constexpr std::size_t derivations_at_once = 32;
constexpr std::size_t certificates_at_once = 8;

std::string named_text(Rule rule, const std::string& name, const algebra::TermBank& bank,
                       const algebra::Symbols& symbols) {
  rule.id = name;
  rule.tier = Tier::None;
  return algebra::to_string(rule, bank, symbols);
}

FamilyTexts texts_of(const Families& families, const std::vector<std::string>& names_of_rules,
                     const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  FamilyTexts result;
  for (std::size_t i = 0; i < families.size(); ++i) {
    auto& texts = result.texts.emplace_back();
    for (const RuleRecord& instance : families[i]) {
      const std::string name = names_of_rules[i] + "_" + std::to_string(texts.size() + 1);
      texts.push_back(named_text(instance.rule, name, bank, symbols));
      result.names.emplace(name, instance.rule.id);
    }
  }
  return result;
}

Families families_of(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                     algebra::Symbols& symbols) {
  const auto general = [&](const RuleRecord& record) { return algebra::is_general(record.rule, bank); };
  if (std::ranges::none_of(rules.rules, general)) return Families(rules.rules.size());
  return algebra::instances_within(rules.rules, library, bank, symbols);
}

class GeneralCore {
 public:
  GeneralCore(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
              Crew& crew)
      : rules_(rules),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        crew_(crew),
        families_(families_of(rules, library, bank, symbols)) {}

  std::size_t run() {
    order();
    const FamilyTexts family = texts_of(families_, names_, bank_, symbols_);
    InstanceTexts instances;
    std::vector<Outcome> outcomes;
    for (const std::size_t position : order_) {
      if (!family.texts[position].empty()) instances.emplace(names_[position], family.texts[position]);
      outcomes.push_back(outcome_of(position));
    }
    MinimalCore minimal(
        outcomes, crew_, derivations_at_once, library_,
        [&](const Outcome& outcome) {
          return statement_of(rules_.rules[position_.at(outcome.candidate)].rule, bank_, symbols_);
        },
        std::move(instances));
    minimal.find();
    return settle(minimal.rules(), family.names);
  }

 private:
  /// General forms first, which stay longest in the core, then rules that are core by themselves, then general forms of
  /// shortcuts; last what is known to be implied.
  void order() {
    std::multimap<std::string, const Rule*> instances;
    for (const auto& family : families_) {
      for (const RuleRecord& record : family)
        instances.emplace(algebra::renaming_key(record.rule, bank_), &record.rule);
    }
    const auto is_instance = [&](const Rule& rule) {
      const auto [begin, end] = instances.equal_range(algebra::renaming_key(rule, bank_));
      return std::any_of(begin, end,
                         [&](const auto& each) { return algebra::same_rule(*each.second, rule, bank_, symbols_); });
    };
    std::vector<int> places;
    for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
      const RuleRecord& record = rules_.rules[i];
      const bool general = algebra::is_general(record.rule, bank_), core = record.rule.tier == Tier::Core;
      const bool proved = record.certificate.kind == Certificate::Kind::Definitions;
      places.push_back(!proved || (!general && is_instance(record.rule)) ? implied : core ? (general ? 0 : 1) : 2);
      order_.push_back(i);
    }
    std::ranges::stable_sort(order_, {}, [&](std::size_t position) { return places[position]; });
    names_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      names_[order_[i]] = "c" + std::to_string(i + 1);
      position_.emplace(names_[order_[i]], order_[i]);
    }
    implied_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) implied_[i] = places[i] == implied;
  }

  Outcome outcome_of(std::size_t position) const {
    const RuleRecord& record = rules_.rules[position];
    Outcome outcome;
    outcome.candidate = names_[position];
    outcome.rule = named_text(record.rule, outcome.candidate, bank_, symbols_);
    outcome.kind = implied_[position] ? Outcome::Kind::Derived : Outcome::Kind::Proved;
    if (!implied_[position]) outcome.certificate = record.certificate.text;
    outcome.queries = record.statistics.queries;
    return outcome;
  }

  /// Tiers and certificates as they were found. What had a proof and has no steps by derivation keeps its proof.
  std::size_t settle(const std::vector<Outcome>& outcomes, std::map<std::string, std::string> names) {
    for (const auto& [name, position] : position_) names.emplace(name, rules_.rules[position].rule.id);
    std::vector<RuleRecord> before = rules_.rules;
    std::vector<bool> known(before.size());
    for (const Outcome& outcome : outcomes) {
      const std::size_t position = position_.at(outcome.candidate);
      RuleRecord& record = rules_.rules[position];
      known[position] = outcome.kind != Outcome::Kind::Unknown;
      const bool core = outcome.kind == Outcome::Kind::Proved;
      const bool was_later = algebra::comes_later(record);
      record.rule.tier = core ? Tier::Core : Tier::Shortcut;
      record.turn = was_later != core ? algebra::SearchTurn::ByTier
                    : was_later       ? algebra::SearchTurn::WithShortcuts
                                      : algebra::SearchTurn::WithCore;
      record.certificate =
          core ? Certificate{Certificate::Kind::Definitions, outcome.certificate}
               : Certificate{Certificate::Kind::Derivation, with_rules_renamed(outcome.certificate, names)};
      record.statistics = {outcome.queries, core ? 0 : outcome.instances};
    }
    algebra::RuleSet found;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (known[i]) found.rules.push_back(std::move(rules_.rules[i]));
    }
    certify_by(found, library_, bank_, symbols_, [&](const std::vector<std::string>& requests) {
      return crew_.run_each(TaskKind::Certify, requests, certificates_at_once);
    });
    return put_back(std::move(before), std::move(found.rules));
  }

  std::size_t put_back(std::vector<RuleRecord> before, std::vector<RuleRecord> found) {
    std::size_t left_out = 0;
    auto next = found.begin();
    rules_.rules.clear();
    for (RuleRecord& record : before) {
      if (next != found.end() && next->rule.id == record.rule.id) {
        rules_.rules.push_back(std::move(*next++));
      } else if (record.certificate.kind == Certificate::Kind::Definitions) {
        record.rule.tier = Tier::Core;
        rules_.rules.push_back(std::move(record));
      } else {
        ++left_out;
      }
    }
    return left_out;
  }

  static constexpr int implied = 3;

  algebra::RuleSet& rules_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  Crew& crew_;
  const Families families_;
  std::vector<std::size_t> order_;  // positions in the set
  std::vector<std::string> names_;  // by position
  std::vector<bool> implied_;       // by position
  std::map<std::string, std::size_t> position_;
};

}  // namespace

FamilyTexts family_texts(const algebra::RuleSet& rules, const std::vector<std::string>& names_of_rules,
                         algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols) {
  return texts_of(families_of(rules, library, bank, symbols), names_of_rules, bank, symbols);
}

std::size_t find_general_core(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols, Crew& crew) {
  return GeneralCore(rules, library, bank, symbols, crew).run();
}

}  // namespace rulemill::prove
