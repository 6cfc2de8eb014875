// Rules that hold by laws of functions and maxima and by counting: proved by steps, and what is near to them is not.
#include <catch2/catch.hpp>

#include "check/kernel/proof.h"
#include "prove/certificate/certificate.h"
#include "prove/elaboration/elaborate.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("rules that hold by laws are proved, and their certificates are followed") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/laws.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
    const auto* proof = std::get_if<Proved>(&verdict);
    if (!proof) continue;
    const std::string statement = statement_of(proof->typed.rule, court.bank, court.symbols);
    std::string reason;
    const auto certificate = certify_by_definitions(statement, court.library, court.prover.options(), reason);
    INFO(reason);
    CHECK(certificate);
  }
}

TEST_CASE("rules that laws would make true if they said more are not proved") {
  ProverOptions blind;
  blind.refute.tries = 1;
  blind.refute.elements = 2;
  Court court, trusting(blind);
  for (const algebra::Rule& rule : court.rules("tests/prove/laws_false.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
  for (const algebra::Rule& rule : trusting.rules("tests/prove/laws_false.rules")) {
    INFO(rule.id);
    const auto types = algebra::infer_types(rule, trusting.bank, trusting.symbols);
    REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
    const algebra::Rule& typed = std::get<algebra::TypedRule>(types).rule;
    check::Atoms atoms;
    check::Statement statement(typed, trusting.bank, trusting.symbols, atoms);
    const auto samples = sample_sizes_by_name(typed, trusting.bank, trusting.symbols, 1);
    CHECK_FALSE(elaborate(statement, samples, {}, {}).proof);
    CHECK(check::evaluate(typed, trusting.bank, trusting.symbols, 1));
  }
}
