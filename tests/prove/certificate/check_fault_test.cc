// A prover with a fault proves what is false; the checker does not take its word. Each rule of faults.rules is named as
// the fault that has it proved.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "check/kernel/proof.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/certificate/replay.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

const std::map<std::string, Fault> faults = {
    {"range_forgotten", Fault::RangeForgotten},
    {"reduction_short", Fault::ReductionShort},
    {"case_forgotten", Fault::CaseForgotten},
    {"complement_off", Fault::ComplementOff},
    {"cell_forgotten", Fault::CellForgotten},
    {"sign_forgotten", Fault::SignForgotten},
    {"any_map", Fault::AnyMap},
    {"quotient_off", Fault::QuotientOff},
    {"division_up", Fault::DivisionUp},
    {"zero_law", Fault::ZeroLaw},
    {"product_dropped", Fault::ProductDropped},
    {"coefficients_forgotten", Fault::CoefficientsForgotten},
    {"regions_believed", Fault::RegionsBelieved},
    {"indices_believed", Fault::IndicesBelieved},
    {"facts_strict", Fault::FactsStrict},
    {"tightened_up", Fault::TightenedUp},
    {"equality_forgotten", Fault::EqualityForgotten},
};

ProverOptions with(Fault fault) {
  ProverOptions options;
  options.solver.fault = fault;
  options.align.fault = fault;
  return options;
}

/// A prover, with a fault or without, over the operators on which faults tell.
struct FaultCourt : Court {
  ProverOptions options;

  explicit FaultCourt(Fault fault) : Court(with(fault)), options(with(fault)) {
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

  /// Who refuses a certificate that claims the rule, made where everything counts as shown: the kernel, which does not
  /// find its steps to fit, or a solver, which does not grant what they leave to be shown.
  std::string refused_by(const algebra::Rule& rule) {
    std::string reason;
    const auto claimed =
        certify_by_definitions(statement_of(rule, bank, symbols), library, options, reason, /*believing=*/true);
    if (!claimed) return "kernel: " + reason;
    check::Atoms atoms;
    check::Statement stated(rule, bank, symbols, atoms);
    const check::Proof proof = check::parse_proof(claimed->proof, "claim", 1, atoms);
    Z3Session z3;
    for (const check::Obligation& obligation : check::follow(proof, stated).obligations) {
      if (z3.answer(check::smtlib(obligation, atoms)) != "unsat") return "Z3: " + obligation.what;
    }
    return "";
  }
};

}  // namespace

TEST_CASE("a fault of the prover is caught by the checker") {
  FaultCourt sound(Fault::None);
  const auto rules = sound.typed_rules();
  CHECK(rules.size() == faults.size());
  std::size_t refused_by_solver = 0;
  for (const auto& [name, fault] : faults) {
    CAPTURE(name);
    REQUIRE(rules.contains(name));
    CHECK_FALSE(sound.prover.prove_equal(rules.at(name)).proved);

    FaultCourt faulty(fault);
    const algebra::TypedRule typed = faulty.typed_rules().at(name);
    const Prover::Outcome outcome = faulty.prover.prove_equal(typed);
    CHECK((outcome.proved ? "proved" : outcome.reason) == "proved");

    // What the faulty prover's database has for it, and what the rule computes at random sizes.
    const std::string evaluated = check::evaluate(typed.rule, faulty.bank, faulty.symbols, 1).value_or("");
    CHECK(evaluated != "");
    const algebra::RuleSet database = faulty.database_of(typed.rule);
    CHECK(database.rules[0].certificate.text.ends_with(unfollowed));
    CHECK(faulty.findings(database).size() == 1);

    const std::string refused = faulty.refused_by(typed.rule);
    CHECK(refused != "");
    refused_by_solver += refused.starts_with("Z3") ? 1 : 0;
    WARN(name << ": evaluation: " << evaluated << "; " << refused);
  }
  CHECK(refused_by_solver >= 10);
}

TEST_CASE("a condition that the prover forgets is caught by the checker") {
  const std::string text = "rule shorter(x[n], z[m])\n  if_shorter(x, z) => x\n  when m < n";
  const auto findings = [&](Fault fault) {
    FaultCourt court(fault);
    const Verdict verdict = court.prover.prove(court.rule(text));
    INFO(in_words(verdict));
    REQUIRE(std::holds_alternative<Proved>(verdict));
    const algebra::Rule rule = std::get<Proved>(verdict).typed.rule;
    CHECK((court.refused_by(rule) == "") == (fault == Fault::None));
    return court.findings(court.database_of(rule));
  };
  CHECK(findings(Fault::None).empty());
  const std::vector<std::string> found = findings(Fault::ConditionForgotten);
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("its sides differ at ") == 0);
}
