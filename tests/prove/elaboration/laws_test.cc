// Rules that hold by laws of functions and maxima and by counting are proved; similar false rules are not.
#include <catch2/catch.hpp>

#include "check/core_rule.h"
#include "check/evaluate.h"
#include "prove/certificate/certificate.h"
#include "prove/elaboration/elaborate.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("rules that hold by laws are proved with certificates") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/laws.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
    const auto* proof = std::get_if<Proved>(&verdict);
    if (!proof) continue;
    const std::string statement = statement_of(proof->typed.rule, fixture.bank, fixture.symbols);
    std::string reason;
    const auto certificate = certify_by_definitions(statement, fixture.library, fixture.prover.options(), reason);
    INFO(reason);
    CHECK(certificate);
  }
}

namespace {

/// These differ only where two values are equal, or at truth values, and random numbers are neither.
bool differs_at_special_values(const std::string& rule) {
  return rule == "any_equal_to_the_largest" || rule == "opposite_of_and_as_and" || rule == "not_less_as_less";
}

}  // namespace

TEST_CASE("rules that only stronger laws would make true are not proved") {
  ProverOptions weak_refuter;
  weak_refuter.refute.tries = 1;
  weak_refuter.refute.elements = 2;
  ProverFixture fixture, weak(weak_refuter);
  for (const algebra::Rule& rule : fixture.rules("tests/prove/laws_false.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
  for (const algebra::Rule& rule : weak.rules("tests/prove/laws_false.rules")) {
    INFO(rule.id);
    const auto types = algebra::infer_types(rule, weak.bank, weak.symbols);
    REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
    const algebra::Rule& typed = std::get<algebra::TypedRule>(types).rule;
    check::Atoms atoms;
    check::Statement statement(check::to_core(typed, weak.bank, weak.symbols, atoms), atoms);
    const auto samples = sample_sizes_by_name(typed, weak.bank, weak.symbols, 1);
    CHECK_FALSE(elaborate(statement, samples).proof);
    const auto differ = [&](std::uint64_t seed) {
      return check::evaluate(typed, weak.bank, weak.symbols, samples, seed).difference.has_value();
    };
    bool found = false;
    for (std::uint64_t seed = 0; seed < 20 && !found; ++seed) found = differ(seed);
    CHECK(found != differs_at_special_values(rule.id));
  }
}
