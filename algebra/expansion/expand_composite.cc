// Expands composites: inlines the bodies of the operators that they call.
#include "algebra/expansion/expander.h"

namespace rulemill::algebra {
namespace {

/// Substitutes sizes and renumbers tensors.
ScalarExprPtr substitute(const ScalarExprPtr& expr, std::span<const IndexExprPtr> sizes,
                         std::span<const std::uint32_t> tensors) {
  ScalarExpr copy = *expr;
  if (copy.kind == ScalarExpr::Kind::Read) copy.tensor = tensors[copy.tensor];
  for (IndexExprPtr& index : copy.indices) index = substitute_sizes(index, sizes);
  for (BoundIndex& bound : copy.bound) bound.extent = substitute_sizes(bound.extent, sizes);
  for (Comparison& guard : copy.guard) guard = substitute_sizes(guard, sizes);
  for (ScalarExprPtr& operand : copy.operands) operand = substitute(operand, sizes, tensors);
  return std::make_shared<ScalarExpr>(std::move(copy));
}

constexpr std::size_t max_composite_tensors = 1000;

}  // namespace

void Expander::inline_composite() {
  const Inlined result = inline_call(*op_.composite);
  TensorDefinition last = instance_.intermediates.back();
  if (op_.composite->is_input || result.tensor + 1 != tensor_names_.size())
    fail(op_.place, "a composite must end in a call");
  instance_.intermediates.pop_back();
  instance_.outputs.push_back(std::move(last));
}

Expander::Inlined Expander::inline_call(const syntax::Call& call) {
  if (call.is_input) {
    for (std::uint32_t i = 0; i < op_.inputs.size(); ++i) {
      if (op_.inputs[i].name == call.name) return {i, i, instance_.inputs[i]};
    }
    fail(call.place, "'" + call.name + "' is no input of operator '" + op_.name + "'");
  }
  std::vector<Inlined> arguments;
  std::vector<std::uint32_t> ranks;
  for (const auto& argument : call.arguments) {
    arguments.push_back(inline_call(*argument));
    ranks.push_back(static_cast<std::uint32_t>(arguments.back().dims.size()));
  }
  const syntax::Operator* inner_syntax = context_.find(call.name);
  if (!inner_syntax) fail(call.place, "'" + call.name + "' is not an operator defined before '" + op_.name + "'");
  Parameters parameters(call.lists.begin(), call.lists.end());
  std::map<std::string, IndexExprPtr> given_sizes;
  for (const auto& [name, value] : call.parameters) {
    const syntax::Parameter* declared = inner_syntax->parameter(name);
    if (!declared) fail(value->place, "operator '" + call.name + "' has no parameter '" + name + "'");
    if (declared->kind == syntax::Parameter::Kind::Size) {
      given_sizes[name] = expand_index(*value);
    } else if (value->kind == syntax::Index::Kind::Name && instance_.parameters.contains(value->name)) {
      parameters[name] = instance_.parameters.at(value->name);
      for (const SymbolicParameter& symbolic : instance_.symbolic_parameters) {
        if (symbolic.name != value->name) continue;
        for (std::uint32_t k = 0; k < symbolic.count; ++k)
          given_sizes[name + (symbolic.is_list ? std::to_string(k) : "")] =
              make_slot(IndexKind::Size, instance_.first_size_parameter + symbolic.first + k);
      }
    } else if (value->kind == syntax::Index::Kind::Name && declared->kind == syntax::Parameter::Kind::Enum) {
      parameters[name] = value->name;
    } else {
      const IndexExprPtr number = expand_index(*value);
      if (number->kind != IndexKind::Constant) fail(value->place, "parameter '" + name + "' must be a number");
      parameters[name] = number->value;
    }
  }
  const OperatorInstance& inner = context_.instantiate(call.name, parameters, ranks);
  try {
    return inline_instance(inner, arguments, given_sizes, call.place);
  } catch (const Overflow& overflow) {
    fail(call.place, overflow.what());
  }
}

Expander::Inlined Expander::inline_instance(const OperatorInstance& inner, const std::vector<Inlined>& arguments,
                                            const std::map<std::string, IndexExprPtr>& given_sizes, syntax::Place at) {
  std::vector<IndexExprPtr> sizes(inner.size_names.size());
  if (instance_.intermediates.size() + inner.intermediates.size() >= max_composite_tensors)
    fail(at, "a composite of more than " + std::to_string(max_composite_tensors) + " tensors");
  CompositeStep step;
  step.instance = inner.id;
  std::vector<std::uint32_t> tensors;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    step.arguments.push_back(arguments[i].argument);
    tensors.push_back(arguments[i].tensor);
    for (std::size_t d = 0; d < arguments[i].dims.size(); ++d) {
      const IndexExpr& expected = *inner.inputs[i][d];
      const IndexExprPtr& actual = arguments[i].dims[d];
      if (expected.kind == IndexKind::Size && !sizes[expected.slot]) {
        sizes[expected.slot] = actual;
      } else if (const IndexExprPtr known =
                     expected.kind == IndexKind::Size ? sizes[expected.slot] : inner.inputs[i][d];
                 !is_same(*known, *actual)) {
        instance_.conditions.push_back({Relation::Eq, known, actual});
      }
    }
  }
  for (std::uint32_t slot = inner.first_size_parameter; slot < inner.size_names.size(); ++slot) {
    const auto given = given_sizes.find(inner.size_names[slot]);
    if (given == given_sizes.end())
      fail(at, "size '" + inner.size_names[slot] + "' of '" + inner.operator_name + "' is not given");
    sizes[slot] = given->second;
    step.sizes.push_back(given->second);
  }
  for (const Comparison& condition : inner.conditions)
    instance_.conditions.push_back(substitute_sizes(condition, sizes));
  Inlined result;
  auto add = [&](const TensorDefinition& definition) {
    TensorDefinition copy = definition;
    for (IndexExprPtr& dim : copy.dims) dim = substitute_sizes(dim, sizes);
    copy.body = substitute(copy.body, sizes, tensors);
    if (copy.scalar_kind == ScalarKind::Positive)
      copy.scalar_kind = ScalarKind::Real;  // Positive is a property of the called operator's own output
    result = {0, static_cast<std::uint32_t>(tensor_names_.size()), copy.dims};
    tensors.push_back(result.tensor);
    tensor_names_.push_back("#" + std::to_string(result.tensor));
    tensor_ranks_.push_back(static_cast<std::uint32_t>(copy.dims.size()));
    instance_.intermediates.push_back(std::move(copy));
  };
  for (const TensorDefinition& intermediate : inner.intermediates) add(intermediate);
  add(inner.outputs.at(0));
  instance_.index_slots = std::max(instance_.index_slots, inner.index_slots);
  result.argument = static_cast<std::uint32_t>(op_.inputs.size() + instance_.composite.size());
  instance_.composite.push_back(std::move(step));
  return result;
}

}  // namespace rulemill::algebra
