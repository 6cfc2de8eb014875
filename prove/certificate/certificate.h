// Certificates: what lets someone else check a rule's proof. A certificate has the typed statement, the digests of the
// definitions, and for a rule proved from definitions the normal form and the steps that the checker follows (check/),
// for a derived one the instances. The text is a function of the statement, the definitions and Z3's version.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "prove/prover.h"

namespace rulemill::prove {

/// Instead of a proof, where no steps were found that the checker can follow: such a certificate does not hold.
inline constexpr const char* unfollowed = "unfollowed\n";

struct CertificateText {
  algebra::Certificate::Kind kind = algebra::Certificate::Kind::None;
  std::string statement;                                         // the rule in text form
  std::vector<std::pair<std::string, std::string>> definitions;  // operator, digest
  std::vector<std::string> assumed;  // laws of functions that were tried alone, and that its operators may rest on
  std::vector<std::string> uses;     // by derivation: "rule: x := term, …; m := size, …"
  std::string proof;                 // check::to_string of it; by derivation, of domains alone
  std::size_t proof_line = 0;        // where it begins, once parsed
};

std::string to_string(const CertificateText& certificate);
/// Throws InputError, naming the line, on a text that to_string does not make.
CertificateText parse_certificate(std::string_view text, const std::string& origin);

/// The statement of a typed rule, its name and tier aside.
std::string statement_of(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols);

/// A certificate of a rule that says everything but why.
CertificateText without_proof(algebra::Certificate::Kind kind, std::string statement, const algebra::Rule& rule,
                              const algebra::TermBank& bank);

/// Every operator that the statement names, with its definition's digest, by name.
std::vector<std::pair<std::string, std::string>> digests_of(const algebra::Rule& rule, const algebra::TermBank& bank);

/// The certificate of a statement, by steps that the checker follows; nothing, and `reason`, if none are found.
/// `believing` is for tests: what has to be shown counts as shown.
std::optional<CertificateText> certify_by_definitions(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, std::string& reason,
                                                      bool believing = false);

/// The certificate of a derived rule. `cited` has the statements of the rules that the instances are of, by name.
CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& uses,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library,
                                     const ProverOptions& options);

/// What a derived rule's certificate leaves to solvers, who must answer "unsat" to all of it: first that the instances
/// imply the statement, then that they are instances.
struct FollowedDerivation {
  std::vector<std::string> scripts;
  std::size_t plain = 0;
};
/// Throws check::Objection or InputError where the certificate does not fit.
FollowedDerivation follow_derivation(const CertificateText& certificate,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library);

/// The statements of the rules that derivations may cite: those proved from the definitions, under their names, and
/// their instances at other ranks and numbers, as in "r5@d=2,stride=1" (algebra/rules/general_rules.h).
class CitedRules {
 public:
  CitedRules(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
             algebra::Symbols& symbols);

  /// Of those that a derivation names: those that there are.
  std::map<std::string, std::string> named_in(const std::vector<std::string>& uses);

 private:
  std::optional<std::string> statement(const std::string& name);

  std::map<std::string, const algebra::Rule*> rules_;
  std::map<std::string, std::optional<std::string>> statements_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
};

/// What a rule's certificate is made from: its statement, and of a derived rule the lines of instances and the
/// statements of the rules that they are of.
struct CertificateRequest {
  std::string statement;
  bool derived = false;
  std::vector<std::string> uses;
  std::map<std::string, std::string> cited;  // by name
};
/// One in bytes, for certificate_for: `cited` has all that may be. And back.
std::string certificate_request(const std::string& statement, algebra::Certificate::Kind kind, const std::string& uses,
                                const std::map<std::string, std::string>& cited);
CertificateRequest unpack_request(std::string_view request);
/// The text of the certificate that is requested; one without a proof, which no check passes, if no steps are found.
std::string certificate_for(const std::string& request, algebra::Library& library, const ProverOptions& options);

/// Whether the certificate's text has a proof that the checker can follow.
bool is_followed(const std::string& certificate);

/// Replaces the certificates of a pruned set, which are the lines of instances, by final ones, `text_of` by request;
/// those of core rules that have theirs are kept. Derived rules whose derivation the checker cannot follow are left
/// out.
void certify_by(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
                const std::function<std::vector<std::string>(const std::vector<std::string>&)>& texts_of);
/// Likewise, all in this process.
void certify(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
             const ProverOptions& options);

}  // namespace rulemill::prove
