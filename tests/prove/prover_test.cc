#include <catch2/catch.hpp>

#include "rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("rules that the field expects are proved from the definitions") {
  Court court;
  double seconds = 0;
  std::size_t proved = 0;
  for (const algebra::Rule& rule : court.rules("tests/prove/proved.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
    if (const auto* proof = std::get_if<Proved>(&verdict)) {
      seconds += proof->seconds;
      ++proved;
    }
  }
  WARN(proved << " rules proved, " << 1000 * seconds / static_cast<double>(proved) << " ms on average");
}

TEST_CASE("false rules are refuted by a counterexample") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/refuted.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
}

TEST_CASE("rules that no sizes can type are rejected") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/ill_typed.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<IllTyped>(verdict));
  }
}

TEST_CASE("stated properties that hold are proved") {
  Court court;
  for (const algebra::Rule& rule : court.rules("data/properties/linear_algebra.properties")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}
