// The known rules and a deriver over them, for goals that are removed again. Within a session an answer depends only on
// the rules and on the session's earlier goals.
#pragma once

#include <string>

#include "egraph/derive.h"
#include "prove/tasks/candidate_result.h"

namespace rulemill::prove {

enum class Implication : std::uint8_t { Yes, No, LimitReached };

/// Whether a derivation that hits a limit is tried again with extended limits.
enum class LimitPolicy : std::uint8_t { Default, Extended };

/// Whether a candidate's sides are known to be defined at the same points.
enum class Domains : std::uint8_t { Unknown, Equal };

class DerivationContext {
 public:
  DerivationContext(algebra::Library& library, const egraph::Limits& limits);

  /// Adds a proved rule in text form; it gets the next number. Not within a session.
  void add_rule(const std::string& rule);
  void enable(std::uint32_t rule, bool enabled) { deriver_.enable(rule, enabled); }
  const std::string& rule_text(std::uint32_t rule) const { return texts_.at(rule); }

  /// A scope for goals; its end removes them.
  class Session {
   public:
    explicit Session(DerivationContext& context);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    DerivationContext& context_;
    algebra::TermBank::Mark terms_;
    algebra::Symbols::Mark symbols_;
    egraph::Deriver::Mark rules_;
  };

  /// Types a candidate in text form, its shapes an example, and derives it. Unknown if it is still to be proved.
  CandidateResult derive(const std::string& candidate, Domains domains);
  /// Returns whether the enabled rules imply a typed rule in text form.
  Implication is_implied(const std::string& rule, LimitPolicy policy);
  /// Derives a typed rule in text form. The result's certificate lists the rule instances; if the rule is not derived,
  /// its detail is implied_no or implied_limit.
  CandidateResult explain(const std::string& rule, LimitPolicy policy);
  /// Total seconds in the deriver.
  double seconds() const { return seconds_; }

 private:
  algebra::TypedRule typed(const std::string& rule);
  egraph::Derivation derive(const algebra::TypedRule& goal, bool explain, LimitPolicy policy);
  void set_derivation(const egraph::Derived& derived, CandidateResult& result) const;
  std::string derivation_text(const egraph::Derived& derived) const;

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  egraph::Deriver deriver_;
  std::vector<std::string> texts_;
  double seconds_ = 0;
};

}  // namespace rulemill::prove
