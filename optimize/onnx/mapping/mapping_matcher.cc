#include "optimize/onnx/mapping/mapping_matcher.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using algebra::GenericOnnxMapping;
using algebra::ParameterKind;

/// Bounds the search of undetermined values on malformed nodes.
constexpr std::size_t max_assignments = 20000;

/// Enumerates all assignments of one choice per slot; stops when `visit` returns true.
template <typename Choice, typename Visit>
bool for_each_assignment(const std::vector<std::vector<Choice>>& choices, Visit visit) {
  for (const auto& slot : choices) {
    if (slot.empty()) return false;
  }
  std::vector<std::size_t> digits(choices.size(), 0);
  for (std::size_t count = 0; count < max_assignments; ++count) {
    std::vector<Choice> candidate;
    for (std::size_t i = 0; i < choices.size(); ++i) candidate.push_back(choices[i][digits[i]]);
    if (visit(candidate)) return true;
    std::size_t i = 0;
    while (i < digits.size() && ++digits[i] == choices[i].size()) digits[i++] = 0;
    if (i == digits.size()) return false;
  }
  return false;
}

const algebra::OnnxMapping* instance_mapping(const algebra::OperatorInstance& instance,
                                             const GenericOnnxMapping& generic) {
  for (const algebra::OnnxMapping& mapping : instance.onnx) {
    if (mapping.index == generic.index && !mapping.activation) return &mapping;
  }
  return nullptr;
}

/// Returns the sizes that the input shapes determine; 1 for the others.
std::optional<std::vector<algebra::Poly>> infer_slots(const algebra::OperatorInstance& instance,
                                                      const std::vector<algebra::Shape>& shapes) {
  std::vector<algebra::Poly> slots(instance.size_names.size(), algebra::Poly(1));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() != instance.inputs[i].size()) return std::nullopt;
    for (std::size_t d = 0; d < shapes[i].size(); ++d) {
      const algebra::IndexExpr& dim = *instance.inputs[i][d];
      if (dim.kind == algebra::IndexExpr::Kind::Size) slots[dim.slot] = shapes[i][d];
    }
  }
  return slots;
}

}  // namespace

std::optional<MappingMatcher::Match> MappingMatcher::match(const MatchAttempt& attempt,
                                                           const algebra::Parameters& given,
                                                           const NodeBindings& bindings) {
  std::vector<std::string> names;
  std::vector<std::vector<algebra::ParameterValue>> choices;
  for (const GenericOnnxMapping::Parameter& parameter : attempt.mapping->parameters) {
    if (given.contains(parameter.name)) continue;
    if (parameter.kind == ParameterKind::Size || parameter.kind == ParameterKind::Sizes) continue;
    auto values = parameter_candidates(*attempt.mapping, parameter, bindings, attempt.ranks);
    if (values.empty() && parameter.has_default) continue;
    names.push_back(parameter.name);
    choices.push_back(std::move(values));
  }
  std::optional<Match> found;
  for_each_assignment(choices, [&](const std::vector<algebra::ParameterValue>& candidate) {
    algebra::Parameters parameters = given;
    for (std::size_t i = 0; i < candidate.size(); ++i) parameters.insert_or_assign(names[i], candidate[i]);
    try {
      found = try_instance(attempt, parameters, bindings);
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      return false;  // the operator rejects this value
    }
    return found.has_value();
  });
  return found;
}

/// Returns the bound value; else the enum values, or the node's integers; empty if the default applies.
std::vector<algebra::ParameterValue> MappingMatcher::parameter_candidates(
    const GenericOnnxMapping& generic, const GenericOnnxMapping::Parameter& parameter, const NodeBindings& bindings,
    std::span<const std::uint32_t> ranks) const {
  if (auto required = required_value(generic, parameter)) return {*required};
  if (generic.activation_parameter == parameter.name) return {std::string("none")};
  if (auto value = bound_value(parameter, bindings, ranks.empty() ? 0 : ranks[0])) return {*value};
  if (parameter.kind == ParameterKind::Enum || !parameter.has_default) {
    auto values = bank_.library().domain(generic.operator_name, parameter.name, ranks);
    if (values.empty()) {
      for (std::int64_t integer : integer_candidates(description_)) values.emplace_back(integer);
    }
    return values;
  }
  return {};
}

