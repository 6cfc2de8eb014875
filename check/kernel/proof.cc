// Checks a proof and collects its obligations.
#include "check/kernel/proof.h"

#include <algorithm>

namespace rulemill::check {

namespace {

void check_domains(const Proof& proof, Statement& statement, Kernel& kernel) {
  for (const bool of_target : {false, true}) {
    const Statement::DefinednessConditions& conditions = statement.definedness_conditions(of_target);
    const std::vector<ConditionProof>& proofs = proof.domains[of_target ? 1 : 0];
    if (proofs.size() != conditions.own_count) throw CheckError{"expected a proof of each definedness condition"};
    for (std::size_t d = 0; d < proofs.size(); ++d) {
      const DefinednessCondition& condition = conditions.all[d];
      if (proofs[d].condition != statement.text(condition))
        throw CheckError{"the definitions have a different definedness condition"};
      const Guards given = conjunction(statement.facts(), condition.guards);
      check_definedness(proofs[d].proof, condition, of_target, given, statement, kernel);
    }
  }
}

}  // namespace

CheckedProof check_domains(const Proof& proof, Statement& statement) {
  CheckedProof result;
  Kernel kernel(statement, [&](Obligation obligation) { result.obligations.push_back(std::move(obligation)); });
  check_domains(proof, statement, kernel);
  result.trivial = kernel.trivial();
  return result;
}

CheckedProof check_proof(const Proof& proof, Statement& statement) {
  CheckedProof result;
  Atoms& atoms = statement.atoms();
  Kernel kernel(statement, [&](Obligation obligation) { result.obligations.push_back(std::move(obligation)); });
  if (proof.outputs.size() != statement.outputs()) throw CheckError{"the proof has a different number of outputs"};
  for (std::size_t o = 0; o < proof.outputs.size(); ++o) {
    Sum sum = statement.difference(o);
    const std::vector<std::string>& stated = proof.outputs[o].normal_form;
    const auto same = [&](const Product& product, const std::string& text) { return statement.text(product) == text; };
    if (!std::ranges::equal(sum, stated, same)) throw CheckError{"the definitions have a different normal form"};
    Kernel::Context context{statement.facts(), {}};
    for (Guard& guard : statement.index_ranges(o)) context.given.push_back(std::move(guard));
    kernel.run(sum, context, proof.outputs[o].steps);
    if (!sum.empty()) throw CheckError{"nothing cancels " + statement.text(sum[0])};
  }
  check_domains(proof, statement, kernel);
  const auto require = [&](const char* what, const Guard& goal) {
    Obligation obligation{what, statement.facts(), goal, {}, proof.lemmas};
    if (is_trivial(obligation))
      ++result.trivial;
    else
      result.obligations.push_back(std::move(obligation));
  };
  for (const Guard& goal : statement.target_obligations()) require("both sides have one shape", goal);
  for (const Poly& divisor : atoms.divisors()) {
    if (!atoms.is_nonnegative(divisor - 1)) require("a divisor is positive", {false, divisor - 1});
  }
  result.trivial += kernel.trivial();
  return result;
}

}  // namespace rulemill::check
