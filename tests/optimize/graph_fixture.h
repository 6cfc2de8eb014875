// Model graphs that tests build node by node, without ONNX.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "optimize/cost/device_model.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/fusion.h"
#include "optimize/model/rounding.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {

inline std::shared_ptr<const algebra::Tensor> tensor(std::vector<std::int64_t> shape, std::vector<double> values) {
  return std::make_shared<const algebra::Tensor>(algebra::Tensor{std::move(shape), std::move(values)});
}

/// A device on which every node costs one second.
inline DeviceModel counting_device() { return {"counting", "", 1e300, 1e300, 1e300, 1, 1}; }

/// The shipped definitions, rules from text, and a bank for graphs.
struct GraphFixture : RulesFromText {
  using RulesFromText::RulesFromText;

  algebra::Poly size(const std::string& name) { return algebra::Poly(symbols.size(name)); }
  ValueId input(const std::string& name, algebra::Shape shape, DataType type = test_data_type()) {
    return bank.input(name, {std::move(shape), type});
  }
  ValueId weight(const std::string& name, std::vector<std::int64_t> shape, std::vector<double> values) {
    return bank.constant(name, tensor(std::move(shape), std::move(values)), test_data_type());
  }
  /// Returns a constant with elements in [-1, 1] that depend on the name.
  ValueId weight(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::seed_seq seed(name.begin(), name.end());
    std::mt19937 random(seed);
    std::size_t count = 1;
    for (std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
    std::vector<double> values(count);
    for (double& value : values) value = rounded(static_cast<double>(random() % 2001) / 1000 - 1, test_data_type());
    return weight(name, shape, std::move(values));
  }
  algebra::InstanceId instance(const std::string& name, std::vector<std::uint32_t> ranks,
                               const algebra::Parameters& parameters = {}) {
    return library.instantiate(name, parameters, ranks).id;
  }
  /// Applies the operator to the arguments; returns the first output.
  ValueId op(const std::string& name, const std::vector<ValueId>& arguments, const algebra::Parameters& parameters = {},
             const std::vector<algebra::Poly>& sizes = {}) {
    std::vector<std::uint32_t> ranks;
    for (ValueId argument : arguments) ranks.push_back(static_cast<std::uint32_t>(bank.value(argument).type->size()));
    const auto created = bank.apply(instance(name, ranks, parameters), arguments, sizes);
    REQUIRE(created.has_value());
    return bank.node(*created).outputs[0];
  }
  /// Returns the output of an opaque node.
  ValueId opaque(const std::string& key, std::initializer_list<ValueId> arguments, ValueType type) {
    const std::vector<ValueId> given(arguments);
    return bank.node(bank.opaque(key, given, std::vector<ValueType>{std::move(type)})).outputs[0];
  }
  NodeId node(ValueId value) const { return bank.value(value).node; }
  /// Returns the operator names of the computed, non-constant nodes in topological order.
  std::vector<std::string> computed(std::span<const ValueId> outputs) const {
    std::vector<std::string> names;
    for (NodeId id : bank.live_nodes(outputs)) {
      const Node& node = bank.node(id);
      if (node.kind == Node::Kind::Algebra && !node.constant) names.push_back(bank.instance(node).operator_name);
    }
    return names;
  }

  /// Applies operators one after the other, starting with `from`.
  ValueId chain(ValueId from, const std::vector<std::string>& names) {
    for (const std::string& name : names) from = op(name, {from});
    return from;
  }

  GraphBank bank{library, symbols};
  Fusion fusion{bank};
};

}  // namespace rulemill::optimize
