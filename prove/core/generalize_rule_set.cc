#include "prove/core/generalize_rule_set.h"

#include <optional>
#include <set>

#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/symbolic_parameters.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/record_check.h"
#include "prove/core/general_core.h"
#include "prove/tasks/candidate_result.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::prove {
namespace {

using algebra::Rule;
using algebra::RuleRecord;

/// The positions of rules in a list, by their form up to renaming.
class RulePositions {
 public:
  RulePositions(const algebra::TermBank& bank, algebra::Symbols& symbols) : bank_(bank), symbols_(symbols) {}

  /// Returns the position of a rule of the list that is the same up to renaming.
  std::optional<std::size_t> find(const Rule& wanted, const std::vector<RuleRecord>& records) const {
    const auto [begin, end] = by_key_.equal_range(algebra::renaming_key(wanted, bank_));
    for (auto known = begin; known != end; ++known) {
      const Rule& rule = records[known->second].rule;
      if (rule.packs.size() == wanted.packs.size() && algebra::is_renaming_of(rule, wanted, bank_, symbols_))
        return known->second;
    }
    return std::nullopt;
  }
  void add(const Rule& rule, std::size_t position) { by_key_.emplace(algebra::renaming_key(rule, bank_), position); }

 private:
  const algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  std::multimap<std::string, std::size_t> by_key_;
};

/// Rules without duplicates up to renaming, each with the names of the rules that it replaces.
class DistinctRules {
 public:
  DistinctRules(const algebra::TermBank& bank, algebra::Symbols& symbols) : positions_(bank, symbols) {}

  void add(RuleRecord record) {
    if (const auto known = positions_.find(record.rule, records_)) {
      replaced_[*known].second.push_back(record.rule.id);
      return;
    }
    positions_.add(record.rule, records_.size());
    replaced_.push_back({record.rule.id, {record.rule.id}});
    records_.push_back(std::move(record));
  }

  std::vector<RuleRecord>& records() { return records_; }
  /// Returns how many rules a record replaces, including itself.
  std::size_t replaced_count(std::size_t record) const { return replaced_[record].second.size(); }
  std::vector<std::pair<std::string, std::vector<std::string>>>& replaced() { return replaced_; }

 private:
  RulePositions positions_;
  std::vector<RuleRecord> records_;
  std::vector<std::pair<std::string, std::vector<std::string>>> replaced_;
};

/// A rule with another enum value, to be proved.
struct EnumVariant {
  std::size_t original = 0, enum_class = 0;  // positions: of the rule, and of the class among those of the rule
  RuleRecord record;
};

/// Adds rules with other enum values that are proved without a further condition. An enum value selects branches of a
/// definition, so each value needs its own proof and its own rule.
void add_enum_variants(DistinctRules& distinct, algebra::Library& library, algebra::TermBank& bank,
                       algebra::Symbols& symbols, TaskScheduler& scheduler, GeneralizationReport& report) {
  constexpr std::uint64_t seed = 1;
  std::vector<EnumVariant> variants;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> unproved;  // values of a class without a proof
  std::map<std::pair<std::size_t, std::size_t>, std::string> names;     // of its parameter
  for (std::size_t i = 0; i < distinct.records().size(); ++i) {
    const RuleRecord& record = distinct.records()[i];
    const std::vector<algebra::EnumClass> classes = algebra::enum_classes(record.rule, bank);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].alternatives.empty()) continue;
      unproved[{i, c}] = classes[c].alternatives.size();
      names[{i, c}] = classes[c].name;
      for (const std::string& value : classes[c].alternatives) {
        auto other = algebra::with_enum_value(record.rule, classes[c], value, library, bank, symbols);
        if (!other || evaluate_at_samples(*other, bank, symbols, seed).difference) continue;
        EnumVariant& variant = variants.emplace_back(EnumVariant{i, c, record});
        variant.record.rule = std::move(*other);
        variant.record.rule.id += "_" + value;
        variant.record.example.clear();
      }
    }
  }
  std::vector<std::string> requests;
  for (const EnumVariant& variant : variants) {
    requests.push_back(certificate_request(statement_of(variant.record.rule, bank, symbols),
                                           algebra::Certificate::Kind::Definitions, {}, {}));
  }
  const auto failed = [](const std::string&) { return missing_proof("its task failed"); };
  const std::vector<std::string> certificates = scheduler.answer_items(TaskKind::Certify, requests, failed);
  const std::size_t count = distinct.records().size();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!has_checkable_proof(certificates[i])) continue;
    variants[i].record.certificate = {algebra::Certificate::Kind::Definitions, certificates[i]};
    --unproved.at({variants[i].original, variants[i].enum_class});
    distinct.add(std::move(variants[i].record));
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::set<std::string> parameters;
    for (auto each = unproved.lower_bound({i, 0}); each != unproved.lower_bound({i + 1, 0}); ++each) {
      if (each->second == 0) parameters.insert(names.at(each->first));
    }
    if (!parameters.empty()) report.any_enum_value += distinct.replaced_count(i);
    for (const std::string& name : parameters) report.by_enum_parameter[name] += distinct.replaced_count(i);
  }
}

}  // namespace

