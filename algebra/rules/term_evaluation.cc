#include "algebra/rules/term_evaluation.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using runtime::InputError;

std::vector<std::int64_t> size_parameters(const Node& node, const OperatorInstance& instance) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < node.sizes.size(); ++i) {
    const std::optional<std::int64_t> value = node.sizes[i].constant();
    if (!value)
      throw InputError("", "size '" + instance.size_names.at(instance.first_size_parameter + i) + "' of '" +
                               instance.operator_name + "' is not determined; give it a number");
    values.push_back(*value);
  }
  return values;
}

}  // namespace

std::vector<Tensor> evaluate_source(const TypedRule& typed, const std::map<std::string, Tensor>& inputs,
                                    const TermBank& bank) {
  std::unordered_map<TermId, Tensor> values;
  for (const TermId variable : typed.rule.variables) values[variable] = inputs.at(bank.term(variable).name);
  std::map<NodeId, std::vector<Tensor>> outputs;
  const auto value_of = [&](TermId id) -> const Tensor& {
    const Term& term = bank.term(id);
    return term.is_variable ? values.at(id) : outputs.at(term.node).at(term.output);
  };
  for (const NodeId id : bank.nodes(typed.rule.source)) {
    const Node& node = bank.node(id);
    const OperatorInstance& instance = bank.library().instance(node.instance);
    std::vector<const Tensor*> operands;
    for (const TermId argument : node.arguments) operands.push_back(&value_of(argument));
    auto results = run_reference(bank.library().functions(), instance, operands, size_parameters(node, instance));
    if (!results) throw InputError("", "operator '" + instance.operator_name + "' does not fit the inputs' shapes");
    outputs[id] = std::move(*results);
  }
  std::vector<Tensor> results;
  for (const TermId root : typed.rule.source) results.push_back(value_of(root));
  return results;
}

}  // namespace rulemill::algebra
