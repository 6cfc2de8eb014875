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

TEST_CASE("properties that the TASO slides state and that hold are proved") {
  Court court;
  for (const algebra::Rule& rule : court.rules("data/properties/taso_slides.properties")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("rules that hold under a condition are proved with it, and refuted where none is looked for") {
  ProverOptions general;
  general.find_conditions = false;
  Court court;
  Court strict(general);
  const std::string text = text_of(std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests/prove/conditional.rules");
  for (const algebra::Rule& rule : strict.rules("tests/prove/conditional.rules")) {
    const Verdict verdict = strict.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
  for (const algebra::Rule& rule : court.rules("tests/prove/conditional.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    REQUIRE(std::holds_alternative<Proved>(verdict));
    std::string found = "# found:";
    for (const algebra::SizeCondition& c : std::get<Proved>(verdict).found) {
      found += (found.back() == ':' ? " " : ", ") + algebra::to_string(c, court.symbols);
    }
    INFO(found);
    CHECK(text.find(found + "\nrule " + rule.id + "(") != std::string::npos);
  }
}

TEST_CASE("a scalar that occurs many times does not use up the alignments of what it scales") {
  Court court;
  const Verdict verdict = court.prover.prove(
      court.rule("rule transposed_power(w[d, d], s[])\n"
                 "  transpose(matmul(matmul(scale(w, s), scale(w, s)), matmul(scale(w, s), scale(w, s))); perm=[1,0])\n"
                 "  => matmul(matmul(scale(transpose(w; perm=[1,0]), s), scale(transpose(w; perm=[1,0]), s)),\n"
                 "            matmul(scale(transpose(w; perm=[1,0]), s), scale(transpose(w; perm=[1,0]), s)))"));
  INFO(in_words(verdict));
  CHECK(std::holds_alternative<Proved>(verdict));
}
