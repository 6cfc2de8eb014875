// Certificates: what lets someone else check a rule's proof. A certificate is an SMT-LIB script that every solver must
// answer with "unsat" alone; its comments hold the typed statement, the digests of the definitions, and for a derived
// rule the instances. The text is a function of the statement, the definitions and the solver's version, nothing else.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "prove/certificate/replay.h"
#include "prove/prover.h"

namespace rulemill::prove {

/// One step of a proof from definitions: assertions that cannot all hold.
struct Obligation {
  std::string name;
  std::vector<std::string> assertions;
  bool operator==(const Obligation&) const = default;
};

struct CertificateText {
  algebra::Certificate::Kind kind = algebra::Certificate::Kind::None;
  std::string statement;                                         // the rule in text form
  std::vector<std::pair<std::string, std::string>> definitions;  // operator, digest
  std::string solver;                                            // by definitions: what found the proof
  std::vector<Obligation> obligations;                           // by definitions
  std::vector<std::string> uses;        // by derivation: "rule: x := term, …; m := size, …"
  std::vector<std::string> assertions;  // by derivation
};

std::string to_string(const CertificateText& certificate);
/// Throws InputError, naming the line, on a text that to_string does not make.
CertificateText parse_certificate(std::string_view text, const std::string& origin);

/// The statement of a typed rule, its name and tier aside.
std::string statement_of(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols);

/// All obligations of a proof of the statement, as asked, in order, without repetitions; nothing if it is not proved.
/// `lemmas`, if given, receives what of the lemmas is no instance of a known scheme (nothing, unless we are wrong).
std::optional<std::vector<Obligation>> obligations_of(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options,
                                                      std::vector<std::string>* lemmas = nullptr);

/// Proves the statement anew and keeps of each obligation what an unsatisfiable core needs; nothing if it is not
/// proved.
std::optional<CertificateText> certify_by_definitions(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, Z3Session& z3);

/// The certificate of a derived rule. `cited` has the statements of the rules that the instances are of, by name.
CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& uses,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library);

/// Nothing if the instances type, satisfy their conditions, and imply the statement; else what is wrong.
std::optional<std::string> check_uses(const std::string& statement, const std::vector<std::string>& uses,
                                      const std::map<std::string, std::string>& cited, algebra::Library& library);

/// What a rule's certificate is made from, as text, for certificate_for: its statement, and of a derived rule the lines
/// of instances and the statements of the rules that they are of. `cited` has all that may be, by name.
std::string certificate_request(const std::string& statement, algebra::Certificate::Kind kind, const std::string& uses,
                                const std::map<std::string, std::string>& cited);
/// The text of the certificate that is requested. Throws Error if it cannot be made.
std::string certificate_for(const std::string& request, algebra::Library& library, const ProverOptions& options);

/// Replaces the certificates of a pruned set, which are the lines of instances, by final ones, `text_of` by request.
void certify(algebra::RuleSet& rules, const algebra::TermBank& bank, const algebra::Symbols& symbols,
             const std::function<std::vector<std::string>(const std::vector<std::string>&)>& texts_of);
/// Likewise, all in this process.
void certify(algebra::RuleSet& rules, algebra::Library& library, const algebra::TermBank& bank,
             const algebra::Symbols& symbols, const ProverOptions& options);

}  // namespace rulemill::prove
