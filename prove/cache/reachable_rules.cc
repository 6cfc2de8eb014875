#include "prove/cache/reachable_rules.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "egraph/pattern.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

template <class Numbers>
void sort_unique(Numbers& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

ReachableRules::Operators ReachableRules::operators_of_goal(const std::string& rule, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  return {operator_hashes(algebra::parse_rule(rule, "rule", library, bank, symbols), bank), {}};
}

ReachableRules::Operators ReachableRules::operators_of_rule(const std::string& text, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::Rule rule = algebra::parse_rule(text, "rule", library, bank, symbols);
  Operators operators{operator_hashes(rule, bank), {}};
  const algebra::TypedRule typed = algebra::require_types(rule, bank, symbols, "rule " + rule.id);
  egraph::SizeTable sizes(library, symbols);
  const egraph::CompiledRule compiled = egraph::compile(typed, bank, sizes);
  for (const egraph::Direction& direction : compiled.directions) {
    const auto hashes = [&](const std::vector<std::uint32_t>& nodes) {
      OperatorHashes result;
      for (const std::uint32_t n : nodes) result.push_back(operator_hash(library.instance(compiled.nodes[n].instance)));
      sort_unique(result);
      return result;
    };
    if (!direction.matched_nodes.empty())
      operators.directions.emplace_back(hashes(direction.matched_nodes), hashes(direction.applier_nodes));
  }
  return operators;
}

void ReachableRules::update_rules(const std::string& update) {
  RM_CHECK(update.size() > 1 && (update[0] == '+' || update[0] == '-'), "an update adds or removes a rule");
  if (update[0] == '+')
    add(update.substr(1), operators_of_rule(update.substr(1), library_));
  else
    remove(update);
}

void ReachableRules::remove(const std::string& update) {
  enable(static_cast<std::uint32_t>(std::stoul(update.substr(1))), false);
}

ReachableRules::Instances ReachableRules::numbers_of(const OperatorHashes& hashes) {
  Instances numbers;
  for (const std::uint64_t hash : hashes)
    numbers.push_back(numbers_.try_emplace(hash, static_cast<std::uint32_t>(numbers_.size())).first->second);
  sort_unique(numbers);
  return numbers;
}

void ReachableRules::add(const std::string& text, const Operators& operators) {
  const auto number = static_cast<std::uint32_t>(rules_.size());
  rules_.push_back({text, numbers_of(operators.all)});
  for (const auto& [matched, created] : operators.directions) {
    const Instances instances = numbers_of(matched);
    for (const std::uint32_t instance : instances) {
      if (instance >= matching_.size()) matching_.resize(instance + 1);
      matching_[instance].push_back(static_cast<std::uint32_t>(directions_.size()));
    }
    directions_.push_back({number, static_cast<std::uint32_t>(instances.size()), numbers_of(created)});
  }
}

std::vector<std::uint32_t> ReachableRules::reachable_from(const Instances& goal, std::uint32_t excluded_begin,
                                                          std::uint32_t excluded_end) {
  std::vector<std::uint32_t> missing(directions_.size()), rules;
  for (std::size_t d = 0; d < directions_.size(); ++d) missing[d] = directions_[d].matched;
  std::vector<bool> present(matching_.size());
  Instances queue = goal;
  while (!queue.empty()) {
    const std::uint32_t instance = queue.back();
    queue.pop_back();
    if (instance >= present.size() || present[instance]) continue;
    present[instance] = true;
    for (const std::uint32_t d : matching_[instance]) {
      const Direction& direction = directions_[d];
      const bool is_excluded = direction.rule >= excluded_begin && direction.rule < excluded_end;
      if (--missing[d] > 0 || is_excluded || !rules_[direction.rule].enabled) continue;
      rules.push_back(direction.rule);
      queue.insert(queue.end(), direction.created.begin(), direction.created.end());
    }
  }
  sort_unique(rules);
  return rules;
}

}  // namespace rulemill::prove
