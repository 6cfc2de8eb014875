// Writes a database of forged certificates: the rules of a file of examples, each with its steps as a proof.
//   forge EXAMPLES DEFINITIONS OUT.rmdb
#include <fstream>
#include <iostream>

#include "algebra/terms/rule_text.h"
#include "check/kernel/statement.h"
#include "prove/certificate/certificate.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill {
namespace {

/// The certificate of a rule as it is stated, with the normal forms that the definitions have.
algebra::RuleRecord forge(const std::string& text, const std::string& steps, algebra::Library& library,
                          algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleRecord record;
  record.rule = algebra::parse_rule(text, "example", library, bank, symbols);
  record.rule.tier = algebra::Tier::Core;
  check::Atoms atoms;
  const check::Statement statement(record.rule, bank, symbols, atoms);
  prove::CertificateText certificate = prove::make_certificate_without_proof(
      algebra::Certificate::Kind::Definitions, prove::statement_of(record.rule, bank, symbols), record.rule, bank);
  certificate.proof = "typing\noutput\n";
  for (const check::Product& product : statement.difference(0))
    certificate.proof += " from " + statement.text(product) + "\n";
  certificate.proof += steps;
  record.certificate = {algebra::Certificate::Kind::Definitions, to_string(certificate)};
  return record;
}

void run(const char* examples, const char* definitions, const char* out) {
  algebra::Library library = algebra::Library::load(definitions);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules;
  std::ifstream file(examples);
  std::string name, rule, steps;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) name = line.substr(3);
    if (line.starts_with("rule ")) rule = line;
    if (line.starts_with(" ")) steps += line.substr(line.starts_with(" domain of ") ? 1 : 0) + "\n";
    if (!line.starts_with("=> ")) continue;
    rules.rules.push_back(forge(rule, std::exchange(steps, ""), library, bank, symbols));
    rules.rules.back().rule.id = "f" + std::to_string(rules.rules.size());
  }
  runtime::write_file(out, serialize(rules, bank, symbols));
}

}  // namespace
}  // namespace rulemill

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw rulemill::runtime::Error("forge", "expected EXAMPLES DEFINITIONS OUT");
    rulemill::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
