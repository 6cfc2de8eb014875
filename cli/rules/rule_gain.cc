#include "cli/rules/rule_gain.h"

#include <algorithm>
#include <map>

#include "algebra/execution/plan.h"
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

/// Sizes for a rule without an example; empty if they result in an invalid dimension. Symbolic parameters, and the
/// later terms of a sum or difference, get smaller values.
std::optional<Sample> sample_of(const algebra::RuleRecord& record, int attempt, const algebra::TermBank& bank,
                                algebra::Symbols& symbols) {
  static constexpr std::int64_t values[] = {8, 6, 4, 3, 2, 1};
  Sample sample;
  std::size_t next = 0;
  const auto note = [&](algebra::Atom atom, std::size_t from) {
    const std::size_t place = std::min(from + next++ * static_cast<std::size_t>(attempt) / 4, std::size(values) - 1);
    sample.sizes.emplace(atom, Poly(values[place]));
  };
  for (const algebra::Atom atom : algebra::symbolic_parameter_sizes(record.rule, bank)) note(atom, 4);
  for (const algebra::Shape& shape : record.rule.shapes) {
    for (const Poly& dim : shape) {
      for (const algebra::Atom atom : symbols.atoms(dim)) {
        if (!sample.sizes.contains(atom)) note(atom, 0);
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

class Costs {
 public:
  Costs(const algebra::RuleRecord& record, const Sample& sample, algebra::TermBank& bank, algebra::Symbols& symbols)
      : bank_(bank), symbols_(symbols), sizes_(sample.sizes) {
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
      const auto plan = algebra::compile(bank_.library().instance(node.instance), inputs, sizes, max_points);
      if (!plan) return std::nullopt;
      cost += plan->multiply_add_count();
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
                                algebra::Symbols& symbols) {
  try {
    Costs costs(record, sample, bank, symbols);
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
  if (record.example.size() == record.rule.variables.size()) return cost_at(example_of(record), record, bank, symbols);
  constexpr int attempts = 12;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto sample = sample_of(record, attempt, bank, symbols);
    if (!sample) continue;
    if (const auto cost = cost_at(*sample, record, bank, symbols)) return cost;
  }
  return std::nullopt;
}

}  // namespace rulemill::cli
