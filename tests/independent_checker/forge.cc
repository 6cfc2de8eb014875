// Writes a database of forged certificates: the rules of a file of examples, each with its steps as a proof, or with
// instances of rules before it as a derivation. Prints for each what the kernel and Z3 say of it: "accepted", or why it
// is refused.
//   forge EXAMPLES DEFINITIONS OUT.rmdb
#include <fstream>
#include <iostream>

#include "algebra/terms/rule_text.h"
#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/solver/z3_session.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill {
namespace {

using Kind = algebra::Certificate::Kind;
constexpr std::string_view rule_prefix = "rule ", step_prefix = " ", instance_prefix = " use ", reason_prefix = "=> ";

/// A rule, whose name is that of the record unless it is "statement", and the lines of its proof or its rule instances.
struct Example {
  std::string rule, steps;
  std::vector<std::string> instances;
};

std::string answer(const std::string& script) { return prove::Z3Session().answer(script); }

class Forge {
 public:
  explicit Forge(const char* definitions) : library_(algebra::Library::load(definitions)), bank_(library_) {}

  void add(const Example& example) {
    algebra::RuleRecord& record = rules_.rules.emplace_back();
    record.rule = algebra::parse_rule(example.rule, "example", library_, bank_, symbols_);
    const bool is_derived = !example.instances.empty();
    record.rule.tier = is_derived ? algebra::Tier::Derived : algebra::Tier::Core;
    const std::string name = example.rule.substr(rule_prefix.size(), example.rule.find('(') - rule_prefix.size());
    record.rule.id = name == "statement" ? "f" + std::to_string(rules_.rules.size()) : name;
    const Kind kind = is_derived ? Kind::Derivation : Kind::Definitions;
    const std::string statement = prove::statement_of(record.rule, bank_, symbols_);
    prove::CertificateText certificate = prove::make_certificate_without_proof(kind, statement, record.rule, bank_);
    certificate.rule_instances = example.instances;
    certificate.proof = "typing\n" + example.steps;
    std::string said;
    try {
      said = is_derived ? verdict_on_derivation(certificate) : verdict_on_proof(record.rule, certificate);
    } catch (const check::CheckError& error) {
      said = error.what;
    } catch (const std::exception& error) {
      said = error.what();
    }
    std::cout << said << "\n";
    if (!is_derived) premises_[record.rule.id] = statement;
    record.certificate = {kind, to_string(certificate)};
  }

  void write(const char* out) { runtime::write_file(out, serialize(rules_, bank_, symbols_)); }

 private:
  std::string verdict_on_proof(const algebra::Rule& rule, prove::CertificateText& certificate) {
    check::Atoms atoms;
    const check::Statement statement(check::to_core(rule, bank_, symbols_, atoms), atoms);
    const check::Proof proof = check::parse_proof(certificate.proof, "proof", 1, statement);
    certificate.proof = check::to_string(proof, statement);
    certificate.assumed = prove::assumed_laws(rule, bank_, proof);
    for (const check::Obligation& obligation : check::check_proof(proof, statement)) {
      const std::string answered = answer(check::smtlib(obligation, atoms));
      if (answered != "unsat") return obligation.what + ": " + answered;
    }
    return "accepted";
  }

  std::string verdict_on_derivation(const prove::CertificateText& certificate) {
    const auto scripts = prove::check_derivation_certificate(certificate, premises_, library_).scripts;
    for (const std::string& script : scripts) {
      const std::string answered = answer(script);
      if (answered != "unsat")
        return (script == scripts[0] ? "the instances do not imply the rule: " : "an instance is not valid: ") +
               answered;
    }
    return "accepted";
  }

  algebra::Library library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  algebra::RuleSet rules_;
  std::map<std::string, std::string> premises_;  // statements by name
};

void run(const char* examples, const char* definitions, const char* out) {
  Forge forge(definitions);
  std::ifstream file(examples);
  Example example;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(rule_prefix)) {
      example.rule = line;
    } else if (line.starts_with(instance_prefix)) {
      example.instances.push_back(line.substr(instance_prefix.size()));
    } else if (line.starts_with(step_prefix)) {
      const bool begins = example.steps.empty() && example.instances.empty() && !line.starts_with(" times ");
      example.steps += (begins ? "output\n" : "") + line.substr(step_prefix.size()) + "\n";
    } else if (line.starts_with(reason_prefix)) {
      forge.add(std::exchange(example, {}));
    }
  }
  forge.write(out);
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
