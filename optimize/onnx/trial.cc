#include "optimize/onnx/trial.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

using algebra::OnnxForm;
using algebra::ParameterKind;

/// Junk nodes cannot make the search for what mappings leave open explode.
constexpr std::size_t most_assignments = 20000;

/// All ways to give each slot one of its choices; stops when `visit` returns true.
template <typename Choice, typename Visit>
bool for_each_assignment(const std::vector<std::vector<Choice>>& choices, Visit visit) {
  for (const auto& slot : choices) {
    if (slot.empty()) return false;
  }
  std::vector<std::size_t> digits(choices.size(), 0);
  for (std::size_t count = 0; count < most_assignments; ++count) {
    std::vector<Choice> picked;
    for (std::size_t i = 0; i < choices.size(); ++i) picked.push_back(choices[i][digits[i]]);
    if (visit(picked)) return true;
    std::size_t i = 0;
    while (i < digits.size() && ++digits[i] == choices[i].size()) digits[i++] = 0;
    if (i == digits.size()) return false;
  }
  return false;
}

const algebra::OnnxMapping* mapping_of(const algebra::Instance& instance, const OnnxForm& form) {
  for (const algebra::OnnxMapping& mapping : instance.onnx) {
    if (mapping.number == form.number && !mapping.wrapper) return &mapping;
  }
  return nullptr;
}

/// The sizes that the inputs give; those that the node must say are 1.
std::optional<std::vector<algebra::Poly>> slots_of(const algebra::Instance& instance,
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

std::optional<Trial::Found> Trial::find(const Attempt& attempt, const algebra::Parameters& given,
                                        const OnnxReading& reading) {
  std::vector<std::string> names;
  std::vector<std::vector<algebra::ParameterValue>> choices;
  for (const OnnxForm::Parameter& parameter : attempt.form->parameters) {
    if (given.contains(parameter.name)) continue;
    if (parameter.kind == ParameterKind::Size || parameter.kind == ParameterKind::Sizes) continue;
    auto values = choices_of(*attempt.form, parameter, reading, attempt.ranks);
    if (values.empty() && parameter.has_default) continue;
    names.push_back(parameter.name);
    choices.push_back(std::move(values));
  }
  std::optional<Found> found;
  for_each_assignment(choices, [&](const std::vector<algebra::ParameterValue>& picked) {
    algebra::Parameters parameters = given;
    for (std::size_t i = 0; i < picked.size(); ++i) parameters.insert_or_assign(names[i], picked[i]);
    try {
      found = try_instance(attempt, parameters, reading);
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      return false;  // a value that the operator does not take
    }
    return found.has_value();
  });
  return found;
}

/// What the node says of the parameter; if nothing, its words, or the node's integers; none where its default holds.
std::vector<algebra::ParameterValue> Trial::choices_of(const OnnxForm& form, const OnnxForm::Parameter& parameter,
                                                       const OnnxReading& reading,
                                                       std::span<const std::uint32_t> ranks) const {
  if (auto chosen = chosen_value(form, parameter)) return {*chosen};
  if (form.unwrapped == parameter.name) return {std::string("none")};
  if (auto value = value_of(parameter, reading, ranks.empty() ? 0 : ranks[0])) return {*value};
  if (parameter.kind == ParameterKind::Words || !parameter.has_default) {
    auto values = bank_.library().domain(form.operator_name, parameter.name, ranks);
    if (values.empty()) {
      for (std::int64_t integer : integers_of(facts_)) values.emplace_back(integer);
    }
    return values;
  }
  return {};
}

/// Numbers that count from the end are read again when an instance says where that is.
std::optional<Trial::Found> Trial::try_instance(const Attempt& attempt, const algebra::Parameters& parameters,
                                                const OnnxReading& reading) {
  algebra::Library& library = bank_.library();
  const OnnxForm& form = *attempt.form;
  algebra::Parameters first = parameters;
  for (const OnnxForm::Parameter& parameter : form.parameters) {
    auto value = first.find(parameter.name);
    if (value == first.end()) continue;
    auto usable = [](std::int64_t number) { return number >= 0 && number < (1 << 20) ? number : 0; };
    if (auto* number = std::get_if<std::int64_t>(&value->second); number && parameter.kind == ParameterKind::Int)
      *number = usable(*number);
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value->second);
        list && parameter.kind == ParameterKind::Ints)
      std::ranges::transform(*list, list->begin(), usable);
  }
  const algebra::Instance* instance = &library.instantiate(form.operator_name, first, attempt.ranks);
  const algebra::OnnxMapping* mapping = mapping_of(*instance, form);
  if (mapping == nullptr) return std::nullopt;
  OnnxNodeFacts facts = attempt.facts;
  const auto slots = slots_of(*instance, attempt.shapes);
  if (!slots) {
    refusals_.push_back("its shapes do not fit " + form.operator_name);
    return std::nullopt;
  }
  normalize(*mapping, *slots, facts);
  const auto again = read(form, facts, library, attempt.ranks, parameters);
  if (!again) return std::nullopt;
  algebra::Parameters second = parameters;
  for (const OnnxForm::Parameter& parameter : form.parameters) {
    if (!second.contains(parameter.name) || !reading.contains(parameter.name)) continue;
    if (auto value = value_of(parameter, *again, attempt.ranks.empty() ? 0 : attempt.ranks[0]))
      second.insert_or_assign(parameter.name, *value);
  }
  instance = &library.instantiate(form.operator_name, second, attempt.ranks);
  mapping = mapping_of(*instance, form);
  return mapping == nullptr ? std::nullopt : try_sizes(attempt, *instance, *mapping, *again);
}

