// What the elaborator asks before it takes a step: whether a solver will grant what the checker will ask for, and with
// which lemmas. Nothing rests on its answers: the checker asks a solver again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "check/kernel/kernel.h"
#include "prove/elaboration/bridge.h"
#include "prove/solver/models.h"

namespace rulemill::prove {

class Oracle {
 public:
  /// `samples`: sizes, in the bridge's symbols, at which the rule stands. With `believing`, everything is granted:
  /// certificates of what is false, for tests of the checker.
  Oracle(check::Atoms& atoms, Bridge& bridge, std::vector<Models::Values> samples, bool believing = false);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// The lemmas that the obligation needs, if it can be shown.
  std::optional<std::vector<check::Times>> shown(const check::Obligation& obligation);
  /// The one value that the polynomial can have where the guards hold, if there is only one.
  std::optional<std::int64_t> only_value(const check::Guards& given, const check::Poly& poly);

 private:
  std::optional<std::vector<check::Times>> decide(const check::Obligation& obligation);
  bool has_counterexample(const check::Obligation& obligation);
  bool has_model(const Query& query);

  struct Z3;
  check::Atoms& atoms_;
  Bridge& bridge_;
  std::vector<Models::Values> samples_;
  Models models_;
  bool believing_;
  std::unique_ptr<Z3> z3_;
  std::map<std::pair<check::Guards, check::Poly>, std::optional<std::int64_t>> values_;
  std::map<std::vector<check::Guard>, std::optional<std::vector<check::Times>>> answers_;  // to what has no indicators
};

}  // namespace rulemill::prove
