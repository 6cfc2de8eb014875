// Certificates of derived rules: rule instances as text, and their obligations.
#include "check/kernel/proof.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/factor_refinement.h"
#include "algebra/terms/rule_text.h"
#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::TermId;
using runtime::InputError;

namespace {

/// A goal, its premises and their instances, over terms and sizes of its own.
class DerivationText {
 public:
  DerivationText(const std::string& statement, const std::vector<std::string>& rule_instances,
                 const std::map<std::string, std::string>& premises, algebra::Library& library)
      : library_(library), bank_(library), statement_(statement) {
    const algebra::Rule stated = algebra::parse_rule(statement, "statement", library_, bank_, symbols_);
    if (const auto wrong = algebra::find_typing_error(stated, bank_, symbols_)) throw check::CheckError{*wrong};
    goal_ = algebra::require_types(stated, bank_, symbols_, "statement");
    if (goal_.rule.shapes != stated.shapes || outputs_of(goal_.rule) != outputs_of(stated))
      throw check::CheckError{"the rule types only at fewer sizes than it states"};
    goal_.rule.condition = stated.condition;
    if (auto refined = algebra::refine_factors(goal_, bank_, symbols_)) goal_ = std::move(refined->rule);
    RuleInstanceReader reader(goal_.rule, library_, bank_, symbols_);
    for (const std::string& line : rule_instances) add(reader.read(line), premises);
  }

  /// Returns the obligations of the rule instances and of the goal's domain.
  check::CheckedDerivation collect_obligations(const check::Proof& proof) {
    const std::vector<check::Obligation> domains = check::check_domains(proof, statement());
    check::CheckedDerivation result = check::check_derivation(statement(), instances_, proof.lemmas);
    result.obligations.insert(result.obligations.end(), domains.begin(), domains.end());
    return result;
  }

  /// Makes the instances, too: their terms are numbered with those of the goal.
  const check::Statement& statement() {
    if (checked_) return *checked_;
    std::vector<TermId> terms;
    for (const Instance& instance : parsed_) terms.insert(terms.end(), instance.terms.begin(), instance.terms.end());
    check::CoreRuleTerms core = check::to_core(goal_.rule, terms, bank_, symbols_, atoms_);
    auto next = core.others.begin();
    for (const Instance& instance : parsed_) {
      check::RuleInstance& checked = instances_.emplace_back();
      check::PolysByName values;
      for (const auto& [name, size] : instance.sizes)
        checked.sizes.push_back(values[name] = check::to_core(size, symbols_, atoms_));
      checked.rule = check::to_core(*instance.rule, bank_, symbols_, atoms_, &values);
      const auto end = next + static_cast<std::ptrdiff_t>(instance.terms.size());
      checked.terms.assign(next, end);
      next = end;
    }
    checked_ = std::make_unique<check::Statement>(std::move(core.rule), atoms_, check::Statement::Lower::IfPartial);
    return *checked_;
  }
  const check::Atoms& atoms() const { return atoms_; }
  void check_assumed(const check::Proof& proof, const std::vector<std::string>& laws) const {
    check::expect(laws == assumed_laws(goal_.rule, bank_, proof), "the certificate assumes other laws than its proof");
  }

  CertificateText certificate(const std::vector<std::string>& rule_instances, const ProverOptions& options) {
    CertificateText result =
        make_certificate_without_proof(algebra::Certificate::Kind::Derivation, statement_, goal_.rule, bank_);
    result.rule_instances = rule_instances;
    try {
      const check::CheckedDerivation derived = check::check_derivation(statement(), instances_, {});
      const bool is_partial =
          statement().definedness_conditions(false).own_count + statement().definedness_conditions(true).own_count > 0;
      const auto is_trivial = [&](const check::Obligation& each) { return check::is_trivial(each, atoms_); };
      if (!is_partial && std::ranges::all_of(derived.obligations, is_trivial)) {
        result.proof = check::to_string(check::Proof(), statement());
        return result;
      }
      const auto samples = sample_sizes_by_name(goal_.rule, bank_, symbols_, options.seed);
      const Elaboration found = elaborate_domains(statement(), derived.obligations, samples, options.elaboration);
      if (found.proof) result.assumed = assumed_laws(goal_.rule, bank_, *found.proof);
      result.proof = found.proof ? check::to_string(*found.proof, statement()) : missing_proof(found.reason);
    } catch (const check::CheckError& error) {
      result.proof = missing_proof(error.what);
    }
    return result;
  }

 private:
  void add(const RuleInstance& rule_instance, const std::map<std::string, std::string>& premises) {
    const auto text = premises.find(rule_instance.rule);
    if (text == premises.end())
      throw InputError("instance", "expected a rule proved from the definitions, found '" + rule_instance.rule + "'");
    const auto [number, is_new] = numbers_.try_emplace(rule_instance.rule, static_cast<std::uint32_t>(rules_.size()));
    if (is_new) rules_.push_back(algebra::parse_rule(text->second, "statement", library_, bank_, symbols_));
    const algebra::Rule& rule = rules_[number->second];
    Instance parsed{&rule, {}, rule_instance.sizes};
    for (const TermId variable : rule.variables) {
      const std::string& name = bank_.term(variable).name;
      const auto value = std::ranges::find(rule_instance.terms, name, &std::pair<std::string, TermId>::first);
      if (value == rule_instance.terms.end()) throw InputError("instance", "expected a term for " + name);
      parsed.terms.push_back(value->second);
    }
    parsed_.push_back(std::move(parsed));
  }

  struct Instance {
    const algebra::Rule* rule = nullptr;
    std::vector<TermId> terms;                 // in the order of the rule's variables
    std::map<std::string, check::Poly> sizes;  // by name, in the goal's symbols
  };

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  const std::string& statement_;
  algebra::TypedRule goal_;          // refined
  std::deque<algebra::Rule> rules_;  // statements, which are typed; instances point to them
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<Instance> parsed_;
  std::vector<check::RuleInstance> instances_;
  check::Atoms atoms_;
  std::unique_ptr<const check::Statement> checked_;
};

}  // namespace

void ObligationScripts::add(const std::vector<check::Obligation>& obligations, const check::Atoms& atoms) {
  for (const check::Obligation& obligation : obligations) {
    if (check::is_trivial(obligation, atoms))
      ++trivial;
    else
      scripts.push_back(check::smtlib(obligation, atoms));
  }
}

CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& rule_instances,
                                     const std::map<std::string, std::string>& premises, algebra::Library& library,
                                     const ProverOptions& options) {
  return DerivationText(statement, rule_instances, premises, library).certificate(rule_instances, options);
}

ObligationScripts check_derivation_certificate(const CertificateText& certificate,
                                               const std::map<std::string, std::string>& premises,
                                               algebra::Library& library) {
  DerivationText text(certificate.statement, certificate.rule_instances, premises, library);
  text.statement();
  const check::Proof proof =
      check::parse_proof(certificate.proof, "certificate", certificate.proof_line, text.statement());
  if (!proof.outputs.empty() || check::to_string(proof, text.statement()) != certificate.proof)
    throw check::CheckError{"malformed certificate: unexpected content"};
  text.check_assumed(proof, certificate.assumed);
  const check::CheckedDerivation derived = text.collect_obligations(proof);
  ObligationScripts result{{derived.script}};
  result.add(derived.obligations, text.atoms());
  return result;
}

}  // namespace rulemill::prove
