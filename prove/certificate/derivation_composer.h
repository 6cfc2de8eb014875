// Composes derivations: replaces an instance of a derived rule by the rule instances that imply it, at its terms and
// sizes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/terms/factor_refinement.h"
#include "prove/certificate/rule_instance_text.h"

namespace rulemill::prove {

class DerivationComposer {
 public:
  explicit DerivationComposer(algebra::Library& library) : library_(library), bank_(library) {}

  /// Adds a derived rule, typed and in text form, with the lines of the rule instances that imply it. Derived rules
  /// among these must have been added before. Returns the composed lines; if there are none, the rule is uncomposable.
  std::optional<std::string> add(const std::string& name, const std::string& rule, const std::string& instances);

  /// Excludes a rule whose derivation is not known: a derivation that uses it cannot be composed.
  void mark_uncomposable(const std::string& name) { derived_[name]; }

  /// Returns the lines of a goal's derivation without instances of added rules. None if it uses an uncomposable rule,
  /// or an added rule at sizes over which its equal products cannot be distributed.
  std::optional<std::string> compose(const std::string& goal, const std::string& instances);

 private:
  struct DerivedRule {
    algebra::Rule rule;                   // refined (algebra/terms/factor_refinement.h)
    algebra::CommonFactors factors;       // of the refinement; empty without one
    std::vector<RuleInstance> instances;  // over its variables and sizes
  };

  algebra::RefinedRule refined_goal(const std::string& rule);
  bool add_instances(const RuleInstance& outer, const DerivedRule& derived, std::vector<std::string>& lines);

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  std::map<std::string, std::optional<DerivedRule>> derived_;  // by name; none: uncomposable
};

/// A derivation to be composed on its own, as one item of a task.
struct CompositionRequest {
  struct DerivedRule {
    std::string name, rule, instances;  // instances of rules that are not in the request
  };
  std::string goal, instances;
  std::vector<DerivedRule> derived;  // the rules whose instances are replaced
};
std::string pack(const CompositionRequest& request);
/// Returns the composed lines; empty if there are none.
std::string compose_derivation(std::string_view packed_request, algebra::Library& library);

}  // namespace rulemill::prove