algebra::RuleSet generalize_rule_set(const algebra::RuleSet& rules, const GeneralizationOptions& options,
                                     algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
                                     TaskScheduler& scheduler, GeneralizationReport& report) {
  const runtime::Stopwatch watch;
  std::vector<const RuleRecord*> originals;
  std::vector<std::string> texts;
  for (const RuleRecord& record : rules.rules) {
    if (record.rule.tier != algebra::Tier::Core && !options.include_derived) continue;
    originals.push_back(&record);
    texts.push_back(algebra::to_string(record.rule, bank, symbols));
  }
  const auto failed = [](const std::string&) { return pack(CandidateResult{}); };
  const std::vector<std::string> answers = scheduler.answer_items(TaskKind::Generalize, texts, failed);
  DistinctRules distinct(bank, symbols);
  report.rules_considered = originals.size();
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const CandidateResult general = unpack_result(answers[i]);
    RuleRecord record = *originals[i];
    if (general.status == RuleStatus::Proved) {
      record.rule = algebra::parse_rule(general.rule, "rule", library, bank, symbols);
      record.certificate = {algebra::Certificate::Kind::Definitions, general.certificate};
      record.example.clear();
    } else if (record.rule.tier != algebra::Tier::Core) {
      continue;
    }
    report.any_rank += record.rule.packs.empty() ? 0 : 1;
    const std::vector<std::string> parameters = algebra::symbolic_parameter_names(record.rule, bank);
    report.any_parameter += parameters.empty() ? 0 : 1;
    for (const std::string& name : parameters) ++report.by_parameter[name];
    distinct.add(std::move(record));
  }
  if (options.enum_values) add_enum_variants(distinct, library, bank, symbols, scheduler, report);
  algebra::RuleSet result;
  result.provenance = rules.provenance;
  result.rules = std::move(distinct.records());
  report.general = result.rules.size();
  report.replaced = std::move(distinct.replaced());
  result.funnel = rules.funnel;
  report.seconds = watch.seconds();
  return result;
}

void find_core_of_general_rules(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                algebra::Symbols& symbols, TaskScheduler& scheduler, GeneralizationReport& report) {
  const runtime::Stopwatch watch;
  report.dropped = find_general_core(rules, library, bank, symbols, scheduler);
  for (const RuleRecord& record : rules.rules)
    (record.rule.tier == algebra::Tier::Core ? report.core : report.derived) += 1;
  report.seconds += watch.seconds();
}

void append_counts(const GeneralizationReport& report, std::vector<std::pair<std::string, std::uint64_t>>& funnel) {
  funnel.emplace_back("at any rank", report.any_rank);
  funnel.emplace_back("for any parameter", report.any_parameter);
  if (report.any_enum_value > 0) funnel.emplace_back("for any word", report.any_enum_value);
  funnel.emplace_back("general", report.general);
  if (report.dropped > 0) funnel.emplace_back("general, dropped: no checkable proof", report.dropped);
  funnel.emplace_back("core with general forms", report.core);
  funnel.emplace_back("derived rules with general forms", report.derived);
}

algebra::RuleSet append_general_rules(algebra::RuleSet rules, algebra::RuleSet general, const algebra::TermBank& bank,
                                      algebra::Symbols& symbols) {
  std::set<std::string> names;
  RulePositions known(bank, symbols);
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    names.insert(rules.rules[i].rule.id);
    known.add(rules.rules[i].rule, i);
  }
  rules.funnel = std::move(general.funnel);
  for (RuleRecord& record : general.rules) {
    if (known.find(record.rule, rules.rules)) continue;
    if (names.contains(record.rule.id)) record.rule.id += "g";
    rules.rules.push_back(std::move(record));
  }
  return rules;
}

}  // namespace rulemill::prove
