#include "prove/certificate/check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "algebra/rules/specialization.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/rule_instance_text.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

void CheckCollector::add_name(const std::string& rule) {
  if (!names_.insert(rule).second) report_.findings.push_back({rule, "two rules have this name"});
}

void CheckCollector::add(const std::string& rule, std::size_t certificate_bytes, RecordCheck&& check) {
  sizes_.push_back(certificate_bytes);
  report_ += check.counts;
  for (std::string& finding : check.findings) report_.findings.push_back({rule, std::move(finding)});
  if (options_.cvc5.empty()) return;
  for (RecordCheck::Script& script : check.scripts) {
    scripts_.push_back({rule, std::move(script.claim), std::move(script.text)});
    if (scripts_.size() >= options_.cvc5_scripts_per_batch) start_cvc5();
  }
}

CheckReport CheckCollector::finish() {
  std::ranges::sort(sizes_);
  if (!sizes_.empty()) report_.median_bytes = sizes_[sizes_.size() / 2];
  if (!scripts_.empty()) start_cvc5();
  finish_cvc5();
  std::ranges::move(cvc5_findings_, std::back_inserter(report_.findings));
  return std::move(report_);
}

/// Starts cvc5 on the collected scripts, after the previous batch has finished.
void CheckCollector::start_cvc5() {
  finish_cvc5();
  running_ = std::exchange(scripts_, {});
  std::vector<std::string> texts;
  for (const Script& script : running_) texts.push_back(script.text);
  cvc5_.emplace(options_.cvc5, texts);
}

void CheckCollector::finish_cvc5() {
  if (!cvc5_) return;
  const auto answers = cvc5_->answers(options_.cvc5_timeout);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    runtime::throw_if_interrupted("check");
    const auto& [rule, claim, text] = running_[i];
    if (auto wrong = find_wrong_answer({claim, text}, answers[i], "cvc5"))
      cvc5_findings_.push_back({rule, std::move(*wrong)});
  }
  report_.seconds_cvc5 += cvc5_->seconds();
  cvc5_.reset();
}

using algebra::Certificate;
using algebra::RuleRecord;

CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options) {
  PremiseRules premises(find_definition_rule(rules), library, bank, symbols, PremiseRules::Texts::Verified);
  CheckCollector collector(options);
  Z3Session z3;
  for (const RuleRecord& record : rules.rules) collector.add_name(record.rule.id);
  const RecordCheckOptions record_options{options.seed, !options.cvc5.empty()};
  for (const RuleRecord& record : rules.rules) {
    runtime::throw_if_interrupted("check");
    collector.add(
        record.rule.id, record.certificate.text.size(),
        check_record(record, find_premises(record.certificate, premises), library, bank, symbols, z3, record_options));
  }
  return collector.finish();
}

namespace {

/// The names in the rule instances of a derivation; none if the certificate is malformed, which check() reports.
std::set<std::string> premises_of(const RuleRecord& record) {
  std::set<std::string> names;
  if (record.certificate.kind != Certificate::Kind::Derivation) return names;
  try {
    for (const std::string& line : parse_certificate(record.certificate.text, record.rule.id).rule_instances)
      names.insert(rule_name_in(line));
  } catch (const runtime::InputError&) {
    names.clear();
  }
  return names;
}

}  // namespace

algebra::RuleSet select_with_premises(const algebra::RuleSet& rules, const std::set<std::string>& names) {
  // Premises are proved from the definitions, so that one step finds all of them.
  std::set<std::string> needed = names;
  const auto is_needed = [&](const RuleRecord& record) {
    return std::ranges::any_of(needed,
                               [&](const std::string& name) { return algebra::is_named_after(name, record.rule.id); });
  };
  for (const RuleRecord& record : rules.rules) {
    if (is_needed(record)) needed.merge(premises_of(record));
  }
  algebra::RuleSet selected;
  selected.provenance = rules.provenance;
  std::ranges::copy_if(rules.rules, std::back_inserter(selected.rules), is_needed);
  return selected;
}

}  // namespace rulemill::prove
