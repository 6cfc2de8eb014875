// Rule files: the database, certificates.
#include "algebra/rules/rule_set.h"
#include "algebra/rules/rule_set_format.h"
#include "algebra/sizes/checked.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

using runtime::ByteView;
using runtime::text_of;

void read_database(ByteView bytes) {
  algebra::TermBank bank(shipped());
  algebra::Symbols symbols;
  algebra::parse_rule_set(text_of(bytes), "fuzzed.rmdb", shipped(), bank, symbols);
}

/// Returns the database with valid digests and checksum, so that the reader reaches the rules.
std::string seal_database(const std::string& bytes) {
  proto::RuleSet rules;
  if (!rules.ParsePartialFromString(bytes)) return bytes;
  for (proto::OperatorDigest& entry : *rules.mutable_provenance()->mutable_operators()) {
    if (shipped().has_operator(entry.name())) entry.set_digest(shipped().digest(entry.name()));
  }
  rules.clear_checksum();
  std::string content;
  rules.SerializePartialToString(&content);
  return content + algebra::checksum_field(content);
}

/// Checks a certificate as `rulemill check` does, up to the solver's queries.
void read_certificate(ByteView bytes) {
  const prove::CertificateText certificate = prove::parse_certificate(text_of(bytes), "fuzzed.txt");
  prove::to_string(certificate);
  algebra::TermBank bank(shipped());
  algebra::Symbols symbols;
  const auto rules = algebra::parse_rules(certificate.statement, "fuzzed.txt", shipped(), bank, symbols);
  const bool by_definitions = certificate.kind == algebra::Certificate::Kind::Definitions;
  if (rules.size() != 1 || !by_definitions || algebra::find_typing_error(rules[0], bank, symbols)) return;
  try {
    check::Atoms atoms;
    check::Statement statement(check::to_core(rules[0], bank, symbols, atoms), atoms);
    const check::Proof proof = check::parse_proof(certificate.proof, "fuzzed.txt", certificate.proof_line, statement);
    for (const check::Obligation& obligation : check::check_proof(proof, statement)) check::smtlib(obligation, atoms);
  } catch (const check::CheckError&) {
  } catch (const algebra::Overflow&) {  // callers report it with the rule
  }
}

}  // namespace

void add_rule_set_parsers(std::vector<Parser>& parsers) {
  parsers.push_back({"database", "fuzzed.rmdb", read_database, "rulemill.proto.RuleSet", seal_database, {}, {}});
  parsers.push_back({"certificates",
                     "fuzzed.txt",
                     read_certificate,
                     "",
                     nullptr,
                     {"(assert true)", "; ", "|", "\n", "rule r(x[n])", "=>", "cancel 0 1", "drop 0", "set 0: #0 := @1",
                      "map 0: #0 := #1 <- #1 := #0", "within 0 0 0", "same 0 0 0 1 0 0", "end", "times q; d - 1",
                      "div(@1, q)", "split 0: ", " >= 0", "9223372036854775807"},
                     {}});
}

}  // namespace rulemill::fuzz
