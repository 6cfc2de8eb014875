// Fixtures of checker tests: the shipped definitions, typed rules, and statements with proofs given as text.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "check/evaluate.h"
#include "check/proof_text.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::check {

struct CheckerFixture {
  algebra::Library library = shipped_operators();
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  Atoms atoms;
  std::deque<algebra::Rule> rules;

  const algebra::Rule& rule(const std::string& text) {
    const std::vector<algebra::Rule> read = algebra::parse_rules(text, "test", library, bank, symbols);
    return rules.emplace_back(std::get<algebra::TypedRule>(algebra::infer_types(read.at(0), bank, symbols)).rule);
  }
};

/// The statement of one rule, and proofs of it given as steps in text.
struct StatementFixture : CheckerFixture {
  std::unique_ptr<Statement> statement;

  explicit StatementFixture(const std::string& text, const std::string& definitions = "") {
    if (!definitions.empty()) library.add(definitions, "test.op");
    statement = std::make_unique<Statement>(rule(text), bank, symbols, atoms);
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
