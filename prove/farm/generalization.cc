#include "prove/farm/generalization.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "algebra/rules/general_rules.h"
#include "algebra/terms/open_parameters.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "check/kernel/proof.h"
#include "prove/certificate/certificate.h"
#include "prove/farm/general_core.h"
#include "prove/farm/outcome.h"

namespace rulemill::prove {
namespace {

using algebra::Rule;
using algebra::RuleRecord;

/// Rules up to renaming, each with the names of those that it stands for.
class Distinct {
 public:
  Distinct(const algebra::TermBank& bank, algebra::Symbols& symbols) : bank_(bank), symbols_(symbols) {}

  void add(RuleRecord record) {
    const std::string key = algebra::renaming_key(record.rule, bank_);
    const auto [begin, end] = by_key_.equal_range(key);
    for (auto known = begin; known != end; ++known) {
      const Rule& rule = records_[known->second].rule;
      if (rule.groups.size() != record.rule.groups.size() || !algebra::same_rule(rule, record.rule, bank_, symbols_))
        continue;
      covers_[known->second].second.push_back(record.rule.id);
      return;
    }
    by_key_.emplace(key, records_.size());
    covers_.push_back({record.rule.id, {record.rule.id}});
    records_.push_back(std::move(record));
  }

  std::vector<RuleRecord>& records() { return records_; }
  /// How many rules one stands for, itself among them.
  std::size_t asked(std::size_t record) const { return covers_[record].second.size(); }
  std::vector<std::pair<std::string, std::vector<std::string>>>& covers() { return covers_; }

 private:
  const algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  std::vector<RuleRecord> records_;
  std::vector<std::pair<std::string, std::vector<std::string>>> covers_;
  std::multimap<std::string, std::size_t> by_key_;
};

/// A rule with another word, to be proved.
struct Reworded {
  std::size_t of = 0, in_class = 0;  // the rule, and which of its words
  RuleRecord record;
};

/// Rules with other words in the place of a parameter's that are proved as they stand, under no further condition. A
/// word chooses among branches of a definition, so each case has a proof of its own, and is a rule of its own.
void add_words(Distinct& distinct, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
               Crew& crew, GeneralizationReport& report) {
  constexpr std::uint64_t seed = 1;
  std::vector<Reworded> cases;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> missing;  // words of a class without a proof
  std::map<std::pair<std::size_t, std::size_t>, std::string> names;    // of its parameter
  for (std::size_t i = 0; i < distinct.records().size(); ++i) {
    const RuleRecord& record = distinct.records()[i];
    const std::vector<algebra::WordClass> classes = algebra::word_classes(record.rule, bank);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].others.empty()) continue;
      missing[{i, c}] = classes[c].others.size();
      names[{i, c}] = classes[c].name;
      for (const std::string& word : classes[c].others) {
        auto other = algebra::with_word(record.rule, classes[c], word, library, bank, symbols);
        if (!other || check::evaluate(*other, bank, symbols, seed)) continue;
        Reworded& reworded = cases.emplace_back(Reworded{i, c, record});
        reworded.record.rule = std::move(*other);
        reworded.record.rule.id += "_" + word;
        reworded.record.example.clear();
      }
    }
  }
  std::vector<std::string> requests;
  for (const Reworded& each : cases) {
    requests.push_back(certificate_request(statement_of(each.record.rule, bank, symbols),
                                           algebra::Certificate::Kind::Definitions, {}, {}));
  }
  const auto failed = [](const std::string&) { return std::string("\n") + unfollowed; };
  const std::vector<std::string> certificates = crew.run_each(TaskKind::Certify, requests, 1, failed);
  const std::size_t count = distinct.records().size();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!is_followed(certificates[i])) continue;
    cases[i].record.certificate = {algebra::Certificate::Kind::Definitions, certificates[i]};
    --missing.at({cases[i].of, cases[i].in_class});
    distinct.add(std::move(cases[i].record));
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::set<std::string> free;
    for (auto each = missing.lower_bound({i, 0}); each != missing.lower_bound({i + 1, 0}); ++each) {
      if (each->second == 0) free.insert(names.at(each->first));
    }
    if (!free.empty()) report.any_word += distinct.asked(i);
    for (const std::string& name : free) report.by_word[name] += distinct.asked(i);
  }
}

}  // namespace

algebra::RuleSet generalized(const algebra::RuleSet& rules, const GeneralizationChoice& choice,
                             algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols, Crew& crew,
                             GeneralizationReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<const RuleRecord*> asked;
  std::vector<std::string> texts;
  for (const RuleRecord& record : rules.rules) {
    if (record.rule.tier != algebra::Tier::Core && !choice.shortcuts) continue;
    asked.push_back(&record);
    texts.push_back(algebra::to_string(record.rule, bank, symbols));
  }
  const auto failed = [](const std::string&) { return pack(Outcome{}); };
  const std::vector<std::string> answers = crew.run_each(TaskKind::Generalize, texts, 1, failed);
  Distinct distinct(bank, symbols);
  report.asked = asked.size();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Outcome outcome = unpack_outcome(answers[i]);
    RuleRecord record = *asked[i];
    if (outcome.kind == Outcome::Kind::Proved) {
      record.rule = algebra::parse_rules(outcome.rule, "rule", library, bank, symbols).at(0);
      record.certificate = {algebra::Certificate::Kind::Definitions, outcome.certificate};
      record.example.clear();
    } else if (record.rule.tier != algebra::Tier::Core) {
      continue;
    }
    report.any_rank += record.rule.groups.empty() ? 0 : 1;
    const std::vector<std::string> open = algebra::open_names(record.rule, bank);
    report.any_parameter += open.empty() ? 0 : 1;
    for (const std::string& name : open) ++report.by_parameter[name];
    distinct.add(std::move(record));
  }
  if (choice.words) add_words(distinct, library, bank, symbols, crew, report);
  algebra::RuleSet result;
  result.provenance = rules.provenance;
  result.rules = std::move(distinct.records());
  report.general = result.rules.size();
  report.covers = std::move(distinct.covers());
  result.funnel = rules.funnel;
  result.funnel.emplace_back("at any rank", report.any_rank);
  result.funnel.emplace_back("for any parameter", report.any_parameter);
  if (choice.words) result.funnel.emplace_back("for any word", report.any_word);
  result.funnel.emplace_back("general", report.general);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

void find_core(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
               Crew& crew, GeneralizationReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t left_out = find_general_core(rules, library, bank, symbols, crew);
  for (const RuleRecord& record : rules.rules)
    (record.rule.tier == algebra::Tier::Core ? report.core : report.shortcuts) += 1;
  if (left_out > 0) rules.funnel.emplace_back("general, left out: no steps to follow", left_out);
  rules.funnel.emplace_back("core with general forms", report.core);
  rules.funnel.emplace_back("shortcut with general forms", report.shortcuts);
  report.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

algebra::RuleSet with_general(const algebra::RuleSet& rules, const algebra::RuleSet& general,
                              const algebra::TermBank& bank) {
  algebra::RuleSet result = rules;
  std::set<std::string> known;
  for (const RuleRecord& record : rules.rules) known.insert(record.rule.id);
  result.funnel = general.funnel;
  for (RuleRecord record : general.rules) {
    const bool general_form = algebra::is_general(record.rule, bank);
    if (!general_form && known.contains(record.rule.id)) continue;
    if (general_form) record.rule.id += "g";
    result.rules.push_back(std::move(record));
  }
  return result;
}

}  // namespace rulemill::prove
