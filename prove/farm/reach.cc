#include "prove/farm/reach.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "egraph/pattern.h"
#include "runtime/error.h"

namespace rulemill::prove {
namespace {

algebra::Rule parsed(const std::string& text, algebra::Library& library, algebra::TermBank& bank,
                     algebra::Symbols& symbols) {
  std::vector<algebra::Rule> rules = algebra::parse_rules(text, "rule", library, bank, symbols);
  RM_CHECK(rules.size() == 1, "the text of one rule");
  return std::move(rules[0]);
}

void sort_once(Reach::Instances& instances) {
  std::ranges::sort(instances);
  instances.erase(std::unique(instances.begin(), instances.end()), instances.end());
}

Reach::Instances instances_in(const algebra::Rule& rule, const algebra::TermBank& bank) {
  Reach::Instances instances;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side)) {
      instances.push_back(static_cast<std::uint32_t>(bank.node(node).instance));
    }
  }
  sort_once(instances);
  return instances;
}

}  // namespace

void Reach::change(const std::string& change) {
  RM_CHECK(change.size() > 1 && (change[0] == '+' || change[0] == '-'), "a change adds or removes a rule");
  if (change[0] == '+')
    add(change.substr(1));
  else
    enable(static_cast<std::uint32_t>(std::stoul(change.substr(1))), false);
}

Reach::Instances Reach::instances_of(const std::string& rule) {
  algebra::TermBank bank(library_);
  algebra::Symbols symbols;
  return instances_in(parsed(rule, library_, bank, symbols), bank);
}

void Reach::add(const std::string& text) {
  algebra::TermBank bank(library_);
  algebra::Symbols symbols;
  const algebra::Rule rule = parsed(text, library_, bank, symbols);
  const auto number = static_cast<std::uint32_t>(rules_.size());
  rules_.push_back({text, instances_in(rule, bank)});
  const auto typed = algebra::infer_types(rule, bank, symbols);
  const auto* typed_rule = std::get_if<algebra::TypedRule>(&typed);
  RM_CHECK(typed_rule != nullptr, "a rule that is known types");
  egraph::SizeTable sizes(library_, symbols);
  const egraph::CompiledRule compiled = egraph::compile(*typed_rule, bank, sizes);
  for (const egraph::Direction& direction : compiled.directions) {
    const auto instances = [&](const std::vector<std::uint32_t>& nodes) {
      Instances result;
      for (const std::uint32_t n : nodes) result.push_back(static_cast<std::uint32_t>(compiled.nodes[n].instance));
      sort_once(result);
      return result;
    };
    const Instances found = instances(direction.found);
    if (found.empty()) continue;
    for (const std::uint32_t instance : found) {
      if (instance >= waiting_.size()) waiting_.resize(instance + 1);
      waiting_[instance].push_back(static_cast<std::uint32_t>(uses_.size()));
    }
    uses_.push_back({number, static_cast<std::uint32_t>(found.size()), instances(direction.built)});
  }
}

std::vector<std::uint32_t> Reach::rules_for(const Instances& goal, std::uint32_t first_out, std::uint32_t end_out) {
  std::vector<std::uint32_t> missing(uses_.size()), rules;
  for (std::size_t u = 0; u < uses_.size(); ++u) missing[u] = uses_[u].found;
  std::vector<bool> there(waiting_.size());
  Instances front = goal;
  while (!front.empty()) {
    const std::uint32_t instance = front.back();
    front.pop_back();
    if (instance >= there.size() || there[instance]) continue;
    there[instance] = true;
    for (const std::uint32_t u : waiting_[instance]) {
      const Use& use = uses_[u];
      const bool is_out = use.rule >= first_out && use.rule < end_out;
      if (--missing[u] > 0 || is_out || !rules_[use.rule].enabled) continue;
      rules.push_back(use.rule);
      front.insert(front.end(), use.built.begin(), use.built.end());
    }
  }
  sort_once(rules);
  return rules;
}

}  // namespace rulemill::prove
