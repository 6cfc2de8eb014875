#include "prove/core/general_core.h"

#include <algorithm>
#include <utility>

#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/rule_instance_text.h"

namespace rulemill::prove {
namespace {

using algebra::Certificate;
using algebra::Rule;
using algebra::RuleRecord;
using algebra::Tier;
using Specializations = std::vector<std::vector<RuleRecord>>;  // by rule of the set

std::string named_text(Rule rule, const std::string& name, const algebra::TermBank& bank,
                       const algebra::Symbols& symbols) {
  rule.id = name;
  rule.tier = Tier::None;
  return algebra::to_string(rule, bank, symbols);
}

SpecializationTexts texts_of(const Specializations& specializations, const std::vector<std::string>& names_of_rules,
                             const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  SpecializationTexts result;
  for (std::size_t i = 0; i < specializations.size(); ++i) {
    auto& texts = result.texts.emplace_back();
    for (const RuleRecord& specialization : specializations[i]) {
      const std::string name = names_of_rules[i] + "_" + std::to_string(texts.size() + 1);
      texts.push_back(named_text(specialization.rule, name, bank, symbols));
      result.names.emplace(name, specialization.rule.id);
    }
  }
  return result;
}

Specializations specializations_of(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                   algebra::Symbols& symbols) {
  const auto general = [&](const RuleRecord& record) { return algebra::is_general(record.rule, bank); };
  if (std::ranges::none_of(rules.rules, general)) return Specializations(rules.rules.size());
  return algebra::specializations_within(rules.rules, library, bank, symbols);
}

class GeneralCore {
 public:
  GeneralCore(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
              TaskScheduler& scheduler)
      : rules_(rules),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        scheduler_(scheduler),
        specializations_(specializations_of(rules, library, bank, symbols)) {}

  std::size_t run() {
    order();
    const SpecializationTexts specialized = texts_of(specializations_, names_, bank_, symbols_);
    SpecializationsByRule by_rule;
    std::vector<CandidateResult> results;
    for (const std::size_t position : order_) {
      if (!specialized.texts[position].empty()) by_rule.emplace(names_[position], specialized.texts[position]);
      results.push_back(result_of(position));
      // A derivation is replaced by one from the new core.
      Certificate& certificate = rules_.rules[position].certificate;
      if (certificate.kind == Certificate::Kind::Derivation) certificate.text = {};
    }
    MinimalCore minimal(
        std::move(results), scheduler_, library_,
        [&](const CandidateResult& result) {
          return statement_of(rules_.rules[position_.at(result.candidate)].rule, bank_, symbols_);
        },
        std::move(by_rule));
    minimal.find();
    return store_results(std::move(minimal.rules()), specialized.names);
  }

 private:
  /// The order in which MinimalCore gets the rules.
  enum class Group : std::uint8_t { GeneralCore, OtherCore, GeneralDerived, Implied };