void Trial::normalize(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> slots, OnnxNodeFacts& facts) {
  for (const algebra::OnnxAttribute& attribute : mapping.attributes) {
    const auto said = facts.attributes.find(attribute.name);
    if (said != facts.attributes.end())
      said->second = normalized(attribute.value, said->second, facts, slots, bank_.symbols());
  }
  for (std::size_t i = 0; i < mapping.inputs.size() && i < facts.constant_inputs.size(); ++i) {
    auto& said = facts.constant_inputs[i];
    if (!mapping.inputs[i].argument && said)
      said = normalized(mapping.inputs[i].constant, *said, facts, slots, bank_.symbols());
  }
}

std::optional<Trial::Found> Trial::try_sizes(const Attempt& attempt, const algebra::Instance& instance,
                                             const algebra::OnnxMapping& mapping, const OnnxReading& reading) {
  const auto slots = slots_of(instance, attempt.shapes);
  std::vector<std::vector<algebra::Poly>> choices;
  for (std::uint32_t slot = instance.first_size_parameter; slot < instance.size_names.size(); ++slot)
    choices.push_back(sizes_of(instance, mapping, slot, *slots, reading, attempt.facts));
  std::optional<Found> found;
  for_each_assignment(choices, [&](const std::vector<algebra::Poly>& sizes) {
    if (auto outputs = typed(attempt, instance, mapping, sizes)) found = {&instance, sizes, std::move(*outputs)};
    return found.has_value();
  });
  return found;
}

/// What the mapping computes, or the node says; otherwise the node's integers.
std::vector<algebra::Poly> Trial::sizes_of(const algebra::Instance& instance, const algebra::OnnxMapping& mapping,
                                           std::uint32_t slot, std::vector<algebra::Poly> slots,
                                           const OnnxReading& reading, const OnnxNodeFacts& facts) {
  slots.emplace_back(static_cast<std::int64_t>(facts.outputs));
  for (const auto& [computed, expr] : mapping.sizes) {
    if (computed == slot) return {algebra::evaluate(*expr, slots, {}, bank_.symbols())};
  }
  const std::string& name = instance.size_names[slot];
  if (const auto said = reading.find(name); said != reading.end() && said->second.size() == 1) return said->second;
  for (const auto& [pack, values] : reading) {  // "e3" is the fourth of a pack e
    const bool named = name.starts_with(pack) && name.size() > pack.size() &&
                       std::ranges::all_of(name.substr(pack.size()), [](unsigned char c) { return std::isdigit(c); });
    const std::size_t position = named ? std::stoul(name.substr(pack.size())) : values.size();
    if (position < values.size()) return {values[position]};
  }
  std::vector<algebra::Poly> result;
  for (std::int64_t integer : integers_of(facts)) {
    if (integer > 0) result.emplace_back(integer);
  }
  return result;
}

/// Output shapes if the instance types here and its mapping says the node.
std::optional<std::vector<algebra::Shape>> Trial::typed(const Attempt& attempt, const algebra::Instance& instance,
                                                        const algebra::OnnxMapping& mapping,
                                                        const std::vector<algebra::Poly>& sizes) {
  if (!element_rule(instance, attempt.elements)) {
    refusals_.push_back("its element types are not those of " + instance.operator_name);
    return std::nullopt;
  }
  std::vector<algebra::Poly> slots;
  auto outputs = algebra::infer(instance, attempt.shapes, sizes, bank_.symbols(), {}, &slots);
  if (!outputs) {
    refusals_.push_back("its shapes do not fit " + instance.operator_name);
    return std::nullopt;
  }
  std::string why = mismatch(mapping, attempt.facts, slots, bank_.symbols());
  if (!why.empty()) {
    refusals_.push_back(why);
    return std::nullopt;
  }
  return outputs;
}

}  // namespace rulemill::optimize
