// A search for proofs that assumes its obligations claims false rules; the checker rejects the claims. Each rule of
// faults.rules is named after a mistake in a proof with which it would be proved.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/certificate/record_check.h"
#include "prove/solver/z3_session.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// A prover over the operators whose rules reveal mistakes.
struct FaultFixture : ProverFixture {
  FaultFixture() { library.add(text_of("tests/prove/faults.op"), "tests/prove/faults.op"); }

  std::map<std::string, algebra::TypedRule> typed_rules() {
    std::map<std::string, algebra::TypedRule> typed;
    for (const algebra::Rule& rule : rules("tests/prove/faults.rules")) {
      typed.emplace(rule.id, std::get<algebra::TypedRule>(algebra::infer_types(rule, bank, symbols)));
    }
    return typed;
  }

  algebra::RuleSet database_of(const algebra::Rule& rule) {
    algebra::RuleSet rules;
    algebra::RuleRecord& record = rules.rules.emplace_back();
    record.rule = rule;
    record.rule.tier = algebra::Tier::Core;
    record.certificate.kind = algebra::Certificate::Kind::Definitions;
    certify(rules, library, bank, symbols, {});
    return rules;
  }

  std::vector<std::string> findings(const algebra::RuleSet& rules) {
    std::vector<std::string> texts;
    for (const CheckFinding& finding : prove::check(rules, library, bank, symbols, {}).findings) {
      texts.push_back(finding.what);
    }
    return texts;
  }

  /// Makes a certificate of the rule with all obligations assumed. Returns what rejects it: the kernel, or Z3, which
  /// does not confirm an obligation; empty if neither.
  std::string rejected_by(const algebra::Rule& rule) {
    std::string reason;
    const auto claimed = certify_by_definitions(statement_of(rule, bank, symbols), library, {}, reason,
                                                /*assume_obligations=*/true);
    if (!claimed) return "kernel: " + reason;
    check::Atoms atoms;
    check::Statement checked(check::to_core(rule, bank, symbols, atoms), atoms);
    const check::Proof proof = check::parse_proof(claimed->proof, "claim", 1, checked);
    Z3Session z3;
    for (const check::Obligation& obligation : check::check_proof(proof, checked)) {
      if (z3.answer(check::smtlib(obligation, atoms)) != "unsat") return "Z3: " + obligation.what;
    }
    return "";
  }
};

/// A false rule is found by evaluation, and by its certificate.
void require_both(const std::vector<std::string>& findings) {
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].starts_with("its sides differ at "));
  CHECK(findings[1] == "proved, but the certificate has no checkable proof");
}

}  // namespace

TEST_CASE("the checker rejects the claims of a search that assumes its obligations") {
  FaultFixture fixture;
  std::size_t rejected_by_solver = 0;
  const auto rules = fixture.typed_rules();
  CHECK(rules.size() >= 17);
  for (const auto& [name, typed] : rules) {
    CAPTURE(name);
    CHECK_FALSE(fixture.prover.prove_equal(typed).proved);
    const std::string evaluated =
        evaluate_at_samples(typed.rule, fixture.bank, fixture.symbols, 1).difference.value_or("");
    CHECK(evaluated != "");
    const algebra::RuleSet database = fixture.database_of(typed.rule);
    CHECK_FALSE(has_checkable_proof(database.rules[0].certificate.text));
    require_both(fixture.findings(database));
    const std::string rejection = fixture.rejected_by(typed.rule);
    CHECK(rejection != "");
    rejected_by_solver += rejection.starts_with("Z3") ? 1 : 0;
    WARN(name << ": evaluation: " << evaluated << "; " << rejection);
  }
  CHECK(rejected_by_solver >= 10);
}

TEST_CASE("the checker detects that a condition is missing") {
  const auto findings = [](const std::string& condition) {
    FaultFixture fixture;
    const std::string text = "rule shorter(x[n], z[m])\n  if_shorter(x, z) => x" + condition;
    const auto typed =
        std::get<algebra::TypedRule>(algebra::infer_types(fixture.rule(text), fixture.bank, fixture.symbols));
    CHECK((fixture.rejected_by(typed.rule) == "") == !condition.empty());
    return fixture.findings(fixture.database_of(typed.rule));
  };
  CHECK(findings("\n  when m < n").empty());
  require_both(findings(""));
}
