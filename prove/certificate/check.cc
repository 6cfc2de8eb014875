#include "prove/certificate/check.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/rule_text.h"
#include "check/kernel/proof.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/replay.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::prove {

using algebra::Certificate;
using algebra::Rule;
using algebra::RuleRecord;

namespace {

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begin_;
};

class Checker {
 public:
  Checker(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
          const CheckOptions& options)
      : rules_(rules),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        options_(options),
        cited_(rules, library, bank, symbols) {}

  CheckReport run() {
    std::set<std::string> names;
    for (const RuleRecord& record : rules_.rules) {
      if (!names.insert(record.rule.id).second) find(record.rule.id, "two rules have this name");
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
        find(record.rule.id, error.what());
      } catch (const check::Objection& objection) {
        find(record.rule.id, objection.what);
      }
    }
    std::ranges::sort(sizes);
    if (!sizes.empty()) report_.median_bytes = sizes[sizes.size() / 2];
    if (!scripts_.empty()) ask_cvc5();
    hear_cvc5();
    std::ranges::move(second_findings_, std::back_inserter(report_.findings));
    return std::move(report_);
  }

 private:
  struct Script {
    std::string rule, name, text;
  };

  void find(const std::string& rule, std::string what) { report_.findings.push_back({rule, std::move(what)}); }

  void check_rule(const RuleRecord& record) {
    const std::string& id = record.rule.id;
    if (auto wrong = algebra::typing_objection(record.rule, bank_, symbols_)) return find(id, *wrong);
    if (record.certificate.kind == Certificate::Kind::None) return find(id, "has no certificate");
    const CertificateText certificate = parse_certificate(record.certificate.text, "certificate of " + id);
    if (certificate.kind != record.certificate.kind) return find(id, "its certificate is of another kind than said");
    if (auto wrong = other_statement(record.rule, certificate.statement)) return find(id, *wrong);
    if (to_string(certificate) != record.certificate.text) {
      return find(id, "its certificate says what no certificate says");
    }
    if (certificate.definitions != digests_of(record.rule, bank_)) {
      return find(id, "its certificate is about other definitions than those of its operators");
    }
    const std::vector<std::string> assumed = algebra::assumed_laws(record.rule, bank_);
    if (certificate.assumed != assumed) return find(id, "its certificate assumes other laws than its operators");
    report_.assuming += assumed.empty() ? 0 : 1;
    if (auto wrong = difference(record.rule)) return find(id, *wrong);
    if (auto wrong = not_at_any_rank(record.rule)) return find(id, *wrong);
    if (certificate.kind == Certificate::Kind::Definitions) {
      ++report_.by_definitions;
      follow(record.rule, certificate);
    } else {
      ++report_.by_derivation;
      derive(id, certificate);
    }
  }

  std::optional<std::string> difference(const Rule& rule) {
    const Stopwatch watch(report_.seconds_evaluate);
    std::size_t tried = 0;
    auto wrong = check::evaluate(rule, bank_, symbols_, options_.seed, &tried);
    report_.evaluated += tried > 0 ? 1 : 0;
    return wrong;
  }

  /// Groups are what the definitions say, not the rule; the rule with other dimensions in their place is evaluated,
  /// too.
  std::optional<std::string> not_at_any_rank(const Rule& rule) {
    for (const algebra::Atom group : rule.groups) {
      for (const std::uint32_t rank : {0, 2, 3}) {
        const auto other = algebra::with_rank(rule, group, rank, library_, bank_, symbols_);
        const std::string what = symbols_.name(group) + "... as " + std::to_string(rank) + " dimensions";
        if (!other && rank > 0) return what + ": an operator does more than pass it through";
        if (!other) continue;
        if (auto wrong = difference(*other)) return what + ": " + *wrong;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> other_statement(const Rule& rule, const std::string& statement) {
    const std::vector<Rule> stated = algebra::parse_rules(statement, "statement", library_, bank_, symbols_);
    const bool same = stated.size() == 1 && stated[0].variables == rule.variables && stated[0].shapes == rule.shapes &&
                      stated[0].source == rule.source && stated[0].target == rule.target &&
                      stated[0].condition == rule.condition && stated[0].groups == rule.groups;
    if (same) return std::nullopt;
    return "its certificate states another rule";
  }

  /// The steps are followed from the rule itself; what they leave to be shown is rebuilt, not read.
  void follow(const Rule& rule, const CertificateText& certificate) {
    if (certificate.proof == unfollowed) return find(rule.id, "it was proved, by no steps that the checker can follow");
    std::vector<std::string> scripts;
    {
      const Stopwatch watch(report_.seconds_follow);
      check::Atoms atoms;
      check::Statement statement(rule, bank_, symbols_, atoms);
      const check::Proof proof =
          check::parse_proof(certificate.proof, "certificate of " + rule.id, certificate.proof_line, atoms);
      if (check::to_string(proof, atoms) != certificate.proof) {
        return find(rule.id, "its certificate says what no certificate says");
      }
      const check::Followed followed = check::follow(proof, statement);
      report_.obligations += followed.obligations.size();
      report_.identities += followed.plain;
      report_.without += followed.obligations.empty() ? 1 : 0;
      for (const check::Obligation& obligation : followed.obligations) {
        scripts.push_back(check::smtlib(obligation, atoms));
      }
    }
    for (const std::string& script : scripts) replay(rule.id, "an obligation", script);
  }

  void derive(const std::string& id, const CertificateText& certificate) {
    if (certificate.proof == unfollowed) return find(id, "it was derived, by no steps that the checker can follow");
    FollowedDerivation followed;
    {
      const Stopwatch watch(report_.seconds_follow);
      followed = follow_derivation(certificate, cited_.named_in(certificate.uses), library_);
      report_.obligations += followed.scripts.size() - 1;
      report_.identities += followed.plain;
    }
    for (std::size_t i = 0; i < followed.scripts.size(); ++i)
      replay(id, i == 0 ? "that its instances imply it" : "that its instances are ones", followed.scripts[i]);
  }

  void replay(const std::string& rule, const std::string& name, const std::string& text) {
    {
      const Stopwatch watch(report_.seconds_z3);
      judge({rule, name, text}, {z3_.answer(text)}, "Z3", report_.findings);
    }
    if (options_.cvc5.empty()) return;
    scripts_.push_back({rule, name, text});
    if (scripts_.size() >= options_.cvc5_scripts) ask_cvc5();
  }

  static void judge(const Script& script, const std::vector<std::string>& answers, const std::string& solver,
                    std::vector<CheckFinding>& findings) {
    runtime::throw_if_interrupted("check");
    if (answers == std::vector<std::string>{"unsat"}) return;
    const std::string answer = answers.empty() ? "nothing" : "'" + answers[0] + "'";
    findings.push_back({script.rule, solver + " answers " + answer + " to " + script.name + " (" +
                                         script.text.substr(0, script.text.find('\n')) + ")"});
  }

  /// Has cvc5 begin with the scripts so far, once it is done with those before.
  void ask_cvc5() {
    hear_cvc5();
    asked_ = std::exchange(scripts_, {});
    std::vector<std::string> texts;
    for (const Script& script : asked_) texts.push_back(script.text);
    cvc5_.emplace(options_.cvc5, texts);
  }

  void hear_cvc5() {
    if (!cvc5_) return;
    const auto answers = cvc5_->answers(options_.cvc5_timeout);
    for (std::size_t i = 0; i < asked_.size(); ++i) judge(asked_[i], answers[i], "cvc5", second_findings_);
    report_.seconds_cvc5 += cvc5_->seconds();
    cvc5_.reset();
  }

  const algebra::RuleSet& rules_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  const CheckOptions& options_;
  CitedRules cited_;                           // their own certificates are checked, too
  std::vector<Script> scripts_, asked_;        // for cvc5, and those that it is at
  std::optional<Cvc5Run> cvc5_;                // works beside the rest
  std::vector<CheckFinding> second_findings_;  // reported last
  Z3Session z3_;
  CheckReport report_;
};

}  // namespace

CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options) {
  return Checker(rules, library, bank, symbols, options).run();
}

}  // namespace rulemill::prove
