// Which of the rules that hold are core: none of these is implied by the rest of them, within the limits of
// derivations, and they imply all the others. Run by the first rank, which asks the crew.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "prove/farm/crew.h"
#include "prove/farm/outcome.h"

namespace rulemill::prove {

/// By candidate: instances of its rule at other ranks and numbers, in text form, with names of their own. They hold
/// with the rule, and are of use as long as it is core.
using InstanceTexts = std::map<std::string, std::vector<std::string>>;

class MinimalCore {
 public:
  /// `block`: derivations in one task. `statement_of`: what a rule's certificate states, as the database has the rule.
  MinimalCore(const std::vector<Outcome>& outcomes, Crew& crew, std::size_t block, algebra::Library& library,
              std::function<std::string(const Outcome&)> statement_of, InstanceTexts instances = {});

  /// Every rule is core or derived then, each with its certificate, or unknown: proved by no steps that the checker can
  /// follow.
  void find();

  /// Those that hold, in the candidates' order.
  std::vector<Outcome>& rules() { return rules_; }

 private:
  using Positions = std::vector<std::size_t>;  // in rules_

  Positions eliminate_all();
  void derive_apart();
  Positions eliminate(TaskKind asked, Positions& core);
  void add_names(std::size_t rule, std::set<std::string>& names) const;
  bool explain(Positions open);
  Positions explain_each(TaskKind asked, const Positions& positions);
  Positions unexplained(const Positions& open);
  Positions uncomposed(const Positions& open);
  Positions admit(const Positions& open);
  Positions resting_on(const Positions& gone) const;
  Positions certify();

  Positions of_kind(Outcome::Kind kind) const;
  Positions used() const;
  enum class With : std::uint8_t { Instances, Nothing };
  void enter(const Positions& positions, With with = With::Instances);
  const std::vector<std::string>& instances_of(std::size_t rule) const;
  void leave(const Positions& positions);
  std::vector<std::string> numbers_of(const Positions& positions) const;
  std::vector<std::string> texts_of(const Positions& positions) const;

  Crew& crew_;
  const std::size_t block_;
  algebra::Library& library_;
  std::function<std::string(const Outcome&)> statement_of_;
  std::vector<Outcome> rules_;
  InstanceTexts instances_;
  std::vector<KnownRule> known_;                         // by position: under which number the workers know it
  std::unordered_map<std::string, std::size_t> owners_;  // by name: of a rule, or of an instance of it
  std::vector<int> eliminations_;                        // by position: how often it has left the core
  Positions left_;                                       // that left the core and are not back, in that order
  std::uint32_t told_ = 0;                               // rules that workers have been told of
};

}  // namespace rulemill::prove