  /// Orders and names the rules. General core rules come first, because the last rules are eliminated first; rules that
  /// are known to be implied come last.
  void order() {
    std::multimap<std::string, const Rule*> by_key;
    for (const auto& specializations : specializations_) {
      for (const RuleRecord& record : specializations)
        by_key.emplace(algebra::renaming_key(record.rule, bank_), &record.rule);
    }
    const auto is_specialization = [&](const Rule& rule) {
      const auto [begin, end] = by_key.equal_range(algebra::renaming_key(rule, bank_));
      return std::any_of(
          begin, end, [&](const auto& each) { return algebra::is_renaming_of(*each.second, rule, bank_, symbols_); });
    };
    std::vector<Group> groups;
    for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
      const RuleRecord& record = rules_.rules[i];
      const bool is_general = algebra::is_general(record.rule, bank_);
      const bool is_core = record.rule.tier == Tier::Core;
      const bool is_proved = record.certificate.kind == Certificate::Kind::Definitions;
      if (!is_proved || (!is_general && is_specialization(record.rule)))
        groups.push_back(Group::Implied);
      else
        groups.push_back(!is_core ? Group::GeneralDerived : is_general ? Group::GeneralCore : Group::OtherCore);
      order_.push_back(i);
    }
    std::ranges::stable_sort(order_, {}, [&](std::size_t position) { return groups[position]; });
    names_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      names_[order_[i]] = "c" + std::to_string(i + 1);
      position_.emplace(names_[order_[i]], order_[i]);
    }
    implied_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) implied_[i] = groups[i] == Group::Implied;
  }

  CandidateResult result_of(std::size_t position) const {
    const RuleRecord& record = rules_.rules[position];
    CandidateResult result;
    result.candidate = names_[position];
    result.rule = named_text(record.rule, result.candidate, bank_, symbols_);
    result.status = implied_[position] ? RuleStatus::Derived : RuleStatus::Proved;
    if (!implied_[position]) result.certificate = record.certificate.text;
    result.queries = record.statistics.queries;
    return result;
  }

  /// Sets tiers and certificates to the results. A rule that had a proof and has no checkable derivation keeps its
  /// proof. Returns the number of dropped rules.
  std::size_t store_results(std::vector<CandidateResult> results, std::map<std::string, std::string> names) {
    for (const auto& [name, position] : position_) names.emplace(name, rules_.rules[position].rule.id);
    std::map<std::size_t, RuleRecord> proved;  // the original records of rules that may not be found
    std::vector<bool> known(rules_.rules.size());
    for (CandidateResult& result : results) {
      const std::size_t position = position_.at(result.candidate);
      RuleRecord& record = rules_.rules[position];
      known[position] = result.status != RuleStatus::Unknown;
      const bool core = result.status == RuleStatus::Proved;
      if (!core && record.certificate.kind == Certificate::Kind::Definitions) proved.emplace(position, record);
      const bool was_late = algebra::is_late(record);
      record.rule.tier = core ? Tier::Core : Tier::Derived;
      record.phase = was_late != core ? algebra::SearchPhase::ByTier
                     : was_late       ? algebra::SearchPhase::WithDerived
                                      : algebra::SearchPhase::WithCore;
      record.certificate =
          core ? Certificate{Certificate::Kind::Definitions, std::move(result.certificate)}
               : Certificate{Certificate::Kind::Derivation, with_rules_renamed(result.certificate, names)};
      record.statistics = {result.queries, core ? 0 : result.instance_count};
      result = {};
    }
    algebra::RuleSet found;
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < known.size(); ++i) {
      ids.push_back(rules_.rules[i].rule.id);
      if (known[i]) found.rules.push_back(std::move(rules_.rules[i]));
    }
    certify_with(found, library_, bank_, symbols_, [&](std::size_t count, const auto& request, const auto& take) {
      scheduler_.answer_each({TaskKind::Certify, count, request, take, {}});
    });
    return combine(ids, std::move(proved), std::move(found.rules));
  }

  /// Makes the set from the found rules, and from the original of each other rule that has a proof. Returns the number
  /// of the rest.
  std::size_t combine(const std::vector<std::string>& ids, std::map<std::size_t, RuleRecord> proved,
                      std::vector<RuleRecord> found) {
    std::size_t dropped = 0;
    auto next = found.begin();
    rules_.rules.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (next != found.end() && next->rule.id == ids[i]) {
        rules_.rules.push_back(std::move(*next++));
      } else if (const auto original = proved.find(i); original != proved.end()) {
        original->second.rule.tier = Tier::Core;
        rules_.rules.push_back(std::move(original->second));
      } else {
        ++dropped;
      }
    }
    return dropped;
  }

  algebra::RuleSet& rules_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  TaskScheduler& scheduler_;
  const Specializations specializations_;
  std::vector<std::size_t> order_;  // positions in the set
  std::vector<std::string> names_;  // by position
  std::vector<bool> implied_;       // by position
  std::map<std::string, std::size_t> position_;
};

}  // namespace

SpecializationTexts specialization_texts(const algebra::RuleSet& rules, const std::vector<std::string>& names_of_rules,
                                         algebra::Library& library, algebra::TermBank& bank,
                                         algebra::Symbols& symbols) {
  return texts_of(specializations_of(rules, library, bank, symbols), names_of_rules, bank, symbols);
}

std::size_t find_general_core(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols, TaskScheduler& scheduler) {
  return GeneralCore(rules, library, bank, symbols, scheduler).run();
}

}  // namespace rulemill::prove
