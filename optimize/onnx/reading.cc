#include "optimize/onnx/reading.h"

#include <algorithm>

namespace rulemill::optimize {

namespace {

using algebra::OnnxForm;
using algebra::ParameterKind;
using algebra::Poly;

const OnnxForm::Parameter* parameter_named(const OnnxForm& form, const std::string& name) {
  const auto found = std::ranges::find_if(form.parameters, [&](const auto& known) { return known.name == name; });
  return found == form.parameters.end() ? nullptr : &*found;
}

bool is_list(ParameterKind kind) {
  return kind == ParameterKind::Ints || kind == ParameterKind::Axes || kind == ParameterKind::NewAxes ||
         kind == ParameterKind::Permutation || kind == ParameterKind::Sizes;
}

class Reader {
 public:
  Reader(const OnnxForm& form, const algebra::Library& library, std::span<const std::uint32_t> ranks,
         const algebra::Parameters& parameters)
      : form_(form), library_(library), ranks_(ranks), parameters_(parameters) {}

  bool take(const OnnxForm::Value& value, const std::vector<Poly>& elements) {
    if (!value.is_list && value.entries.size() == 1) {
      const auto* whole = parameter_named(form_, value.entries[0].name);
      if (whole != nullptr && is_list(whole->kind)) {
        reading_.emplace(whole->name, elements);
        return true;
      }
    }
    std::size_t known = 0, open = 0;
    for (const OnnxForm::Entry& entry : value.entries) {
      if (auto length = length_of(entry))
        known += *length;
      else
        ++open;
    }
    if (open > 1 || elements.size() < known || (open == 0 && elements.size() != known)) return false;
    std::size_t next = 0;
    for (const OnnxForm::Entry& entry : value.entries) {
      const std::size_t length = length_of(entry).value_or(elements.size() - known);
      std::vector<Poly> part(elements.begin() + static_cast<std::ptrdiff_t>(next),
                             elements.begin() + static_cast<std::ptrdiff_t>(next + length));
      next += length;
      if (!entry.name.empty() && !entry.from_rank) reading_.emplace(entry.name, std::move(part));
    }
    return true;
  }

  OnnxReading take_result() { return std::move(reading_); }

 private:
  /// Nothing for a pack of sizes that the node gives.
  std::optional<std::size_t> length_of(const OnnxForm::Entry& entry) const {
    if (!entry.is_pack) return 1;
    const auto* parameter = parameter_named(form_, entry.length_of);
    if (parameter != nullptr && parameter->kind == ParameterKind::Sizes) return std::nullopt;
    return library_.pack_length(form_.operator_name, ranks_, parameters_,
                                parameter != nullptr ? parameter->pack : entry.length_of);
  }

  const OnnxForm& form_;
  const algebra::Library& library_;
  std::span<const std::uint32_t> ranks_;
  const algebra::Parameters& parameters_;
  OnnxReading reading_;
};

/// From the last dimension on: whole, one element, or absent.
std::optional<std::vector<std::int64_t>> spread_of(std::span<const Poly> own, std::span<const Poly> all) {
  std::vector<std::int64_t> result(all.size() - own.size(), algebra::spread_absent);
  for (std::size_t d = 0; d < own.size(); ++d) {
    const Poly& whole = all[all.size() - own.size() + d];
    if (own[d] == whole)
      result.push_back(algebra::spread_whole);
    else if (own[d] == Poly(1))
      result.push_back(algebra::spread_one);
    else
      return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<OnnxReading> read(const OnnxForm& form, const OnnxNodeFacts& facts, const algebra::Library& library,
                                std::span<const std::uint32_t> ranks, const algebra::Parameters& parameters) {
  Reader reader(form, library, ranks, parameters);
  for (const auto& [name, value] : form.attributes) {
    const auto said = facts.attributes.find(name);
    if (said == facts.attributes.end()) {
      const auto absent = form.absent.find(name);
      if (absent == form.absent.end() || value.is_list || value.entries.size() != 1) continue;
      const auto* parameter = parameter_named(form, value.entries[0].name);
      if (parameter == nullptr || is_list(parameter->kind)) continue;
      reader.take(value, {Poly(static_cast<std::int64_t>(absent->second))});
    } else if (!said->second.integers.empty() && !reader.take(value, said->second.integers)) {
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < form.inputs.size() && i < facts.constant_inputs.size(); ++i) {
    if (form.inputs[i] || !facts.constant_inputs[i]) continue;
    if (!facts.constant_inputs[i]->number && !reader.take(form.constants[i], facts.constant_inputs[i]->integers))
      return std::nullopt;
  }
  return reader.take_result();
}

std::optional<algebra::ParameterValue> value_of(const OnnxForm::Parameter& parameter, const OnnxReading& reading,
                                                std::uint32_t rank) {
  const auto found = reading.find(parameter.name);
  if (found == reading.end()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Poly& element : found->second) {
    const auto number = element.constant();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const bool fresh = parameter.kind == ParameterKind::NewAxes;
  if (parameter.kind == ParameterKind::Axis || parameter.kind == ParameterKind::Axes || fresh) {
    const std::int64_t end = rank + (fresh ? static_cast<std::int64_t>(numbers.size()) : 0);
    for (std::int64_t& axis : numbers) axis += axis < 0 ? end : 0;
  }
  if (is_list(parameter.kind)) return numbers;
  if (numbers.size() != 1) return std::nullopt;
  return numbers[0];
}

std::optional<algebra::ParameterValue> chosen_value(const OnnxForm& form, const OnnxForm::Parameter& parameter) {
  const auto chosen = form.choices.find(parameter.name);
  if (chosen == form.choices.end()) return std::nullopt;
  if (parameter.kind == ParameterKind::Int) return std::int64_t{std::stoll(chosen->second)};
  return chosen->second;
}

std::optional<algebra::Parameters> spreads(const OnnxForm& form, std::span<const algebra::Shape> shapes,
                                           const OnnxReading& reading) {
  algebra::Parameters result;
  std::map<std::string, std::vector<Poly>> all;
  auto pack = [&](const OnnxForm::Spread& spread) -> std::optional<std::span<const Poly>> {
    const algebra::Shape& shape = shapes[spread.input];
    if (shape.size() < spread.before + spread.after) return std::nullopt;
    return std::span(shape).subspan(spread.before, shape.size() - spread.before - spread.after);
  };
  for (const OnnxForm::Spread& spread : form.spreads) {
    const auto own = pack(spread);
    if (!own) return std::nullopt;
    const auto said = reading.find(spread.pack);
    std::vector<Poly>& so_far =
        all.try_emplace(spread.pack, said == reading.end() ? std::vector<Poly>() : said->second).first->second;
    if (so_far.size() < own->size()) so_far.insert(so_far.begin(), own->size() - so_far.size(), Poly(1));
    for (std::size_t d = 0; d < own->size(); ++d) {
      Poly& dim = so_far[so_far.size() - own->size() + d];
      if (dim == Poly(1)) dim = (*own)[d];
    }
  }
  for (const OnnxForm::Spread& spread : form.spreads) {
    auto how = spread_of(*pack(spread), all[spread.pack]);
    if (!how) return std::nullopt;
    if (std::ranges::all_of(*how, [](std::int64_t one) { return one == algebra::spread_whole; })) how->clear();
    result.emplace(spread.parameter, std::move(*how));
  }
  return result;
}

}  // namespace rulemill::optimize
