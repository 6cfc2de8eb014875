// The rule that `optimize --explain ID` names, among the rules that are specialized to a model.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// A rule of the database with the specialized rules that stand for it: those named after it, and, if it is general,
/// its special cases, which have ids of their own in the database.
class ExplainedRule {
 public:
  /// `id` may lack the suffix of general rules. `all` are the rules of the database, `specialized` those of the model.
  ExplainedRule(const std::string& id, const std::vector<algebra::RuleRecord>& all,
                const std::vector<algebra::RuleRecord>& specialized, const GraphBank& bank, algebra::TermBank& terms);

  /// Returns whether the database has such a rule.
  bool exists() const { return !ids_.empty(); }
  /// Returns whether the specialized rule stands for it.
  bool includes(std::uint32_t number) const { return numbers_.contains(number); }
  /// Returns the id of the specialized rule, after the general rule's id if it does not begin with that.
  std::string name_of(std::uint32_t number) const;
  /// Returns why no specialized rule stands for it; empty if one does.
  const std::string& absence_reason() const { return absence_reason_; }
  const std::string& first_id() const { return ids_.front(); }

 private:
  void add_specializations(const algebra::RuleRecord& general, const GraphBank& bank, algebra::TermBank& terms);

  const std::vector<algebra::RuleRecord>& specialized_;
  std::vector<std::string> ids_;
  std::set<std::uint32_t> numbers_;
  std::string absence_reason_;
};

}  // namespace rulemill::optimize
