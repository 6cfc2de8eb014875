#include "cli/rule_gain.h"

#include <algorithm>
#include <map>

#include "algebra/execution/plan.h"
#include "runtime/error.h"

namespace rulemill::cli {

using algebra::NodeId;
using algebra::Poly;
using algebra::TermId;

namespace {

using Dims = std::vector<std::int64_t>;

/// Sizes that are dimensions of variables, as the example has them.
algebra::Substitution sizes_of(const algebra::RuleRecord& record) {
  algebra::Substitution sizes;
  for (std::size_t v = 0; v < record.rule.shapes.size(); ++v) {
    for (std::size_t d = 0; d < record.rule.shapes[v].size(); ++d) {
      if (const auto atom = record.rule.shapes[v][d].atom()) sizes.emplace(*atom, Poly(record.example.at(v).at(d)));
    }
  }
  return sizes;
}

class Costs {
 public:
  Costs(const algebra::RuleRecord& record, algebra::TermBank& bank, algebra::Symbols& symbols)
      : bank_(bank), symbols_(symbols), sizes_(sizes_of(record)) {
    for (std::size_t v = 0; v < record.rule.variables.size(); ++v)
      shapes_[record.rule.variables[v]] = record.example.at(v);
  }

  std::optional<std::uint64_t> of(const std::vector<TermId>& side) {
    std::uint64_t cost = 0;
    for (const NodeId id : bank_.nodes(side)) {
      const algebra::Node node = bank_.node(id);
      std::vector<Dims> inputs;
      for (const TermId argument : node.arguments) inputs.push_back(shapes_.at(argument));
      Dims sizes;
      for (const Poly& size : node.sizes) {
        const auto value = symbols_.substitute(size, sizes_).constant();
        if (!value) return std::nullopt;
        sizes.push_back(*value);
      }
      const auto plan = algebra::compile(bank_.library().instance(node.instance), inputs, sizes);
      if (!plan) return std::nullopt;
      cost += plan->products();
      for (std::uint32_t o = 0; o < plan->output_shapes.size(); ++o) {
        std::uint64_t elements = 1;
        for (const std::int64_t dim : plan->output_shapes[o]) elements *= static_cast<std::uint64_t>(dim);
        cost += elements;
        shapes_[bank_.output(id, o)] = plan->output_shapes[o];
      }
    }
    return cost;
  }

 private:
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  algebra::Substitution sizes_;
  std::map<TermId, Dims> shapes_;
};

}  // namespace

double RuleCost::gain() const {
  const std::uint64_t more = std::max(source, target), less = std::min(source, target);
  return more == 0 ? 0 : 1 - static_cast<double>(less) / static_cast<double>(more);
}

std::optional<RuleCost> cost_at_example(const algebra::RuleRecord& record, algebra::TermBank& bank,
                                        algebra::Symbols& symbols) {
  if (record.example.size() != record.rule.variables.size()) return std::nullopt;
  try {
    Costs costs(record, bank, symbols);
    const auto source = costs.of(record.rule.source), target = costs.of(record.rule.target);
    if (!source || !target) return std::nullopt;
    return RuleCost{*source, *target};
  } catch (const runtime::Error&) {
    return std::nullopt;
  }
}

}  // namespace rulemill::cli
