#include "prove/farm/reach.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "egraph/pattern.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace rulemill::prove {
namespace {

algebra::Rule parsed(const std::string& text, algebra::Library& library, algebra::TermBank& bank,
                     algebra::Symbols& symbols) {
  std::vector<algebra::Rule> rules = algebra::parse_rules(text, "rule", library, bank, symbols);
  RM_CHECK(rules.size() == 1, "the text of one rule");
  return std::move(rules[0]);
}

template <class Numbers>
void sort_once(Numbers& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

/// Two instances of one hash would only put more rules in reach.
std::uint64_t hash_of(const algebra::Instance& instance) {
  runtime::Hasher hasher;
  hasher.add_text(instance.name);
  for (const auto& input : instance.inputs) hasher.add_number(input.size());
  for (const auto& output : instance.outputs) hasher.add_number(output.dims.size());
  return hasher.digest64();
}

Reach::Hashes hashes_in(const algebra::Rule& rule, const algebra::TermBank& bank) {
  Reach::Hashes hashes;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side))
      hashes.push_back(hash_of(bank.library().instance(bank.node(node).instance)));
  }
  sort_once(hashes);
  return hashes;
}

}  // namespace

Reach::Nodes Reach::nodes_of_goal(const std::string& rule, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  return {hashes_in(parsed(rule, library, bank, symbols), bank), {}};
}

Reach::Nodes Reach::nodes_of_rule(const std::string& text, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::Rule rule = parsed(text, library, bank, symbols);
  Nodes nodes{hashes_in(rule, bank), {}};
  const auto typed = algebra::infer_types(rule, bank, symbols);
  const auto* typed_rule = std::get_if<algebra::TypedRule>(&typed);
  RM_CHECK(typed_rule != nullptr, "a rule that is known types");
  egraph::SizeTable sizes(library, symbols);
  const egraph::CompiledRule compiled = egraph::compile(*typed_rule, bank, sizes);
  for (const egraph::Direction& direction : compiled.directions) {
    const auto hashes = [&](const std::vector<std::uint32_t>& of) {
      Hashes result;
      for (const std::uint32_t n : of) result.push_back(hash_of(library.instance(compiled.nodes[n].instance)));
      sort_once(result);
      return result;
    };
    if (!direction.found.empty()) nodes.uses.emplace_back(hashes(direction.found), hashes(direction.built));
  }
  return nodes;
}

void Reach::change(const std::string& change) {
  RM_CHECK(change.size() > 1 && (change[0] == '+' || change[0] == '-'), "a change adds or removes a rule");
  if (change[0] == '+')
    add(change.substr(1), nodes_of_rule(change.substr(1), library_));
  else
    remove(change);
}

void Reach::remove(const std::string& change) {
  enable(static_cast<std::uint32_t>(std::stoul(change.substr(1))), false);
}

Reach::Instances Reach::numbers_of(const Hashes& hashes) {
  Instances numbers;
  for (const std::uint64_t hash : hashes)
    numbers.push_back(numbers_.try_emplace(hash, static_cast<std::uint32_t>(numbers_.size())).first->second);
  sort_once(numbers);
  return numbers;
}

void Reach::add(const std::string& text, const Nodes& nodes) {
  const auto number = static_cast<std::uint32_t>(rules_.size());
  rules_.push_back({text, numbers_of(nodes.all)});
  for (const auto& [found, built] : nodes.uses) {
    const Instances waited_for = numbers_of(found);
    for (const std::uint32_t instance : waited_for) {
      if (instance >= waiting_.size()) waiting_.resize(instance + 1);
      waiting_[instance].push_back(static_cast<std::uint32_t>(uses_.size()));
    }
    uses_.push_back({number, static_cast<std::uint32_t>(waited_for.size()), numbers_of(built)});
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
