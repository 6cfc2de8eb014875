// A prover with an injected fault proves false rules; the checker rejects them. Each rule of faults.rules is named
// after the fault with which it is proved.
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

const std::map<std::string, Fault> faults = {
    {"range_guards_dropped", Fault::RangeGuardsDropped},
    {"reduction_one_short", Fault::ReductionOneShort},
    {"else_case_dropped", Fault::ElseCaseDropped},
    {"complement_off_by_one", Fault::ComplementOffByOne},
    {"complement_cell_dropped", Fault::ComplementCellDropped},
    {"target_not_negated", Fault::TargetNotNegated},
    {"non_unimodular_map", Fault::NonUnimodularMap},
    {"quotient_off_by_one", Fault::QuotientOffByOne},
    {"division_rounds_up", Fault::DivisionRoundsUp},
    {"zero_law_for_all", Fault::ZeroLawForAll},
    {"guarded_product_dropped", Fault::GuardedProductDropped},
    {"coefficients_ignored", Fault::CoefficientsIgnored},
    {"ranges_assumed_equal", Fault::RangesAssumedEqual},
    {"indices_assumed_equal", Fault::IndicesAssumedEqual},
    {"facts_made_strict", Fault::FactsMadeStrict},
    {"guard_rounded_up", Fault::GuardRoundedUp},
    {"equality_dropped", Fault::EqualityDropped},
};

ProverOptions options_with(Fault fault) {
  ProverOptions options;
  options.solver.fault = fault;
  options.align.fault = fault;
  return options;
}

/// A prover, perhaps with a fault, over the operators whose rules reveal faults.
struct FaultFixture : ProverFixture {
  ProverOptions options;

  explicit FaultFixture(Fault fault) : ProverFixture(options_with(fault)), options(options_with(fault)) {
    library.add(text_of("tests/prove/faults.op"), "tests/prove/faults.op");
  }

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
    certify(rules, library, bank, symbols, options);
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
    const auto claimed = certify_by_definitions(statement_of(rule, bank, symbols), library, options, reason,
                                                /*assume_obligations=*/true);
    if (!claimed) return "kernel: " + reason;
    check::Atoms atoms;
    check::Statement checked(check::to_core(rule, bank, symbols, atoms), atoms);
    const check::Proof proof = check::parse_proof(claimed->proof, "claim", 1, checked);
    Z3Session z3;
    for (const check::Obligation& obligation : check::check_proof(proof, checked).obligations) {
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

TEST_CASE("the checker detects a fault of the prover") {
  FaultFixture sound(Fault::None);
  const auto rules = sound.typed_rules();
  CHECK(rules.size() == faults.size());
  std::size_t rejected_by_solver = 0;
  for (const auto& [name, fault] : faults) {
    CAPTURE(name);
    REQUIRE(rules.contains(name));
    CHECK_FALSE(sound.prover.prove_equal(rules.at(name)).proved);

    FaultFixture faulty(fault);
    const algebra::TypedRule typed = faulty.typed_rules().at(name);
    const ProofResult outcome = faulty.prover.prove_equal(typed);
    CHECK((outcome.proved ? "proved" : outcome.reason) == "proved");

    // Evaluation at random sizes, and the certificate that the faulty prover makes.
    const std::string evaluated =
        evaluate_at_samples(typed.rule, faulty.bank, faulty.symbols, 1).difference.value_or("");
    CHECK(evaluated != "");
    const algebra::RuleSet database = faulty.database_of(typed.rule);
    CHECK_FALSE(has_checkable_proof(database.rules[0].certificate.text));
    require_both(faulty.findings(database));

    const std::string rejection = faulty.rejected_by(typed.rule);
    CHECK(rejection != "");
    rejected_by_solver += rejection.starts_with("Z3") ? 1 : 0;
    WARN(name << ": evaluation: " << evaluated << "; " << rejection);
  }
  CHECK(rejected_by_solver >= 10);
}

TEST_CASE("the checker detects a condition that the prover drops") {
  const std::string text = "rule shorter(x[n], z[m])\n  if_shorter(x, z) => x\n  when m < n";
  const auto findings = [&](Fault fault) {
    FaultFixture fixture(fault);
    const Verdict verdict = fixture.prover.prove(fixture.rule(text));
    INFO(verdict_text(verdict));
    REQUIRE(std::holds_alternative<Proved>(verdict));
    const algebra::Rule rule = std::get<Proved>(verdict).typed.rule;
    CHECK((fixture.rejected_by(rule) == "") == (fault == Fault::None));
    return fixture.findings(fixture.database_of(rule));
  };
  CHECK(findings(Fault::None).empty());
  require_both(findings(Fault::ConditionDropped));
}
