// Random nodes of every shipped operator, with and without an ONNX mapping, and values for their inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "algebra/execution/reference.h"
#include "algebra/library/library.h"
#include "optimize/onnx/random_node.h"
#include "runtime/error.h"

namespace rulemill::optimize::gpu {

struct Drawn {
  const algebra::Instance* instance = nullptr;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::int64_t> sizes;
};

inline std::int64_t between(std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline algebra::Library shipped_operators() {
  return algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/operators");
}

/// Of an operator that no ONNX node says; nothing if these draws do not type.
inline std::optional<Drawn> drawn_by_name(algebra::Library& library, const std::string& name, std::mt19937_64& random) {
  std::vector<std::uint32_t> ranks(library.arity(name));
  for (int i = 0; i < 10000 && (i == 0 || !library.accepts_ranks(name, ranks)); ++i) {
    for (std::uint32_t& rank : ranks) rank = static_cast<std::uint32_t>(random() % 6);
  }
  if (library.has_open_rank(name)) ranks.push_back(static_cast<std::uint32_t>(between(1, 3, random)));
  algebra::Parameters parameters;
  for (const std::string& parameter : library.parameter_names(name)) {
    if (library.parameter_kind(name, parameter) == algebra::ParameterKind::Int)
      parameters[parameter] = between(1, 4, random);
  }
  try {
    const algebra::Instance& instance = library.instantiate(name, parameters, ranks);
    std::vector<std::int64_t> slots;
    for (std::size_t i = 0; i < instance.size_names.size(); ++i) slots.push_back(between(1, 4, random));
    Drawn drawn{&instance, {}, {slots.begin() + instance.first_size_parameter, slots.end()}};
    for (const auto& input : instance.inputs) {
      auto& shape = drawn.shapes.emplace_back();
      for (const auto& dim : input) shape.push_back(algebra::evaluate(*dim, slots, {}));
    }
    if (!algebra::infer(instance, drawn.shapes, drawn.sizes)) return std::nullopt;
    return drawn;
  } catch (const runtime::Error&) {
    return std::nullopt;  // ranks or parameters that it does not take
  }
}

/// `each` nodes of every mapping, and of every operator that has none. An operator that none can be drawn of is
/// missing.
inline std::map<std::string, std::vector<Drawn>> drawn_nodes(algebra::Library& library, int each, std::uint64_t seed) {
  constexpr int tries = 3000, newest_opset = 23;
  std::map<std::string, std::vector<Drawn>> nodes;
  for (const algebra::OnnxForm& form : library.onnx_forms()) {
    std::mt19937_64 random(seed + form.number);
    int found = 0;
    for (int i = 0; i < tries && found < each; ++i) {
      if (auto node = random_node(library, form, newest_opset, random)) {
        nodes[form.operator_name].push_back({node->instance, node->shapes, node->size_parameters});
        ++found;
      }
    }
  }
  for (const std::string& name : library.operator_names()) {
    std::mt19937_64 random(seed);
    for (int i = 0, found = 0; !nodes.contains(name) || found > 0; ++i) {
      if (i == tries || found == each) break;
      if (auto node = drawn_by_name(library, name, random)) {
        nodes[name].push_back(*node);
        ++found;
      }
    }
  }
  // Instances may have moved while others were made.
  for (auto& [name, drawn] : nodes) {
    for (Drawn& node : drawn) node.instance = &library.instance(node.instance->id);
  }
  return nodes;
}

/// Whole numbers where the definition says so; above zero half of the time, since roots and logarithms need that.
inline std::vector<algebra::Tensor> values_for(const Drawn& node, std::mt19937_64& random) {
  std::vector<algebra::Tensor> inputs;
  std::uniform_real_distribution<float> draw(random() % 2 == 0 ? -2.0F : 0.1F, 2.0F);
  for (std::size_t i = 0; i < node.shapes.size(); ++i) {
    algebra::Tensor& tensor = inputs.emplace_back(algebra::Tensor{node.shapes[i], {}});
    std::int64_t count = 1;
    for (const std::int64_t dim : node.shapes[i]) count *= dim;
    for (std::int64_t e = 0; e < count; ++e) {
      const float number = draw(random);
      const algebra::ElementKind kind = node.instance->input_kinds[i];
      tensor.values.push_back(kind == algebra::ElementKind::Numbers  ? number
                              : kind == algebra::ElementKind::Truths ? static_cast<float>(random() % 2)
                                                                     : static_cast<float>(random() % 4));
    }
  }
  return inputs;
}

}  // namespace rulemill::optimize::gpu
