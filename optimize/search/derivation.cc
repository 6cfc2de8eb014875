#include "optimize/search/derivation.h"

#include <optional>

namespace rulemill::optimize {

using egraph::EClassId;
using egraph::ENodeId;

namespace {

/// Writes the terms that the ids of an e-graph were added for.
class TermNumbers {
 public:
  TermNumbers(const RegionEGraph& region, Derivation& derivation) : region_(region), derivation_(derivation) {}

  std::uint32_t number(EClassId id) {
    const egraph::EGraph& egraph = region_.egraph;
    const ENodeId node = egraph.node_of(id);
    if (node == egraph::no_id) return egraph.tag_of(id);
    if (region_.marks_positive_leaf(node)) return number(egraph.arguments(node)[0]);
    if (const auto known = first_outputs_.find(node); known != first_outputs_.end())
      return known->second + egraph.output_of(id);
    RegionNode term{egraph.instance(node), {}, {}, 0, egraph.output_count(node)};
    for (const EClassId argument : egraph.arguments(node)) term.arguments.push_back(number(argument));
    for (const egraph::SizeId size : egraph.sizes(node)) term.sizes.push_back(region_.sizes.poly(size));
    std::vector<RegionNode>& terms = derivation_.terms;
    term.first_output = terms.empty() ? Derivation::first_term : terms.back().first_output + terms.back().outputs;
    terms.push_back(std::move(term));
    return first_outputs_.emplace(node, terms.back().first_output).first->second + egraph.output_of(id);
  }

 private:
  const RegionEGraph& region_;
  Derivation& derivation_;
  std::unordered_map<ENodeId, std::uint32_t> first_outputs_;
};

}  // namespace

void add_applications(const RegionEGraph& region, std::span<const std::uint32_t> applications, Derivation& derivation) {
  TermNumbers numbers(region, derivation);
  for (const std::uint32_t number : applications) {
    const egraph::Application& application = region.saturation.application(number);
    const egraph::CompiledRule& rule = region.index.rule(application.direction.rule);
    const std::span<const std::uint32_t> words = region.saturation.words(application);
    Derivation::Instance instance{region.rule_numbers[application.direction.rule], {}, {}};
    const std::size_t variables = rule.variables.size();
    for (const EClassId variable : words.first(variables)) instance.variables.push_back(numbers.number(variable));
    for (std::size_t slot = 0; slot < rule.sizes.size(); ++slot)
      instance.sizes.emplace(rule.sizes[slot], region.sizes.poly(egraph::SizeId{words[variables + slot]}));
    derivation.instances.push_back(std::move(instance));
  }
}

std::vector<RuleInstance> build_instances(const Derivation& derivation, std::span<const ValueId> leaves, DataType type,
                                          GraphBank& bank) {
  std::vector<std::optional<ValueId>> built;  // by output of a term
  const auto value = [&](std::uint32_t number) {
    return number < Derivation::first_term ? std::optional(leaves[number]) : built[number - Derivation::first_term];
  };
  const auto values = [&](const std::vector<std::uint32_t>& numbers) -> std::optional<std::vector<ValueId>> {
    std::vector<ValueId> found;
    for (const std::uint32_t number : numbers) {
      if (!value(number)) return std::nullopt;
      found.push_back(*value(number));
    }
    return found;
  };
  for (const RegionNode& term : derivation.terms) {
    const auto arguments = values(term.arguments);
    const auto created = arguments ? bank.apply(term.instance, *arguments, term.sizes, type) : std::nullopt;
    for (std::uint32_t o = 0; o < term.outputs; ++o)
      built.push_back(created ? std::optional(bank.node(*created).outputs[o]) : std::nullopt);
  }
  std::vector<RuleInstance> instances;
  for (const Derivation::Instance& instance : derivation.instances) {
    if (auto variables = values(instance.variables))
      instances.push_back({instance.rule, std::move(*variables), instance.sizes});
  }
  return instances;
}

}  // namespace rulemill::optimize
