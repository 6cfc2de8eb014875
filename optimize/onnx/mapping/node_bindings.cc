#include "optimize/onnx/mapping/node_bindings.h"

#include <algorithm>

namespace rulemill::optimize {
namespace {

using algebra::GenericOnnxMapping;
using algebra::ParameterKind;
using algebra::Poly;

const GenericOnnxMapping::Parameter* parameter_named(const GenericOnnxMapping& mapping, const std::string& name) {
  const auto found = std::ranges::find_if(mapping.parameters, [&](const auto& known) { return known.name == name; });
  return found == mapping.parameters.end() ? nullptr : &*found;
}

bool is_list(ParameterKind kind) {
  return kind == ParameterKind::Ints || kind == ParameterKind::Axes || kind == ParameterKind::NewAxes ||
         kind == ParameterKind::Permutation || kind == ParameterKind::Sizes;
}

class Binder {
 public:
  Binder(const GenericOnnxMapping& mapping, const algebra::Library& library, std::span<const std::uint32_t> ranks,
         const algebra::Parameters& parameters)
      : mapping_(mapping), library_(library), ranks_(ranks), parameters_(parameters) {}

  bool bind(const GenericOnnxMapping::Value& value, const std::vector<Poly>& elements) {
    if (!value.is_list && value.items.size() == 1) {
      const auto* whole = parameter_named(mapping_, value.items[0].name);
      if (whole != nullptr && is_list(whole->kind)) {
        bindings_.emplace(whole->name, elements);
        return true;
      }
    }
    std::size_t known = 0, unknown = 0;
    for (const GenericOnnxMapping::ValueItem& entry : value.items) {
      if (auto length = length_of(entry))
        known += *length;
      else
        ++unknown;
    }
    if (unknown > 1 || elements.size() < known || (unknown == 0 && elements.size() != known)) return false;
    std::size_t next = 0;
    for (const GenericOnnxMapping::ValueItem& entry : value.items) {
      const std::size_t length = length_of(entry).value_or(elements.size() - known);
      std::vector<Poly> values(elements.begin() + static_cast<std::ptrdiff_t>(next),
                               elements.begin() + static_cast<std::ptrdiff_t>(next + length));
      next += length;
      if (!entry.name.empty() && !entry.from_rank) bindings_.emplace(entry.name, std::move(values));
    }
    return true;
  }

  NodeBindings take_bindings() { return std::move(bindings_); }

 private:
  /// Returns nullopt for a pack of sizes that the node determines.
  std::optional<std::size_t> length_of(const GenericOnnxMapping::ValueItem& entry) const {
    if (!entry.is_pack) return 1;
    const auto* parameter = parameter_named(mapping_, entry.length_of);
    if (parameter != nullptr && parameter->kind == ParameterKind::Sizes) return std::nullopt;
    return library_.pack_length(mapping_.operator_name, ranks_, parameters_,
                                parameter != nullptr ? parameter->pack : entry.length_of);
  }

