// Certificates of derived rules: instances of others as text, and what the checker makes of them.
#include "check/kernel/derivation.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "algebra/terms/equal_products.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/instance_text.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::TermId;
using runtime::InputError;

namespace {

/// A goal, the rules that it cites and their instances, all in terms and sizes of its own.
class DerivationText {
 public:
  DerivationText(const std::string& statement, const std::vector<std::string>& uses,
                 const std::map<std::string, std::string>& cited, algebra::Library& library)
      : library_(library), bank_(library), statement_(statement), stated_(statement) {
    goal_ = read_statement(statement, library_, bank_, symbols_);
    if (auto dealt_out = algebra::with_equal_products_dealt_out(goal_, bank_, symbols_)) {
      goal_ = std::move(dealt_out->rule);
      stated_ = statement_of(goal_.rule, bank_, symbols_);
    }
    InstanceReader reader(stated_, library_, bank_, symbols_);
    for (const std::string& use : uses) add(reader.read(use), cited);
  }

  /// What the instances leave to be shown, and where the goal is defined.
  check::Derived follow(const check::Proof& proof) {
    check::Followed domains = check::follow_domains(proof, statement());
    check::Derived result = check::derive(statement(), instances_, symbols_, proof.times);
    for (check::Obligation& obligation : domains.obligations) result.obligations.push_back(std::move(obligation));
    result.plain += domains.plain;
    return result;
  }

  check::Statement& statement() {
    if (!checked_) checked_ = std::make_unique<check::Statement>(goal_.rule, bank_, symbols_, atoms_);
    return *checked_;
  }
  check::Atoms& atoms() { return atoms_; }

  CertificateText certificate(const std::vector<std::string>& uses, const ProverOptions& options) {
    CertificateText result = without_proof(algebra::Certificate::Kind::Derivation, statement_, goal_.rule, bank_);
    result.uses = uses;
    try {
      const check::Derived derived = check::derive(statement(), instances_, symbols_, {});
      const bool demands = statement().demands(false).own + statement().demands(true).own > 0;
      if (derived.obligations.empty() && !demands) {
        result.proof = check::to_string(check::Proof(), atoms_);
        return result;
      }
      const auto samples = sample_sizes_by_name(goal_.rule, bank_, symbols_, options.seed);
      const Elaboration found =
          elaborate_domains(statement(), derived.obligations, samples, options.align, options.elaboration);
      result.proof = found.proof ? check::to_string(*found.proof, atoms_) : unfollowed;
    } catch (const check::Objection&) {
      result.proof = unfollowed;
    }
    return result;
  }

 private:
  void add(const Instance& instance, const std::map<std::string, std::string>& cited) {
    const auto text = cited.find(instance.rule);
    if (text == cited.end())
      throw InputError("instance", "'" + instance.rule + "' is no rule that is proved from the definitions");
    const auto [number, is_new] = numbers_.try_emplace(instance.rule, static_cast<std::uint32_t>(rules_.size()));
    if (is_new) rules_.push_back(read_statement(text->second, library_, bank_, symbols_));
    const algebra::Rule& rule = rules_[number->second].rule;
    check::RuleInstance use{&rule, {}, instance.sizes};
    for (const TermId variable : rule.variables) {
      const std::string& name = bank_.term(variable).name;
      const auto value = std::ranges::find(instance.terms, name, &std::pair<std::string, TermId>::first);
      if (value == instance.terms.end()) throw InputError("instance", "no term for " + name);
      use.terms.push_back(value->second);
    }
    instances_.push_back(std::move(use));
  }

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  const std::string& statement_;
  std::string stated_;  // as it is derived
  algebra::TypedRule goal_;
  std::deque<algebra::TypedRule> rules_;  // instances point to them
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<check::RuleInstance> instances_;
  check::Atoms atoms_;
  std::unique_ptr<check::Statement> checked_;
};

}  // namespace

CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& uses,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library,
                                     const ProverOptions& options) {
  return DerivationText(statement, uses, cited, library).certificate(uses, options);
}

FollowedDerivation follow_derivation(const CertificateText& certificate,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library) {
  DerivationText text(certificate.statement, certificate.uses, cited, library);
  text.statement();
  const check::Proof proof = check::parse_proof(certificate.proof, "certificate", certificate.proof_line, text.atoms());
  if (!proof.outputs.empty() || check::to_string(proof, text.atoms()) != certificate.proof)
    throw check::Objection{"its certificate says what no certificate says"};
  const check::Derived derived = text.follow(proof);
  FollowedDerivation result{{derived.script}, derived.plain};
  for (const check::Obligation& obligation : derived.obligations)
    result.scripts.push_back(check::smtlib(obligation, text.atoms()));
  return result;
}

}  // namespace rulemill::prove
