#include "prove/certificate/check.h"

#include <algorithm>
#include <optional>
#include <set>

#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/replay.h"
#include "prove/solver/lemma_scheme.h"
#include "runtime/error.h"

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
      : rules_(rules), library_(library), bank_(bank), symbols_(symbols), options_(options) {}

  CheckReport run() {
    for (const LemmaScheme& scheme : lemma_schemes()) {
      ++report_.theorems;
      replay("", scheme.name, scheme.theorem, 1);
    }
    std::set<std::string> names;
    for (const RuleRecord& record : rules_.rules) {
      if (!names.insert(record.rule.id).second) find(record.rule.id, "two rules have this name");
    }
    collect_cited();
    std::vector<std::uint64_t> sizes;
    for (const RuleRecord& record : rules_.rules) {
      sizes.push_back(record.certificate.text.size());
      try {
        check_rule(record);
      } catch (const runtime::Error& error) {
        find(record.rule.id, error.what());
      }
    }
    std::ranges::sort(sizes);
    if (!sizes.empty()) report_.median_bytes = sizes[sizes.size() / 2];
    second_opinion();
    return std::move(report_);
  }

 private:
  struct Script {
    std::string rule, name, text;
    std::size_t answers = 0;
  };

  void find(const std::string& rule, std::string what) { report_.findings.push_back({rule, std::move(what)}); }

  /// Rules that derivations may cite: those proved from the definitions. Their own certificates are checked, too.
  void collect_cited() {
    for (const RuleRecord& record : rules_.rules) {
      if (record.certificate.kind != Certificate::Kind::Definitions) continue;
      cited_[record.rule.id] = statement_of(record.rule, bank_, symbols_);
    }
  }

  void check_rule(const RuleRecord& record) {
    const std::string& id = record.rule.id;
    if (auto wrong = algebra::typing_objection(record.rule, bank_, symbols_)) return find(id, *wrong);
    if (record.certificate.kind == Certificate::Kind::None) return find(id, "has no certificate");
    const CertificateText certificate = parse_certificate(record.certificate.text, "certificate of " + id);
    if (certificate.kind != record.certificate.kind) return find(id, "its certificate is of another kind than said");
    if (auto wrong = other_statement(record.rule, certificate.statement)) return find(id, *wrong);
    if (to_string(certificate) != record.certificate.text) {
      return find(id, "its certificate declares something else than it asserts");
    }
    for (const auto& [name, digest] : certificate.definitions) {
      if (!library_.has_operator(name) || library_.digest(name) != digest) {
        return find(id, "its certificate is about another definition of " + name);
      }
    }
    const bool by_definitions = certificate.kind == Certificate::Kind::Definitions;
    (by_definitions ? report_.by_definitions : report_.by_derivation) += 1;
    const auto wrong = by_definitions ? wrong_obligation(certificate) : wrong_derivation(certificate);
    if (wrong) return find(id, *wrong);
    const std::size_t answers = by_definitions ? certificate.obligations.size() : 1;
    if (answers > 0) replay(id, "certificate", record.certificate.text, answers);
  }

  std::optional<std::string> other_statement(const Rule& rule, const std::string& statement) {
    const std::vector<Rule> stated = algebra::parse_rules(statement, "statement", library_, bank_, symbols_);
    const bool same = stated.size() == 1 && stated[0].variables == rule.variables && stated[0].shapes == rule.shapes &&
                      stated[0].source == rule.source && stated[0].target == rule.target &&
                      stated[0].condition == rule.condition;
    if (same) return std::nullopt;
    return "its certificate states another rule";
  }

  /// The proof is made again from the definitions; the certificate may leave out assertions, never add one.
  std::optional<std::string> wrong_obligation(const CertificateText& certificate) {
    const Stopwatch watch(report_.seconds_rebuild);
    std::vector<std::string> unknown_lemmas;
    const auto full = obligations_of(certificate.statement, library_, options_.prover, &unknown_lemmas);
    if (!full) return "it cannot be proved again from the definitions";
    if (!unknown_lemmas.empty()) return "a lemma is no instance of a known theorem: " + unknown_lemmas[0];
    report_.obligations += certificate.obligations.size();
    std::vector<std::set<std::string>> given;
    for (const Obligation& obligation : certificate.obligations) {
      given.emplace_back(obligation.assertions.begin(), obligation.assertions.end());
    }
    for (const Obligation& asked : *full) {
      const std::set<std::string> all(asked.assertions.begin(), asked.assertions.end());
      const bool discharged = std::any_of(given.begin(), given.end(), [&](const std::set<std::string>& part) {
        return std::includes(all.begin(), all.end(), part.begin(), part.end());
      });
      if (discharged) continue;
      const bool same_solver = certificate.solver == Solver::version();
      return "the obligation '" + asked.name + "' that the definitions give is not in its certificate" +
             (same_solver ? "" : " (made with Z3 " + certificate.solver + ", this is " + Solver::version() + ")");
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong_derivation(const CertificateText& certificate) {
    const Stopwatch watch(report_.seconds_rebuild);
    if (auto wrong = check_uses(certificate.statement, certificate.uses, cited_, library_)) return wrong;
    const CertificateText again = certify_by_instances(certificate.statement, certificate.uses, cited_, library_);
    if (again.assertions != certificate.assertions) return "its equations are not those of its instances";
    return std::nullopt;
  }

  void replay(const std::string& rule, const std::string& name, const std::string& text, std::size_t answers) {
    const Stopwatch watch(report_.seconds_z3);
    judge({rule, name, text, answers}, z3_.answers(text), "Z3");
    if (!options_.cvc5.empty()) scripts_.push_back({rule, name, text, answers});
  }

  void judge(const Script& script, const std::vector<std::string>& answers, const std::string& solver) {
    const auto other = std::ranges::find_if(answers, [](const std::string& answer) { return answer != "unsat"; });
    if (other != answers.end()) {
      find(script.rule, solver + " answers '" + *other + "' to " + script.name);
    } else if (answers.size() != script.answers) {
      find(script.rule, solver + " answers " + std::to_string(answers.size()) + " times to " + script.name +
                            ", expected " + std::to_string(script.answers));
    }
  }

  void second_opinion() {
    if (options_.cvc5.empty()) return;
    const Stopwatch watch(report_.seconds_cvc5);
    std::vector<std::string> texts;
    for (const Script& script : scripts_) texts.push_back(script.text);
    const auto answers = cvc5_answers(options_.cvc5, texts, options_.cvc5_timeout);
    for (std::size_t i = 0; i < scripts_.size(); ++i) judge(scripts_[i], answers[i], "cvc5");
  }

  const algebra::RuleSet& rules_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  const CheckOptions& options_;
  std::map<std::string, std::string> cited_;
  std::vector<Script> scripts_;
  Z3Session z3_;
  CheckReport report_;
};

}  // namespace

CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options) {
  return Checker(rules, library, bank, symbols, options).run();
}

}  // namespace rulemill::prove