  const GenericOnnxMapping& mapping_;
  const algebra::Library& library_;
  std::span<const std::uint32_t> ranks_;
  const algebra::Parameters& parameters_;
  NodeBindings bindings_;
};

/// Compares dimensions from the last: whole, one element, or absent.
std::optional<std::vector<std::int64_t>> spread_of(std::span<const Poly> dims, std::span<const Poly> all) {
  std::vector<std::int64_t> result(all.size() - dims.size(), algebra::spread_absent);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Poly& whole = all[all.size() - dims.size() + d];
    if (dims[d] == whole)
      result.push_back(algebra::spread_whole);
    else if (dims[d] == Poly(1))
      result.push_back(algebra::spread_one);
    else
      return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<NodeBindings> bind_node(const GenericOnnxMapping& mapping, const NodeDescription& description,
                                      const algebra::Library& library, std::span<const std::uint32_t> ranks,
                                      const algebra::Parameters& parameters) {
  Binder binder(mapping, library, ranks, parameters);
  for (const auto& [name, value] : mapping.attributes) {
    const auto found = description.attributes.find(name);
    if (found == description.attributes.end()) {
      const auto absent = mapping.defaults.find(name);
      if (absent == mapping.defaults.end() || value.is_list || value.items.size() != 1) continue;
      const auto* parameter = parameter_named(mapping, value.items[0].name);
      if (parameter == nullptr || is_list(parameter->kind)) continue;
      binder.bind(value, {Poly(static_cast<std::int64_t>(absent->second))});
    } else if (!found->second.integers.empty() && !binder.bind(value, found->second.integers)) {
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < mapping.inputs.size() && i < description.constant_inputs.size(); ++i) {
    if (mapping.inputs[i] || !description.constant_inputs[i]) continue;
    if (!description.constant_inputs[i]->float_value &&
        !binder.bind(mapping.constants[i], description.constant_inputs[i]->integers))
      return std::nullopt;
  }
  return binder.take_bindings();
}

std::optional<algebra::ParameterValue> bound_value(const GenericOnnxMapping::Parameter& parameter,
                                                   const NodeBindings& bindings, std::uint32_t rank) {
  const auto found = bindings.find(parameter.name);
  if (found == bindings.end()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Poly& element : found->second) {
    const auto number = element.constant();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const bool is_new_axes = parameter.kind == ParameterKind::NewAxes;
  if (parameter.kind == ParameterKind::Axis || parameter.kind == ParameterKind::Axes || is_new_axes) {
    const std::int64_t end = rank + (is_new_axes ? static_cast<std::int64_t>(numbers.size()) : 0);
    for (std::int64_t& axis : numbers) axis += axis < 0 ? end : 0;
  }
  if (is_list(parameter.kind)) return numbers;
  if (numbers.size() != 1) return std::nullopt;
  return numbers[0];
}

std::optional<algebra::ParameterValue> required_value(const GenericOnnxMapping& mapping,
                                                      const GenericOnnxMapping::Parameter& parameter) {
  const auto required = mapping.enum_values.find(parameter.name);
  if (required == mapping.enum_values.end()) return std::nullopt;
  if (parameter.kind == ParameterKind::Int) return std::int64_t{std::stoll(required->second)};
  return required->second;
}

std::optional<algebra::Parameters> infer_spreads(const GenericOnnxMapping& mapping,
                                                 std::span<const algebra::Shape> shapes, const NodeBindings& bindings) {
  algebra::Parameters result;
  std::map<std::string, std::vector<Poly>> all;
  auto pack = [&](const GenericOnnxMapping::Spread& spread) -> std::optional<std::span<const Poly>> {
    const algebra::Shape& shape = shapes[spread.input];
    if (shape.size() < spread.before + spread.after) return std::nullopt;
    return std::span(shape).subspan(spread.before, shape.size() - spread.before - spread.after);
  };
  for (const GenericOnnxMapping::Spread& spread : mapping.spreads) {
    const auto dims = pack(spread);
    if (!dims) return std::nullopt;
    const auto found = bindings.find(spread.pack);
    std::vector<Poly>& common =
        all.try_emplace(spread.pack, found == bindings.end() ? std::vector<Poly>() : found->second).first->second;
    if (common.size() < dims->size()) common.insert(common.begin(), dims->size() - common.size(), Poly(1));
    for (std::size_t d = 0; d < dims->size(); ++d) {
      Poly& dim = common[common.size() - dims->size() + d];
      if (dim == Poly(1)) dim = (*dims)[d];
    }
  }
  for (const GenericOnnxMapping::Spread& spread : mapping.spreads) {
    auto spread_values = spread_of(*pack(spread), all[spread.pack]);
    if (!spread_values) return std::nullopt;
    if (std::ranges::all_of(*spread_values, [](std::int64_t one) { return one == algebra::spread_whole; }))
      spread_values->clear();
    result.emplace(spread.parameter, std::move(*spread_values));
  }
  return result;
}

}  // namespace rulemill::optimize
