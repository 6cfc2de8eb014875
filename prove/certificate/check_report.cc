#include "prove/certificate/check_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/process/interrupt.h"

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

}  // namespace rulemill::prove
