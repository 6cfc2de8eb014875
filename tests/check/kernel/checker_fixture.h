// Fixtures of checker tests: the shipped definitions, typed rules, and statements with proofs given as text.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <fstream>
#include <memory>
#include <string>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "check/evaluate.h"
#include "check/proof_text.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::check {

/// The contents of a file of the repository.
inline std::string contents(const std::string& path) {
  std::ifstream file(RULEMILL_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct CheckerFixture {
  algebra::Library library = shipped_operators();
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  Atoms atoms;
  std::deque<algebra::Rule> rules;

  /// The rule with its most general types, or with those that it states.
  const algebra::Rule& rule(const std::string& text, bool as_stated = false) {
    const std::vector<algebra::Rule> read = algebra::parse_rules(text, "test", library, bank, symbols);
    if (as_stated) return rules.emplace_back(read.at(0));
    return rules.emplace_back(std::get<algebra::TypedRule>(algebra::infer_types(read.at(0), bank, symbols)).rule);
  }
};

/// The statement of one rule, and proofs of it given as steps in text.
struct StatementFixture : CheckerFixture {
  std::unique_ptr<Statement> statement;

  explicit StatementFixture(const std::string& text, const std::string& definitions = "", bool as_stated = false) {
    if (!definitions.empty()) library.add(definitions, "test.op");
    statement = std::make_unique<Statement>(rule(text, as_stated), bank, symbols, atoms);
  }

  /// Checks the steps, one per line, on the normal form of the first output.
  CheckedProof check_steps(const std::string& steps) {
    std::string text = "typing\noutput\n";
    for (const Product& product : statement->difference(0)) text += " from " + statement->text(product) + "\n";
    return check_proof(parse_proof(text + steps, "proof", 1, atoms), *statement);
  }

  /// The names of the obligations that the steps leave, or the error.
  std::string outcome(const std::string& steps) {
    try {
      std::string text;
      for (const Obligation& obligation : check_steps(steps).obligations) text += obligation.what + "; ";
      return text;
    } catch (const CheckError& error) {
      return error.what;
    } catch (const runtime::InputError& error) {
      return error.what();
    }
  }
};

inline void check_contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace rulemill::check
