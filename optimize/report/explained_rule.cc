#include "optimize/report/explained_rule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>

#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_renaming.h"
#include "optimize/search/search_graph.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

using algebra::RuleRecord;

/// True for the rule's id, and for one that goes on with anything but a digit: r48 names r48g and r48@d=2.
bool is_named(const std::string& id, const std::string& name) {
  return id.starts_with(name) &&
         (id.size() == name.size() || std::isdigit(static_cast<unsigned char>(id[name.size()])) == 0);
}

/// Returns why a rule has no instance: the operators that one of its sides has and the model lacks, whichever are
/// fewer.
std::string reason_of_absence(const algebra::Rule& rule, const GraphBank& bank, const algebra::TermBank& terms) {
  std::set<std::string> present;
  for (const algebra::InstanceId id : used_operators(bank).instances)
    present.insert(bank.library().instance(id).operator_name);
  std::array<std::set<std::string>, 2> missing;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const auto node : terms.nodes(side == 0 ? rule.source : rule.target)) {
      const std::string& name = terms.library().instance(terms.node(node).instance).operator_name;
      if (!present.contains(name)) missing[side].insert(name);
    }
  }
  const std::set<std::string>& fewer = missing[missing[1].size() < missing[0].size() ? 1 : 0];
  if (fewer.empty()) return "the model has its operators with other ranks or parameters";
  return "the model has no " + runtime::join_text(fewer);
}

}  // namespace

ExplainedRule::ExplainedRule(const std::string& id, const std::vector<RuleRecord>& all,
                             const std::vector<RuleRecord>& specialized, const GraphBank& bank,
                             algebra::TermBank& terms)
    : specialized_(specialized) {
  for (std::uint32_t number = 0; number < specialized.size(); ++number) {
    if (is_named(specialized[number].rule.id, id)) numbers_.insert(number);
  }
  for (const RuleRecord& record : all) {
    const bool is_specialization_named = algebra::is_named_after(id, record.rule.id);
    if (!is_specialization_named && !is_named(record.rule.id, id)) continue;
    ids_.push_back(record.rule.id);
    if (is_specialization_named && algebra::is_general(record.rule, terms)) add_specializations(record, bank, terms);
    if (numbers_.empty() && absence_reason_.empty()) absence_reason_ = reason_of_absence(record.rule, bank, terms);
  }
  if (!numbers_.empty()) absence_reason_.clear();
}

void ExplainedRule::add_specializations(const RuleRecord& general, const GraphBank& bank, algebra::TermBank& terms) {
  // Rules apply to what other rules create, too.
  algebra::UsedOperators used = used_operators(bank);
  std::multimap<std::string, std::uint32_t> by_key;
  for (std::uint32_t number = 0; number < specialized_.size(); ++number) {
    const algebra::Rule& rule = specialized_[number].rule;
    by_key.emplace(algebra::renaming_key(rule, terms), number);
    for (const auto& side : {rule.source, rule.target}) {
      for (const auto node : terms.nodes(side)) used.instances.insert(terms.node(node).instance);
    }
  }
  for (const RuleRecord& special : algebra::specialize({general}, used, bank.library(), terms, bank.symbols())) {
    const auto [begin, end] = by_key.equal_range(algebra::renaming_key(special.rule, terms));
    for (auto known = begin; known != end; ++known) {
      if (algebra::is_renaming_of(specialized_[known->second].rule, special.rule, terms, bank.symbols()))
        numbers_.insert(known->second);
    }
  }
}

std::string ExplainedRule::name_of(std::uint32_t number) const {
  const std::string& id = specialized_[number].rule.id;
  const auto is_prefix = [&](const std::string& each) { return id.starts_with(each); };
  return std::ranges::any_of(ids_, is_prefix) ? id : ids_.front() + " as " + id;
}

}  // namespace rulemill::optimize
