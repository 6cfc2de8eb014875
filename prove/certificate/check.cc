#include "prove/certificate/check.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "algebra/rules/specialization.h"
#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_text.h"
#include "check/evaluate.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/cvc5.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/solver/z3_session.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Certificate;
using algebra::Rule;
using algebra::RuleRecord;

namespace {

class Checker {
 public:
  Checker(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
          const CheckOptions& options)
      : rules_(rules),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        options_(options),
        premises_(rules, library, bank, symbols) {}

  CheckReport run() {
    std::set<std::string> names;
    for (const RuleRecord& record : rules_.rules) {
      if (!names.insert(record.rule.id).second) add_finding(record.rule.id, "two rules have this name");
    }
    std::vector<std::uint64_t> sizes;
    for (const RuleRecord& record : rules_.rules) {
      runtime::throw_if_interrupted("check");
      sizes.push_back(record.certificate.text.size());
      try {
        check_rule(record);
      } catch (const runtime::Interrupted&) {
        throw;
      } catch (const runtime::Error& error) {
        add_finding(record.rule.id, error.what());
      } catch (const check::CheckError& error) {
        add_finding(record.rule.id, error.what);
      }
    }
    std::ranges::sort(sizes);
    if (!sizes.empty()) report_.median_bytes = sizes[sizes.size() / 2];
    if (!scripts_.empty()) start_cvc5();
    finish_cvc5();
    std::ranges::move(cvc5_findings_, std::back_inserter(report_.findings));
    return std::move(report_);
  }

 private:
  struct Script {
    std::string rule, claim, text;
  };

  void add_finding(const std::string& rule, std::string what) { report_.findings.push_back({rule, std::move(what)}); }

  void check_rule(const RuleRecord& record) {
    const std::string& id = record.rule.id;
    if (auto wrong = algebra::find_typing_error(record.rule, bank_, symbols_)) return add_finding(id, *wrong);
    if (record.certificate.kind == Certificate::Kind::None) return add_finding(id, "has no certificate");
    const CertificateText certificate = parse_certificate(record.certificate.text, "certificate of " + id);
    if (certificate.kind != record.certificate.kind)
      return add_finding(id, "its certificate is of another kind than the rule's record says");
    if (auto wrong = compare_statement(record.rule, certificate.statement)) return add_finding(id, *wrong);
    if (to_string(certificate) != record.certificate.text) {
      return add_finding(id, "malformed certificate: unexpected content");
    }
    if (certificate.definitions != definition_digests(record.rule, bank_)) {
      return add_finding(id, "its certificate is about other definitions than those of its operators");
    }
    const std::vector<std::string> assumed = algebra::assumed_laws(record.rule, bank_);
    if (certificate.assumed != assumed) return add_finding(id, "its certificate assumes other laws than its operators");
    report_.assuming_laws += assumed.empty() ? 0 : 1;
    if (auto wrong = evaluate(record.rule)) return add_finding(id, *wrong);
    if (auto wrong = evaluate_at_other_ranks(record.rule)) return add_finding(id, *wrong);
    if (certificate.kind == Certificate::Kind::Definitions) {
      ++report_.by_definitions;
      check_proof(record.rule, certificate);
    } else {
      ++report_.by_derivation;
      check_derivation(id, certificate);
    }
  }

  std::optional<std::string> evaluate(const Rule& rule) {
    const runtime::ScopedStopwatch watch(report_.seconds_evaluate);
    std::size_t tried = 0;
    auto wrong = check::evaluate(rule, bank_, symbols_, options_.seed, &tried);
    report_.evaluated += tried > 0 ? 1 : 0;
    return wrong;
  }

