// Random nodes of every shipped operator, with and without an ONNX mapping, and values of their inputs.
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
#include "optimize/onnx/mapping/random_node.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::optimize::gpu {

struct DrawnNode {
  const algebra::OperatorInstance* instance = nullptr;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::int64_t> sizes;
};

inline std::int64_t between(std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Draws a node of an operator without mapping; nullopt if it does not type.
inline std::optional<DrawnNode> draw_by_name(algebra::Library& library, const std::string& name,
                                             std::mt19937_64& random) {
  std::vector<std::uint32_t> ranks(library.arity(name));
  for (int i = 0; i < 10000 && (i == 0 || !library.accepts_ranks(name, ranks)); ++i) {
    for (std::uint32_t& rank : ranks) rank = static_cast<std::uint32_t>(random() % 6);
  }
  if (library.has_explicit_rank(name)) ranks.push_back(static_cast<std::uint32_t>(between(1, 3, random)));
  algebra::Parameters parameters;
  for (const std::string& parameter : library.parameter_names(name)) {
    const algebra::ParameterKind kind = library.parameter_kind(name, parameter);
    if (kind == algebra::ParameterKind::Int || kind == algebra::ParameterKind::Ints)
      parameters[parameter] = between(1, 4, random);
    if (kind == algebra::ParameterKind::Axes) parameters[parameter] = std::vector<std::int64_t>{0};
  }
  try {
    const algebra::OperatorInstance& instance = library.instantiate(name, parameters, ranks);
    std::vector<std::int64_t> slots;
    for (std::size_t i = 0; i < instance.size_names.size(); ++i) slots.push_back(between(1, 4, random));
    DrawnNode node{&instance, {}, {slots.begin() + instance.first_size_parameter, slots.end()}};
    for (const auto& input : instance.inputs) {
      auto& shape = node.shapes.emplace_back();
      for (const auto& dim : input) shape.push_back(algebra::evaluate(*dim, slots, {}));
    }
    if (!algebra::infer(instance, node.shapes, node.sizes)) return std::nullopt;
    return node;
  } catch (const runtime::Error&) {
    return std::nullopt;  // the operator rejects these ranks or parameters
  }
}

/// Draws `each` nodes of every mapping, and of every operator without one. Operators of which none can be drawn are
/// missing.
inline std::map<std::string, std::vector<DrawnNode>> draw_nodes(algebra::Library& library, int each,
                                                                std::uint64_t seed) {
  constexpr int tries = 3000, newest_opset = 23;
  std::map<std::string, std::vector<DrawnNode>> nodes;
  for (const algebra::GenericOnnxMapping& op : library.onnx_mappings()) {
    std::mt19937_64 random(seed + op.index);
    int found = 0;
    for (int i = 0; i < tries && found < each; ++i) {
      if (auto node = random_node(library, op, newest_opset, random)) {
        nodes[op.operator_name].push_back({node->instance, node->shapes, node->size_parameters});
        ++found;
      }
    }
  }
  for (const std::string& name : library.operator_names()) {
    std::mt19937_64 random(seed);
    for (int i = 0, found = 0; !nodes.contains(name) || found > 0; ++i) {
      if (i == tries || found == each) break;
      if (auto node = draw_by_name(library, name, random)) {
        nodes[name].push_back(*node);
        ++found;
      }
    }
  }
  // Instances may have moved in memory meanwhile.
  for (auto& [name, drawn] : nodes) {
    for (DrawnNode& node : drawn) node.instance = &library.instance(node.instance->id);
  }
  return nodes;
}

/// Draws integers where the definition requires; half of the time positive reals, for roots and logarithms.
inline std::vector<algebra::Tensor> draw_values(const DrawnNode& node, std::mt19937_64& random) {
  std::vector<algebra::Tensor> inputs;
  std::uniform_real_distribution<float> draw(random() % 2 == 0 ? -2.0F : 0.1F, 2.0F);
  for (std::size_t i = 0; i < node.shapes.size(); ++i) {
    algebra::Tensor& tensor = inputs.emplace_back(algebra::Tensor{node.shapes[i], {}});
    std::int64_t count = 1;
    for (const std::int64_t dim : node.shapes[i]) count *= dim;
    for (std::int64_t e = 0; e < count; ++e) {
      const float number = draw(random);
      const algebra::ScalarKind kind = node.instance->input_scalar_kinds[i];
      tensor.values.push_back(kind == algebra::ScalarKind::Real   ? number
                              : kind == algebra::ScalarKind::Bool ? static_cast<float>(random() % 2)
                                                                  : static_cast<float>(random() % 4));
    }
  }
  return inputs;
}

}  // namespace rulemill::optimize::gpu
