#include "optimize/search/positivity.h"

#include <algorithm>
#include <cmath>

#include "algebra/properties/positivity.h"

namespace rulemill::optimize {
namespace {

/// Elements of larger constants are not checked.
constexpr double max_elements = 1 << 20;
constexpr std::uint32_t max_depth = 32;

bool is_small(const algebra::Shape& shape) {
  const auto sizes = constant_dims(shape);
  double elements = 1;
  for (const std::int64_t size : sizes.value_or(std::vector<std::int64_t>())) elements *= static_cast<double>(size);
  return sizes && elements <= max_elements;
}

}  // namespace

bool PositivityAnalysis::lookup(ValueId value, std::uint32_t depth) {
  const auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  const bool positive = compute(value, depth);
  known_.emplace(value, positive);
  return positive;
}

bool PositivityAnalysis::compute(ValueId id, std::uint32_t depth) {
  const Value& value = bank_->value(id);
  if (!value.type || !is_float(value.type.data_type) || depth > max_depth) return false;
  const Node& node = bank_->node(value.node);
  if (node.kind == Node::Kind::Constant)
    return is_small(*value.type) && std::ranges::all_of(bank_->tensor(node.source)->values, [](double element) {
             return element > 0 && std::isfinite(element);
           });
  if (node.kind != Node::Kind::Algebra) return false;
  std::vector<bool> arguments;
  for (const ValueId argument : node.arguments) arguments.push_back(lookup(argument, depth + 1));
  return algebra::positive_outputs(bank_->instance(node), bank_->library().functions(), arguments)[value.output];
}

std::optional<algebra::TermId> positive_variable(algebra::TermId term, const algebra::TermBank& terms) {
  if (terms.term(term).is_variable || !algebra::is_positive_operator(terms.instance_of(term))) return std::nullopt;
  const algebra::TermId argument = terms.node_of(term).arguments[0];
  return terms.term(argument).is_variable ? std::optional(argument) : std::nullopt;
}

bool restricts_positivity_to_variables(const algebra::Rule& rule, const algebra::TermBank& terms) {
  const std::vector<algebra::TermId> variables = algebra::positive_variables(rule, terms);
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId id : terms.nodes(*side)) {
      const algebra::Node& node = terms.node(id);
      if (algebra::is_positive_operator(terms.library().instance(node.instance)) &&
          std::ranges::find(variables, node.arguments[0]) == variables.end())
        return false;
    }
  }
  return true;
}

}  // namespace rulemill::optimize
