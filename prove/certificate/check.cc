#include "prove/certificate/check.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "algebra/rules/specialization.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/rule_instance_text.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

constexpr const char* query_separator = "-- next --";
constexpr const char* input_file = "scripts.smt2";
constexpr const char* output_file = "answers";

std::vector<std::string> read_lines(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::filesystem::path find_cvc5() {
  std::filesystem::path packed = runtime::current_executable().parent_path() / "cvc5";
  return std::filesystem::exists(packed) ? packed : runtime::find_program("cvc5");
}

Cvc5Run::Cvc5Run(const std::filesystem::path& cvc5, const std::vector<std::string>& scripts)
    : scripts_(scripts.size()), process_([&] {
        const std::string input = (folder_ / input_file).string();
        std::ofstream file(input);
        for (const std::string& script : scripts)
          file << "(reset)\n" << script << "(echo \"" << query_separator << "\")\n";
        if (!file.flush()) throw runtime::IoError(input, "cannot be written");
        // A Subprocess's stdout carries frames, so the shell redirects cvc5's output to a file.
        return std::vector<std::string>{
            "/bin/sh",     "-c",  R"(exec "$0" --incremental --lang=smt2 --tlimit-per=20000 "$1" > "$2")",
            cvc5.string(), input, (folder_ / output_file).string()};
      }()) {}

std::vector<std::vector<std::string>> Cvc5Run::answers(std::chrono::milliseconds timeout) {
  process_.receive(timeout);
  if (process_.end_reason().starts_with("time limit")) throw runtime::Error("cvc5", process_.end_reason());
  std::ifstream file(folder_ / output_file);
  std::vector<std::vector<std::string>> answers(1);
  for (const std::string& line : read_lines(file)) {
    if (line == query_separator || line == "\"" + std::string(query_separator) + "\"")
      answers.emplace_back();
    else
      answers.back().push_back(line);
  }
  answers.resize(scripts_);
  return answers;
}

double Cvc5Run::seconds() const {
  const auto written = [&](const char* file) { return std::filesystem::last_write_time(folder_ / file); };
  return std::chrono::duration<double>(written(output_file) - written(input_file)).count();
}

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
