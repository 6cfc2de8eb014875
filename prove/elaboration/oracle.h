// The oracle of the elaborator predicts whether a solver will confirm an obligation, and with which lemmas. It is not
// trusted: the checker queries a solver again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "check/kernel/kernel.h"
#include "prove/elaboration/renamed_keys.h"
#include "prove/solver/models.h"
#include "prove/solver/slicer.h"

namespace rulemill::prove {

class Oracle {
 public:
  /// `samples` are sizes at which the rule is well-typed. If `quick`, it comes to Z3 sooner. With
  /// `assume_obligations`, every obligation counts as shown, so that tests of the checker get proofs of false rules.
  explicit Oracle(check::Atoms& atoms, std::vector<Models::Values> samples = {}, bool quick = false,
                  bool assume_obligations = false);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// Returns the lemmas that the obligation needs; nothing if it is not shown.
  std::optional<std::vector<check::ProductLemma>> find_lemmas(const check::Obligation& obligation, bool uses_z3 = true);
  /// The guards of the products that a step compares, if it does: theirs may matter beside those of its obligations.
  void consider(check::Guards guards) { considered_ = std::move(guards); }
  /// Returns the only value of the polynomial where the guards hold, if there is only one.
  std::optional<std::int64_t> unique_value(const check::Guards& guards, const check::Poly& poly);

  /// The number of obligations that no earlier answer decided.
  std::uint64_t queries() const { return queries_; }

 private:
  std::optional<std::vector<check::ProductLemma>> find_lemmas_by_name(const check::Obligation& obligation,
                                                                      bool uses_z3);
  std::optional<std::vector<check::ProductLemma>> solve(const check::Obligation& obligation, bool uses_z3);
  /// With definitions and products of what occurs in the obligation and in the guards that are considered.
  std::optional<std::vector<check::ProductLemma>> solve_about(const check::Guards& considered,
                                                              const check::Obligation& obligation, bool uses_z3);
  bool has_counterexample(const check::Obligation& obligation);
  bool has_model(const Query& query);

  struct Z3;
  check::Atoms& atoms_;
  std::vector<Models::Values> samples_;
  Models models_;
  bool quick_, assume_obligations_;
  std::uint64_t queries_ = 0;
  check::Guards considered_;
  std::unique_ptr<Z3> z3_;
  RenamedKeys keys_;
  Slicer slicer_;
  std::unordered_map<RenamedKeys::Key, std::optional<std::int64_t>, RenamedKeys::Hash> values_;
  // Obligations that are shown without lemmas, or not at all; whatever the names of their bound indices.
  std::unordered_map<RenamedKeys::Key, bool, RenamedKeys::Hash> plain_answers_;
  // The lemmas of other obligations.
  std::map<std::vector<check::Guard>, std::vector<check::ProductLemma>> lemmas_;
};

}  // namespace rulemill::prove
