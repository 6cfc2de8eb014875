// Derives rules from rules: is a goal a consequence of the core rules so far? One small typed e-graph a goal; the rules
// are compiled once and used for thousands of goals. Every limit counts something, so the answer depends on the input
// alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::egraph {

struct Limits {
  std::uint32_t iterations = 12;  // with the rules in reach, each time that reach grows (RuleIndex::Reach)
  std::uint32_t nodes = 5000;
  std::uint32_t matches = 10'000;     // matches tried for one goal, all iterations together
  std::uint32_t matches_each = 200;   // of one direction of a rule, in one iteration
  std::uint32_t tries = 20'000'000;   // nodes tried for a place in a pattern, all matches together
  std::uint32_t tries_each = 3'000;   // of one direction of a rule, in one iteration
  std::uint32_t growth = 0xffffffff;  // a term built for a class may have this many operators more than its smallest
  bool rewrite_constants = true;      // else what is computed from constants alone is left as it is
  std::uint32_t extra_operators = 2;  // a term may have this many operators more than the larger side of the goal

  /// With this many times the work before one gives up, and more of it for one direction; the bound on terms stays.
  Limits times(std::uint32_t factor) const;
};

/// One use of a core rule: its equation at these terms and sizes. Everything is over the goal's variables and sizes, as
/// the goal is derived.
struct RuleInstance {
  std::uint32_t rule = 0;                                      // as numbered by Deriver::add
  std::vector<algebra::TermId> variables;                      // a term for each of the rule's variables
  std::vector<std::pair<algebra::Atom, algebra::Poly>> sizes;  // a value for each size of the rule, sorted by atom
  bool operator==(const RuleInstance&) const = default;
};

/// The goal follows: these instances imply it by congruence.
struct Derived {
  std::vector<RuleInstance> instances;
};
/// Nothing new can be added within the bound on term sizes: the goal does not follow so.
struct Saturated {};
/// Stopped early; the goal may follow. Numbers: of a size beyond 64 bits.
struct LimitReached {
  enum class Which : std::uint8_t { Iterations, Nodes, Matches, Numbers } which = Which::Iterations;
};
using Derivation = std::variant<Derived, Saturated, LimitReached>;
const char* to_string(LimitReached::Which which);

/// How much the last call took.
struct DeriveStatistics {
  std::uint32_t iterations = 0, nodes = 0, classes = 0, matches = 0;
};

class Deriver {
 public:
  /// Terms and sizes of rules and goals live in `bank` and `symbols`; explanations add terms to the bank. Both outlive
  /// this.
  Deriver(algebra::TermBank& bank, algebra::Symbols& symbols, Limits limits = {});
  ~Deriver();
  Deriver(Deriver&&) noexcept;
  Deriver& operator=(Deriver&&) noexcept;

  /// Adds a proved rule and returns its number: 0, 1, 2, … . Both directions are used where its variables allow it.
  std::uint32_t add(const algebra::TypedRule& rule);
  /// Takes a rule out of use, or back: whether the others imply it is asked so. New rules are enabled.
  void enable(std::uint32_t rule, bool enabled);
  std::uint32_t rule_count() const;
  const algebra::TypedRule& rule(std::uint32_t number) const;

  /// Whether the enabled rules imply the goal; one whose condition has equal products is derived with these dealt out
  /// (algebra/terms/equal_products.h), and its instances are over the new sizes. Without `explain`, Derived has no
  /// instances and costs less.
  Derivation derive(const algebra::TypedRule& goal, bool explain = true);
  /// Likewise; where a limit is met, once more with four times the limits.
  Derivation derive_harder(const algebra::TypedRule& goal, bool explain = true);
  const DeriveStatistics& statistics() const;

  /// The state as it was at the mark: later rules and all that goals have left behind are gone, so that an answer
  /// depends on the rules and on the goals since the mark alone. Bank and symbols are to be rolled back along with it.
  struct Mark {
    std::uint32_t rules = 0;
    std::size_t sizes = 0, names = 0;
  };
  Mark mark() const;
  void roll_back(const Mark& mark);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rulemill::egraph
