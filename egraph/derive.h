// Derivation of rules from rules: decides whether core rules imply a goal, with one small typed e-graph per goal. Rules
// are compiled once and used for thousands of goals. All limits are counts, so results depend on the input only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "algebra/terms/typing.h"
#include "egraph/limits.h"

namespace rulemill::egraph {

/// A rule under a substitution of its variables and sizes, over the variables and sizes of the goal as derived.
struct RuleInstance {
  std::uint32_t rule = 0;                                      // as numbered by Deriver::add
  std::vector<algebra::TermId> variables;                      // a term for each variable of the rule
  std::vector<std::pair<algebra::Atom, algebra::Poly>> sizes;  // a value for each size of the rule, sorted by atom
  bool operator==(const RuleInstance&) const = default;
};

/// The goal is implied: these rule instances imply it by congruence.
struct Derived {
  std::vector<RuleInstance> instances;
};
/// Saturated within the limits on terms: the rules do not imply the goal with terms of these sizes.
struct Saturated {};
/// Stopped early; the rules may imply the goal. Overflow: of a size beyond 64 bits.
struct LimitReached {
  enum class Kind : std::uint8_t { Iterations, Nodes, Matches, Overflow } kind = Kind::Iterations;
};
using Derivation = std::variant<Derived, Saturated, LimitReached>;
const char* to_string(LimitReached::Kind kind);

/// The cost of the last call.
struct DeriveStatistics {
  std::uint32_t iterations = 0, nodes = 0, classes = 0, matches = 0;
};

/// A set of compiled rules that derives goals.
class Deriver {
 public:
  /// Terms and sizes of rules and goals are in `bank` and `symbols`, which must outlive this. Explanations add terms to
  /// the bank.
  Deriver(algebra::TermBank& bank, algebra::Symbols& symbols, Limits limits = {});
  ~Deriver();
  Deriver(Deriver&&) noexcept;
  Deriver& operator=(Deriver&&) noexcept;

  /// Adds a proved rule and returns its number: 0, 1, 2, …. Uses both directions if its variables allow it.
  std::uint32_t add(const algebra::TypedRule& rule);
  /// Enables or disables a rule: a disabled rule can be derived from the others. New rules are enabled.
  void enable(std::uint32_t rule, bool enabled);
  std::uint32_t rule_count() const;
  const algebra::TypedRule& rule(std::uint32_t number) const;

  /// Decides whether the enabled rules imply the goal. If the goal's condition equates products, derives its refined
  /// form (algebra/terms/factor_refinement.h), and the instances are over the new sizes. Without `explain`, Derived is
  /// cheaper and has no instances.
  Derivation derive(const algebra::TypedRule& goal, bool explain = true);
  /// Derives the goal and, if a limit is reached, derives it again with four times the limits.
  Derivation derive_with_extended_limits(const algebra::TypedRule& goal, bool explain = true);
  const DeriveStatistics& statistics() const;

  /// The state to roll back to. Rolling back removes later rules and cached results, which makes answers independent of
  /// earlier goals. Bank and symbols must be rolled back, too.
  struct Mark {
    std::uint32_t rules = 0;
    std::size_t sizes = 0, canonical_sizes = 0;
  };
  Mark mark() const;
  void roll_back(const Mark& mark);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rulemill::egraph
