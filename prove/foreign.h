// Rules that come from outside: each is typed and then proved or refuted like any candidate, and those that hold become
// a rule database of their own: the core that implies the others, and shortcuts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algebra/exchange/foreign_rules.h"
#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "prove/prover.h"

namespace rulemill::prove {

struct ForeignVerdict {
  using Kind = Standing;
  Kind kind = Kind::Unreadable;
  std::string name, place;
  std::string rule;       // of one that types: typed, in text form
  std::string detail;     // the condition found and what typing asks; the counterexample; or why there is none
  std::string condition;  // what had to be added
  std::uint64_t queries = 0;
  double seconds = 0;
};

/// In order, each on its own. What is proved is proved in its text form, too, which is what a database keeps.
std::vector<ForeignVerdict> judge_foreign(const std::vector<algebra::ForeignRule>& rules, algebra::Library& library,
                                          algebra::TermBank& bank, algebra::Symbols& symbols,
                                          const ProverOptions& options);

/// What became of the proved rules, by name.
struct ForeignPlace {
  std::string name;
  enum class Kind : std::uint8_t {
    Core,
    Shortcut,
    Instance
  } kind = Kind::Core;  // an instance of one core rule is left out
};

/// A database of the proved ones, with certificates. Smaller rules come first into the core.
algebra::RuleSet foreign_database(const std::vector<ForeignVerdict>& verdicts, algebra::Library& library,
                                  algebra::TermBank& bank, algebra::Symbols& symbols, const ProverOptions& options,
                                  const egraph::Limits& limits, std::vector<ForeignPlace>* places = nullptr);

}  // namespace rulemill::prove