  /// Evaluates the rule with each dimension pack expanded to 0, 2 and 3 dimensions. Whether a dimension is a pack
  /// follows from the definitions, not from the rule.
  std::optional<std::string> evaluate_at_other_ranks(const Rule& rule) {
    for (const algebra::Atom pack : rule.packs) {
      for (const std::uint32_t rank : {0, 2, 3}) {
        const auto other = algebra::expand_pack(rule, pack, rank, library_, bank_, symbols_);
        const std::string what = symbols_.name(pack) + "... as " + std::to_string(rank) + " dimensions";
        if (!other && rank > 0) return what + ": an operator does more than pass it through";
        if (!other) continue;
        if (auto wrong = evaluate(*other)) return what + ": " + *wrong;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> compare_statement(const Rule& rule, const std::string& statement) {
    const std::vector<Rule> stated = algebra::parse_rules(statement, "statement", library_, bank_, symbols_);
    const bool same = stated.size() == 1 && stated[0].variables == rule.variables && stated[0].shapes == rule.shapes &&
                      stated[0].source == rule.source && stated[0].target == rule.target &&
                      stated[0].condition == rule.condition && stated[0].packs == rule.packs;
    if (same) return std::nullopt;
    return "its certificate states another rule";
  }

  /// Checks the proof against the rule itself; obligations are rebuilt, not read from the certificate.
  void check_proof(const Rule& rule, const CertificateText& certificate) {
    if (certificate.proof.starts_with(no_proof))
      return add_finding(rule.id, "proved, but the certificate has no checkable proof");
    std::vector<std::string> scripts;
    {
      const runtime::ScopedStopwatch watch(report_.seconds_kernel);
      check::Atoms atoms;
      check::Statement statement(rule, bank_, symbols_, atoms);
      const check::Proof proof =
          check::parse_proof(certificate.proof, "certificate of " + rule.id, certificate.proof_line, atoms);
      if (check::to_string(proof, atoms) != certificate.proof) {
        return add_finding(rule.id, "malformed certificate: unexpected content");
      }
      const check::CheckedProof checked = check::check_proof(proof, statement);
      report_.obligations += checked.obligations.size();
      report_.identities += checked.trivial;
      report_.without_obligations += checked.obligations.empty() ? 1 : 0;
      for (const check::Obligation& obligation : checked.obligations) {
        scripts.push_back(check::smtlib(obligation, atoms));
      }
    }
    for (const std::string& script : scripts) confirm(rule.id, "an obligation", script);
  }

  void check_derivation(const std::string& id, const CertificateText& certificate) {
    if (certificate.proof.starts_with(no_proof))
      return add_finding(id, "derived, but the certificate has no checkable proof");
    DerivationObligations checked;
    {
      const runtime::ScopedStopwatch watch(report_.seconds_kernel);
      checked =
          check_derivation_certificate(certificate, premises_.statements_for(certificate.rule_instances), library_);
      report_.obligations += checked.scripts.size() - 1;
      report_.identities += checked.trivial;
    }
    for (std::size_t i = 0; i < checked.scripts.size(); ++i)
      confirm(id, i == 0 ? "the rule instances imply the rule" : "the rule instances are valid", checked.scripts[i]);
  }

  /// Runs Z3 on a script, and schedules it for cvc5.
  void confirm(const std::string& rule, const std::string& claim, const std::string& text) {
    {
      const runtime::ScopedStopwatch watch(report_.seconds_z3);
      check_answer({rule, claim, text}, {z3_.answer(text)}, "Z3", report_.findings);
    }
    if (options_.cvc5.empty()) return;
    scripts_.push_back({rule, claim, text});
    if (scripts_.size() >= options_.cvc5_scripts_per_batch) start_cvc5();
  }

  static void check_answer(const Script& script, const std::vector<std::string>& answers, const std::string& solver,
                           std::vector<CheckFinding>& findings) {
    runtime::throw_if_interrupted("check");
    if (answers == std::vector<std::string>{"unsat"}) return;
    const std::string answer = answers.empty() ? "nothing" : "'" + answers[0] + "'";
    findings.push_back({script.rule, "not confirmed by " + solver + ", which answers " + answer + ": " + script.claim +
                                         " (" + script.text.substr(0, script.text.find('\n')) + ")"});
  }

  /// Starts cvc5 on the collected scripts, after the previous batch has finished.
  void start_cvc5() {
    finish_cvc5();
    running_ = std::exchange(scripts_, {});
    std::vector<std::string> texts;
    for (const Script& script : running_) texts.push_back(script.text);
    cvc5_.emplace(options_.cvc5, texts);
  }

  void finish_cvc5() {
    if (!cvc5_) return;
    const auto answers = cvc5_->answers(options_.cvc5_timeout);
    for (std::size_t i = 0; i < running_.size(); ++i) check_answer(running_[i], answers[i], "cvc5", cvc5_findings_);
    report_.seconds_cvc5 += cvc5_->seconds();
    cvc5_.reset();
  }

  const algebra::RuleSet& rules_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  const CheckOptions& options_;
  PremiseRules premises_;                    // their own certificates are checked, too
  std::vector<Script> scripts_, running_;    // cvc5's next batch, and its current one
  std::optional<Cvc5Run> cvc5_;              // a concurrent process
  std::vector<CheckFinding> cvc5_findings_;  // reported last
  Z3Session z3_;
  CheckReport report_;
};

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

CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options) {
  return Checker(rules, library, bank, symbols, options).run();
}

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
