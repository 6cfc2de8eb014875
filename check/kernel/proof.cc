// Checks a proof and collects its obligations.
#include "check/kernel/proof.h"

namespace rulemill::check {

std::pair<Sum, Context> undefinedness(const DefinednessCondition& condition, const Statement& statement) {
  return {subtract({number({1, 1})}, to_sum(condition.factors.at(0))),
          within(Context{statement.facts(), {}}, condition)};
}

KnownConditions conditions_in_values(const Statement& statement) {
  if (!statement.rule().widens) return {};
  return {statement.definedness_conditions(/*of_target=*/false).all};
}

std::vector<Obligation> check_domains(const Proof& proof, const Statement& statement) {
  std::vector<Obligation> result;
  const auto take = [&](Obligation obligation) { result.push_back(std::move(obligation)); };
  for (const bool of_target : {false, true}) {
    const Statement::DefinednessConditions& conditions = statement.definedness_conditions(of_target);
    const std::vector<std::vector<Step>>& proofs = proof.domains[of_target ? 1 : 0];
    const bool is_assumed = statement.rule().widens && !of_target;
    expect(proofs.size() == (is_assumed ? 0 : conditions.own_count), "expected a proof of each definedness condition");
    for (std::size_t d = 0; d < proofs.size(); ++d) {
      const KnownConditions known{statement.definedness_conditions(!of_target).all, &conditions.all[d]};
      Kernel kernel(statement, take, known);
      auto [sum, context] = undefinedness(conditions.all[d], statement);
      kernel.check_vanishes(std::move(sum), context, proofs[d], "a condition is not shown");
    }
  }
  return result;
}

std::vector<Obligation> check_proof(const Proof& proof, const Statement& statement) {
  expect(proof.outputs.size() == statement.outputs(), "the proof has a different number of outputs");
  std::vector<Obligation> result = check_domains(proof, statement);
  const auto take = [&](Obligation obligation) { result.push_back(std::move(obligation)); };
  Kernel kernel(statement, take, conditions_in_values(statement));
  for (std::size_t o = 0; o < proof.outputs.size(); ++o) {
    const Context context{conjunction(statement.facts(), statement.index_ranges(o)), {}};
    kernel.check_vanishes(statement.difference(o), context, proof.outputs[o], "the sides are not shown to be equal");
  }
  for (const Guard& goal : statement.target_obligations())
    result.push_back({"both sides have one shape", statement.facts(), goal, proof.lemmas});
  for (const Poly& divisor : statement.atoms().divisors())
    result.push_back({"a divisor is positive", statement.facts(), Guard{false, divisor - 1}, proof.lemmas});
  return result;
}

}  // namespace rulemill::check