/// Binds the node twice: negative positions are resolved against the sizes of a provisional instance, then bound again.
std::optional<MappingMatcher::Match> MappingMatcher::try_instance(const MatchAttempt& attempt,
                                                                  const algebra::Parameters& parameters,
                                                                  const NodeBindings& bindings) {
  algebra::Library& library = bank_.library();
  const GenericOnnxMapping& generic = *attempt.mapping;
  algebra::Parameters provisional = parameters;
  for (const GenericOnnxMapping::Parameter& parameter : generic.parameters) {
    auto value = provisional.find(parameter.name);
    if (value == provisional.end()) continue;
    auto to_valid_size = [](std::int64_t number) { return number >= 0 && number < (1 << 20) ? number : 0; };
    if (auto* number = std::get_if<std::int64_t>(&value->second); number && parameter.kind == ParameterKind::Int)
      *number = to_valid_size(*number);
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value->second);
        list && parameter.kind == ParameterKind::Ints)
      std::ranges::transform(*list, list->begin(), to_valid_size);
  }
  const algebra::OperatorInstance* instance = &library.instantiate(generic.operator_name, provisional, attempt.ranks);
  const algebra::OnnxMapping* mapping = instance_mapping(*instance, generic);
  if (mapping == nullptr) return std::nullopt;
  NodeDescription description = attempt.description;
  const auto slots = infer_slots(*instance, attempt.shapes);
  if (!slots) {
    rejections_.push_back("its shapes do not fit " + generic.operator_name);
    return std::nullopt;
  }
  normalize_description(*mapping, *slots, description);
  const auto rebound = bind_node(generic, description, library, attempt.ranks, parameters);
  if (!rebound) return std::nullopt;
  algebra::Parameters resolved = parameters;
  for (const GenericOnnxMapping::Parameter& parameter : generic.parameters) {
    if (!resolved.contains(parameter.name) || !bindings.contains(parameter.name)) continue;
    if (auto value = bound_value(parameter, *rebound, attempt.ranks.empty() ? 0 : attempt.ranks[0]))
      resolved.insert_or_assign(parameter.name, *value);
  }
  instance = &library.instantiate(generic.operator_name, resolved, attempt.ranks);
  mapping = instance_mapping(*instance, generic);
  return mapping == nullptr ? std::nullopt : try_sizes(attempt, *instance, *mapping, *rebound);
}

void MappingMatcher::normalize_description(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> slots,
                                           NodeDescription& description) {
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    const auto found = description.attributes.find(attribute.name);
    if (found != description.attributes.end())
      found->second = normalize(attribute.value, found->second, slots, bank_.symbols());
  }
  for (std::size_t i = 0; i < mapping.inputs.size() && i < description.constant_inputs.size(); ++i) {
    auto& found = description.constant_inputs[i];
    if (!mapping.inputs[i].instance_input && found)
      found = normalize(mapping.inputs[i].constant, *found, slots, bank_.symbols());
  }
}

std::optional<MappingMatcher::Match> MappingMatcher::try_sizes(const MatchAttempt& attempt,
                                                               const algebra::OperatorInstance& instance,
                                                               const algebra::OnnxMapping& mapping,
                                                               const NodeBindings& bindings) {
  const auto slots = infer_slots(instance, attempt.shapes);
  std::vector<std::vector<algebra::Poly>> choices;
  for (std::uint32_t slot = instance.first_size_parameter; slot < instance.size_names.size(); ++slot)
    choices.push_back(size_candidates(instance, mapping, slot, *slots, bindings, attempt.description));
  std::optional<Match> found;
  for_each_assignment(choices, [&](const std::vector<algebra::Poly>& sizes) {
    if (auto outputs = check_types(attempt, instance, mapping, sizes)) found = {&instance, sizes, std::move(*outputs)};
    return found.has_value();
  });
  return found;
}

/// Returns the computed or bound size; else the node's integers, and dimensions with two numbers added, as by pads.
std::vector<algebra::Poly> MappingMatcher::size_candidates(const algebra::OperatorInstance& instance,
                                                           const algebra::OnnxMapping& mapping, std::uint32_t slot,
                                                           std::vector<algebra::Poly> slots,
                                                           const NodeBindings& bindings,
                                                           const NodeDescription& description) {
  slots.emplace_back(static_cast<std::int64_t>(description.outputs));
  for (const auto& [computed, expr] : mapping.computed_sizes) {
    if (computed == slot) return {algebra::evaluate(*expr, slots, {}, bank_.symbols())};
  }
  const std::string& name = instance.size_names[slot];
  if (const auto found = bindings.find(name); found != bindings.end() && found->second.size() == 1)
    return found->second;
  for (const auto& [pack, values] : bindings) {  // "e3" is the fourth dimension of pack e
    const bool named = name.starts_with(pack) && name.size() > pack.size() &&
                       std::ranges::all_of(name.substr(pack.size()), [](unsigned char c) { return std::isdigit(c); });
    const std::size_t position = named ? std::stoul(name.substr(pack.size())) : values.size();
    if (position < values.size()) return {values[position]};
  }
  std::vector<algebra::Poly> result;
  for (std::int64_t integer : integer_candidates(description)) {
    if (integer > 0) result.emplace_back(integer);
  }
  for (const auto& input : description.constant_inputs) {
    if (!input || input->integers.size() != 2) continue;
    for (std::uint32_t dim = 0; dim < instance.first_size_parameter; ++dim)
      result.push_back(slots[dim] + input->integers[0] + input->integers[1]);
  }
  return result;
}

/// Returns the output shapes if the instance types and its mapping matches the node.
std::optional<std::vector<algebra::Shape>> MappingMatcher::check_types(const MatchAttempt& attempt,
                                                                       const algebra::OperatorInstance& instance,
                                                                       const algebra::OnnxMapping& mapping,
                                                                       const std::vector<algebra::Poly>& sizes) {
  if (!infer_data_types(instance, attempt.data_types)) {
    rejections_.push_back("its data types do not fit " + instance.operator_name);
    return std::nullopt;
  }
  std::vector<algebra::Poly> slots;
  auto outputs = algebra::infer(instance, attempt.shapes, sizes, bank_.symbols(), {}, &slots);
  if (!outputs) {
    rejections_.push_back("its shapes do not fit " + instance.operator_name);
    return std::nullopt;
  }
  std::string reason = find_mismatch(mapping, attempt.description, slots, bank_.symbols());
  if (!reason.empty()) {
    rejections_.push_back(reason);
    return std::nullopt;
  }
  return outputs;
}

}  // namespace rulemill::optimize
