#include "cli/rules/rule_gain.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "algebra/execution/plan.h"
#include "algebra/terms/size_condition.h"
#include "algebra/terms/symbolic_parameters.h"
#include "runtime/text/error.h"

namespace rulemill::cli {

using algebra::NodeId;
using algebra::Poly;
using algebra::TermId;

namespace {

using Dims = std::vector<std::int64_t>;

/// Of one node, so that large sizes fail quickly and smaller ones are tried.
constexpr std::uint64_t max_points = 1 << 16;

/// Values of sizes, and the resulting shapes of the variables.
struct Sample {
  algebra::Substitution sizes;
  std::vector<Dims> shapes;
};

/// The example of the record, with the sizes that occur as dimensions of variables.
Sample example_of(const algebra::RuleRecord& record) {
  Sample sample{{}, record.example};
  for (std::size_t v = 0; v < record.rule.shapes.size(); ++v) {
    for (std::size_t d = 0; d < record.rule.shapes[v].size(); ++d) {
      if (const auto atom = record.rule.shapes[v][d].atom())
        sample.sizes.emplace(*atom, Poly(record.example.at(v).at(d)));
    }
  }
  return sample;
}

/// Chooses the value of the next size.
using SizeChooser = std::function<std::int64_t(bool is_parameter)>;

/// Chosen sizes; empty if they result in an invalid dimension.
std::optional<Sample> sample_of(const algebra::RuleRecord& record, const SizeChooser& choose,
                                const algebra::TermBank& bank, algebra::Symbols& symbols) {
  Sample sample;
  for (const algebra::Atom atom : algebra::symbolic_parameter_sizes(record.rule, bank))
    sample.sizes.emplace(atom, Poly(choose(true)));
  for (const algebra::Shape& shape : record.rule.shapes) {
    for (const Poly& dim : shape) {
      for (const algebra::Atom atom : symbols.atoms(dim)) {
        if (!sample.sizes.contains(atom)) sample.sizes.emplace(atom, Poly(choose(false)));
      }
    }
  }
  for (const algebra::Shape& shape : record.rule.shapes) {
    Dims& dims = sample.shapes.emplace_back();
    for (const Poly& dim : shape) {
      const auto value = symbols.substitute(dim, sample.sizes).constant();
      if (!value || *value < 1) return std::nullopt;
      dims.push_back(*value);
    }
  }
  return sample;
}

/// Symbolic parameters, and the later terms of a sum or difference, get smaller values.
SizeChooser decreasing_sizes(int attempt) {
  return [attempt, next = std::size_t{0}](bool is_parameter) mutable {
    static constexpr std::int64_t values[] = {8, 6, 4, 3, 2, 1};
    const std::size_t from = is_parameter ? 4 : 0;
    return values[std::min(from + next++ * static_cast<std::size_t>(attempt) / 4, std::size(values) - 1)];
  };
}

class Costs {
 public:
  Costs(const algebra::RuleRecord& record, const Sample& sample, algebra::TermBank& bank, algebra::Symbols& symbols,
        NodeCosts& known)
      : bank_(bank), symbols_(symbols), known_(known), sizes_(sample.sizes) {
    for (std::size_t v = 0; v < record.rule.variables.size(); ++v)
      shapes_[record.rule.variables[v]] = sample.shapes.at(v);
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
      const std::optional<NodeCost>& known = node_cost(node.instance, inputs, sizes);
      if (!known) return std::nullopt;
      cost += known->cost;
      for (std::uint32_t o = 0; o < known->outputs.size(); ++o) shapes_[bank_.output(id, o)] = known->outputs[o];
    }
    return cost;
  }

 private:
  const std::optional<NodeCost>& node_cost(algebra::InstanceId instance, const std::vector<Dims>& inputs,
                                           const Dims& sizes) {
    const auto [entry, is_new] = known_.try_emplace({instance, inputs, sizes});
    if (!is_new) return entry->second;
    const auto plan = algebra::compile(bank_.library().instance(instance), inputs, sizes, max_points);
    if (!plan) return entry->second;
    NodeCost& cost = entry->second.emplace();
    cost.cost = plan->multiply_add_count();
    cost.outputs = plan->output_shapes;
    for (const Dims& shape : cost.outputs)
      cost.cost += std::accumulate(
          shape.begin(), shape.end(), std::uint64_t{1},
          [](std::uint64_t elements, std::int64_t dim) { return elements * static_cast<std::uint64_t>(dim); });
    return entry->second;
  }

  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  NodeCosts& known_;
  algebra::Substitution sizes_;
  std::map<TermId, Dims> shapes_;
};

}  // namespace

int generality(const algebra::RuleRecord& record, const algebra::TermBank& bank) {
  const auto parameters = algebra::symbolic_parameter_names(record.rule, bank).size();
  return (record.rule.packs.empty() ? 0 : 10) + 2 * static_cast<int>(parameters) -
         static_cast<int>(record.rule.condition.size());
}

double RuleCost::gain() const {
  const std::uint64_t larger = std::max(source, target), smaller = std::min(source, target);
  return larger == 0 ? 0 : 1 - static_cast<double>(smaller) / static_cast<double>(larger);
}

namespace {

std::optional<RuleCost> cost_at(const Sample& sample, const algebra::RuleRecord& record, algebra::TermBank& bank,
                                algebra::Symbols& symbols, NodeCosts& known) {
  try {
    Costs costs(record, sample, bank, symbols, known);
    const auto source = costs.of(record.rule.source), target = costs.of(record.rule.target);
    if (!source || !target) return std::nullopt;
    return RuleCost{*source, *target};
  } catch (const runtime::Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<RuleCost> cost_at_example(const algebra::RuleRecord& record, algebra::TermBank& bank,
                                        algebra::Symbols& symbols) {
  NodeCosts known;
  if (record.example.size() == record.rule.variables.size())
    return cost_at(example_of(record), record, bank, symbols, known);
  constexpr int attempts = 12;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto sample = sample_of(record, decreasing_sizes(attempt), bank, symbols);
    if (!sample) continue;
    if (const auto cost = cost_at(*sample, record, bank, symbols, known)) return cost;
  }
  return std::nullopt;
}

std::vector<RuleCost> costs_at_samples(const algebra::RuleRecord& record, algebra::TermBank& bank,
                                       algebra::Symbols& symbols, NodeCosts& known) {
  constexpr std::size_t max_samples = 12;
  constexpr int max_attempts = 60;
  std::vector<RuleCost> costs;
  std::mt19937_64 random(1);
  const SizeChooser choose = [&](bool is_parameter) {
    static constexpr std::int64_t values[] = {3, 4, 5, 7};
    return is_parameter ? static_cast<std::int64_t>(1 + random() % 2) : values[random() % std::size(values)];
  };
  for (int attempt = 0; attempt < max_attempts && costs.size() < max_samples; ++attempt) {
    const auto sample = sample_of(record, choose, bank, symbols);
    const auto is_violated = [&](const algebra::SizeCondition& condition) {
      return algebra::holds(algebra::substitute(condition, sample->sizes, symbols), symbols) == algebra::Truth::No;
    };
    if (!sample || std::ranges::any_of(record.rule.condition, is_violated)) continue;
    if (const auto cost = cost_at(*sample, record, bank, symbols, known)) costs.push_back(*cost);
  }
  return costs;
}

}  // namespace rulemill::cli
