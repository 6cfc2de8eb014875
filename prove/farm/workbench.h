// What derivations are done on: the known rules, and goals that are forgotten again. Within a session an answer depends
// on the rules and on what the session was asked before, whatever the process did earlier.
#pragma once

#include <string>

#include "egraph/derive.h"
#include "prove/farm/outcome.h"

namespace rulemill::prove {

enum class Implied : std::uint8_t { Yes, No, Limit };

class Workbench {
 public:
  Workbench(algebra::Library& library, const egraph::Limits& limits);

  /// Adds a proved rule in text form; it gets the next number. Not within a session.
  void add_rule(const std::string& rule);
  std::uint32_t rule_count() const { return deriver_.rule_count(); }
  void enable(std::uint32_t rule, bool enabled) { deriver_.enable(rule, enabled); }
  const std::string& rule_text(std::uint32_t rule) const { return texts_.at(rule); }

  /// A time in which goals are looked at; at its end they are forgotten.
  class Session {
   public:
    explicit Session(Workbench& bench);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    Workbench& bench_;
    algebra::TermBank::Mark terms_;
    algebra::Symbols::Mark symbols_;
    egraph::Deriver::Mark rules_;
  };

  /// Whether a candidate's sides are known to be defined at the same points.
  enum class Domains : std::uint8_t { Unknown, Alike };
  /// Types a candidate in text form, its shapes an example, and derives it. Unknown, if it is to be proved.
  Outcome derive(const std::string& candidate, Domains domains);
  /// What is tried harder is tried again with larger limits where one was met.
  enum class Try : std::uint8_t { Once, Harder };
  /// Whether the enabled rules imply a typed rule in text form.
  Implied implied(const std::string& rule, Try how);
  /// Likewise; if so, its certificate lists the rule instances, else its detail is implied_no or implied_limit.
  Outcome explain(const std::string& rule, Try how);
  /// Seconds in the deriver, all in all.
  double seconds() const { return seconds_; }

 private:
  algebra::TypedRule typed(const std::string& rule);
  egraph::Derivation derive(const algebra::TypedRule& goal, bool explain, Try how);
  std::string derivation_text(const egraph::Derived& derived) const;

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  egraph::Deriver deriver_;
  std::vector<bool> partial_functions_;  // by function
  std::vector<std::string> texts_;
  double seconds_ = 0;
};

/// A candidate in text form, as candidates.rules has it: a rule whose shapes are an example.
struct CandidateRule {
  algebra::Rule rule;  // without shapes
  std::vector<std::vector<std::int64_t>> example;
};
CandidateRule parse_candidate(const std::string& candidate, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols);

}  // namespace rulemill::prove
