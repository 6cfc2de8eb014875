// What following a proof leaves to be shown.
#include "check/kernel/proof.h"

#include <algorithm>

namespace rulemill::check {

namespace {

void follow_claims(const Proof& proof, Statement& statement, Kernel& kernel) {
  for (const bool of_target : {false, true}) {
    const Statement::Demands& demands = statement.demands(of_target);
    const std::vector<DemandProof>& proofs = proof.domains[of_target ? 1 : 0];
    if (proofs.size() != demands.own) throw Objection{"a claim for each demand of a side is expected"};
    for (std::size_t d = 0; d < proofs.size(); ++d) {
      const Demand& demand = demands.all[d];
      if (proofs[d].demand != statement.text(demand)) throw Objection{"the definitions demand something else"};
      follow(proofs[d].claim, demand, of_target, joined(statement.facts(), demand.guards), statement, kernel);
    }
  }
}

}  // namespace

Followed follow_domains(const Proof& proof, Statement& statement) {
  Followed result;
  Kernel kernel(statement, [&](Obligation obligation) { result.obligations.push_back(std::move(obligation)); });
  follow_claims(proof, statement, kernel);
  result.plain = kernel.plain();
  return result;
}

Followed follow(const Proof& proof, Statement& statement) {
  Followed result;
  Atoms& atoms = statement.atoms();
  Kernel kernel(statement, [&](Obligation obligation) { result.obligations.push_back(std::move(obligation)); });
  if (proof.outputs.size() != statement.outputs()) throw Objection{"another number of outputs is proved"};
  for (std::size_t o = 0; o < proof.outputs.size(); ++o) {
    Sum sum = statement.difference(o);
    const std::vector<std::string>& stated = proof.outputs[o].normal_form;
    const auto same = [&](const Product& product, const std::string& text) { return statement.text(product) == text; };
    if (!std::ranges::equal(sum, stated, same)) throw Objection{"the definitions give another normal form"};
    Kernel::Context context{statement.facts(), {}};
    for (Guard& guard : statement.ranges(o)) context.given.push_back(std::move(guard));
    kernel.run(sum, context, proof.outputs[o].steps);
    if (!sum.empty()) throw Objection{"nothing cancels " + statement.text(sum[0])};
  }
  follow_claims(proof, statement, kernel);
  const auto owe = [&](const char* what, const Guard& goal) {
    Obligation obligation{what, statement.facts(), goal, {}, proof.times};
    if (is_plain(obligation))
      ++result.plain;
    else
      result.obligations.push_back(std::move(obligation));
  };
  for (const Guard& duty : statement.duties()) owe("both sides have one shape", duty);
  for (const Poly& divisor : atoms.divisors()) {
    if (!atoms.nonnegative(divisor - 1)) owe("a divisor is positive", {false, divisor - 1});
  }
  result.plain += kernel.plain();
  return result;
}

}  // namespace rulemill::check
