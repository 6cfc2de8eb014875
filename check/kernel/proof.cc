// Checks a proof and collects its obligations.
#include "check/kernel/proof.h"

#include <algorithm>

namespace rulemill::check {

namespace {

void check_output(const OutputProof& proof, std::size_t output, Statement& statement, Kernel& kernel) {
  Sum sum = statement.difference(output);
  const auto same = [&](const Product& product, const std::string& text) { return statement.text(product) == text; };
  expect(std::ranges::equal(sum, proof.normal_form, same), "the definitions have a different normal form");
  kernel.run(sum, {conjunction(statement.facts(), statement.index_ranges(output)), {}}, proof.steps);
  if (!sum.empty()) throw CheckError{"nothing cancels " + statement.text(sum[0])};
}

void check_domains(const Proof& proof, Statement& statement, Kernel& kernel) {
  for (const bool of_target : {false, true}) {
    const Statement::DefinednessConditions& conditions = statement.definedness_conditions(of_target);
    const std::vector<ConditionProof>& proofs = proof.domains[of_target ? 1 : 0];
    expect(proofs.size() == conditions.own_count, "expected a proof of each definedness condition");
    for (std::size_t d = 0; d < proofs.size(); ++d) {
      const DefinednessCondition& condition = conditions.all[d];
      expect(proofs[d].condition == statement.text(condition),
             "the definitions have a different definedness condition");
      const Guards given = conjunction(statement.facts(), condition.guards);
      check_definedness(proofs[d].proof, condition, of_target, given, statement, kernel);
    }
  }
}

CheckedProof collect_obligations(const Proof& proof, Statement& statement, const std::function<void(Kernel&)>& check) {
  CheckedProof result;
  Kernel kernel(statement, [&](Obligation obligation) { result.obligations.push_back(std::move(obligation)); });
  kernel.check_scope(proof.lemmas, {}, {});
  check(kernel);
  result.trivial = kernel.trivial();
  return result;
}

}  // namespace

CheckedProof check_domains(const Proof& proof, Statement& statement) {
  return collect_obligations(proof, statement, [&](Kernel& kernel) { check_domains(proof, statement, kernel); });
}

CheckedProof check_proof(const Proof& proof, Statement& statement) {
  expect(proof.outputs.size() == statement.outputs(), "the proof has a different number of outputs");
  return collect_obligations(proof, statement, [&](Kernel& kernel) {
    for (std::size_t o = 0; o < proof.outputs.size(); ++o) check_output(proof.outputs[o], o, statement, kernel);
    check_domains(proof, statement, kernel);
    for (const Guard& goal : statement.target_obligations())
      kernel.require({"both sides have one shape", statement.facts(), goal, {}, proof.lemmas});
    for (const Poly& divisor : statement.atoms().divisors())
      kernel.require({"a divisor is positive", statement.facts(), Guard{false, divisor - 1}, {}, proof.lemmas});
  });
}

}  // namespace rulemill::check
