// Certificates: proofs as text that others can check. A certificate has the typed statement, the digests of the
// definitions, and either the proof steps (check/) of a rule proved from the definitions, or the
// rule instances of a derived rule. The text is a function of the statement, the definitions and Z3's version.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "check/kernel/proof.h"
#include "prove/prover/prover.h"

namespace rulemill::prove {

/// Begins the line that stands for a proof if no checkable one was found. A certificate with it is invalid.
inline constexpr std::string_view no_proof = "no proof";
/// Returns that line. It states the reason, shortened.
std::string missing_proof(const std::string& reason);

struct CertificateText {
  algebra::Certificate::Kind kind = algebra::Certificate::Kind::None;
  std::string statement;                                         // the rule in text form
  std::vector<std::pair<std::string, std::string>> definitions;  // operator, digest
  std::vector<std::string> assumed;                              // assumed laws that its operators may use
  std::vector<std::string> rule_instances;  // of a derivation: "rule: x := term, …; m := size, …"
  std::string proof;                        // in the form of check::to_string; of a derivation for domains only
  std::size_t proof_line = 0;               // its first line, once parsed
};

std::string to_string(const CertificateText& certificate);
/// Throws InputError with the line on a text that to_string does not produce.
CertificateText parse_certificate(std::string_view text, const std::string& origin);

/// Returns the statement of a typed rule: its text without name and tier.
std::string statement_of(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols);

/// Returns whether a text is that of one rule, which equals the given one in all but name and tier.
bool is_statement_of(const std::string& statement, const algebra::Rule& rule, algebra::Library& library,
                     algebra::TermBank& bank, algebra::Symbols& symbols);

/// Returns the assumed laws on which the rule depends: those of its operators and of functions that the proof brings
/// in, and the declared equations that the proof uses. Sorted.
std::vector<std::string> assumed_laws(const algebra::Rule& rule, const algebra::TermBank& bank,
                                      const check::Proof& proof);

/// Returns a rule's certificate with an empty proof.
CertificateText make_certificate_without_proof(algebra::Certificate::Kind kind, std::string statement,
                                               const algebra::Rule& rule, const algebra::TermBank& bank);

/// Returns the operators of a rule with their definitions' digests, sorted by name.
std::vector<std::pair<std::string, std::string>> definition_digests(const algebra::Rule& rule,
                                                                    const algebra::TermBank& bank);

/// Returns the certificate of a statement with a checkable proof; none, and the `reason`, if none is found.
/// `assume_obligations` is for tests: obligations count as confirmed.
std::optional<CertificateText> certify_by_definitions(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, std::string& reason,
                                                      bool assume_obligations = false);

/// Returns the certificate of a derived rule. `premises` maps the names of the instantiated rules to their statements.
CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& rule_instances,
                                     const std::map<std::string, std::string>& premises, algebra::Library& library,
                                     const ProverOptions& options);

/// The scripts to which a solver must answer "unsat", of the obligations that are not trivial.
struct ObligationScripts {
  std::vector<std::string> scripts;
  std::size_t trivial = 0;
  void add(const std::vector<check::Obligation>& obligations, const check::Atoms& atoms);
};
/// Of a derived rule's certificate: first that the rule instances imply the statement, then that they are valid. Throws
/// check::CheckError or InputError if the certificate is malformed.
ObligationScripts check_derivation_certificate(const CertificateText& certificate,
                                               const std::map<std::string, std::string>& premises,
                                               algebra::Library& library);

/// Returns the rule of this name that is proved from the definitions, in the bank of a PremiseRules.
using FindRule = std::function<std::optional<algebra::Rule>(const std::string& name)>;
/// Of rules that stay in memory.
FindRule find_definition_rule(const algebra::RuleSet& rules);

/// The statements of the rules that derivations may use: those proved from the definitions, by name, and their
/// specializations, as in "r5@d=2,stride=1" (algebra/rules/specialization.h).
class PremiseRules {
 public:
  /// Whether a statement must give its rule again when it is parsed.
  enum class Texts : std::uint8_t { Trusted, Verified };
  PremiseRules(FindRule find, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
               Texts texts = Texts::Trusted);

  /// Returns the statements of the instantiated rules that exist, by name. Throws Error for malformed names, and for a
  /// rule whose text states another one.
  std::map<std::string, std::string> statements_for(const std::vector<std::string>& rule_instances);

 private:
  std::optional<std::string> statement(const std::string& name);
  std::optional<algebra::Rule> rule(const std::string& name);

  FindRule find_;
  std::map<std::string, std::optional<std::string>> statements_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  Texts texts_;
};

/// The input of make_certificate: a statement, and for a derived rule its rule instances and their rules' statements.
struct CertificateRequest {
  std::string statement;
  bool derived = false;
  std::vector<std::string> rule_instances;
  std::map<std::string, std::string> premises;  // by name
};
/// Returns a request as bytes, which does not depend on the rules' names: the instances' rules are #0, #1, … in the
/// order of first use. `premises` may have more rules than the instances use; these are left out.
std::string certificate_request(const std::string& statement, algebra::Certificate::Kind kind,
                                const std::string& rule_instances, const std::map<std::string, std::string>& premises);
CertificateRequest unpack_request(std::string_view request);
/// Returns the text of the requested certificate, with missing_proof if no checkable proof is found; of a derived rule,
/// with_rule_instances() then brings the rules' names back.
std::string make_certificate(const std::string& packed_request, algebra::Library& library,
                             const ProverOptions& options);
/// Returns a certificate with the lines of these rule instances instead of its own. One without any stays as it is.
std::string with_rule_instances(std::string_view certificate, const std::string& rule_instances);

/// Returns whether a certificate's text has a checkable proof.
bool has_checkable_proof(const std::string& certificate);
/// Returns why a certificate has no checkable proof.
std::string reason_without_proof(const std::string& certificate);

/// A rule that was proved or derived, and for which no checkable proof was found.
struct UncertifiedRule {
  std::string id, reason;
};

/// Answers each of `count` requests with make_certificate, in any order.
using MakeCertificates = std::function<void(std::size_t count, const std::function<std::string(std::size_t)>& request,
                                            const std::function<void(std::size_t, std::string certificate)>& take)>;
/// Replaces the certificates of a pruned set by their final texts. Complete certificates of core rules are kept. Drops
/// derived rules without a checkable proof, and returns them.
std::vector<UncertifiedRule> certify_with(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                          algebra::Symbols& symbols, const MakeCertificates& make);
/// The same in this process.
std::vector<UncertifiedRule> certify(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                     algebra::Symbols& symbols, const ProverOptions& options);

}  // namespace rulemill::prove
