#include "optimize/gpu/tensors.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::optimize::gpu {

namespace {

class Building {
 public:
  Building(const GraphBank& bank, const Evaluator::Sizes& sizes, Unknown unknown)
      : bank_(bank), sizes_(sizes), unknown_(unknown), evaluator_(bank, sizes, [](ValueId) -> Evaluator::TensorPtr {
          throw runtime::Error("gpu", "a constant depends on an input");
        }) {}

  Tensors tensors(std::span<const ValueId> outputs) {
    for (const NodeId id : bank_.live(outputs)) add(bank_.node(id));
    for (const ValueId output : outputs) made_.outputs.push_back({output, number_of(output)});
    return std::move(made_);
  }

 private:
  void add(const Node& node) {
    if (node.kind == Node::Kind::Constant || node.constant) return;  // when it is used
    if (node.kind == Node::Kind::Opaque) return add_unknown(node);
    if (node.kind == Node::Kind::Input) {
      made_.inputs.push_back({node.outputs[0], given(node.outputs[0])});
      return;
    }
    std::vector<std::uint32_t> numbers;
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::optional<double>> values;
    for (const ValueId argument : node.arguments) {
      numbers.push_back(number_of(argument));
      shapes.push_back(made_.dims[numbers.back()]);
      values.push_back(value_of(argument));
    }
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : evaluator_.dims(node.sizes)) sizes.push_back(size);
    const algebra::Instance& instance = bank_.instance(node);
    auto bodies = bodies_of(instance, shapes, sizes, bank_.symbols(), values);
    if (!bodies) throw runtime::Error("gpu", instance.name + " does not type at these sizes");
    for (Body& body : bodies->computed) {
      body.element = replaced(body.element, {}, numbers, bank_.symbols());
      numbers.push_back(static_cast<std::uint32_t>(made_.dims.size()));
      made_.dims.push_back(body.dims);
      made_.bodies.emplace_back(std::move(body));
    }
    const std::size_t first = bodies->inputs + bodies->intermediates;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) numbers_[node.outputs[i]] = numbers[first + i];
  }

  void add_unknown(const Node& node) {
    if (unknown_ == Unknown::Refused)
      throw runtime::Error("gpu", "no definition is known of the node that gives '" + name_of(node) + "'");
    for (const ValueId output : node.outputs) {
      const ValueType& type = bank_.value(output).type;
      if (type && has_numbers(*type)) made_.inputs.push_back({output, given(output), true});
    }
  }

  bool has_numbers(const algebra::Shape& shape) const {
    return std::ranges::all_of(shape, [&](const algebra::Poly& dim) {
      return std::ranges::all_of(bank_.symbols().atoms(dim), [&](algebra::Atom atom) { return sizes_.contains(atom); });
    });
  }

  std::uint32_t number_of(ValueId id) {
    const auto found = numbers_.find(id);
    if (found != numbers_.end()) return found->second;
    const Node& node = bank_.node_of(id);
    if (node.kind == Node::Kind::Opaque)
      throw runtime::Error("gpu", "the shape of '" + name_of(node) + "', which no definition gives, is not known");
    RM_CHECK(node.constant || node.kind == Node::Kind::Constant, "a value that is used before it is computed");
    const std::uint32_t number = given(id);
    made_.constants.push_back({id, number});
    return number;
  }

  std::uint32_t given(ValueId id) {
    const ValueType& type = bank_.value(id).type;
    if (!type) throw runtime::Error("gpu", "the shape of '" + bank_.value(id).name + "' is not known");
    const auto number = static_cast<std::uint32_t>(made_.dims.size());
    made_.dims.push_back(evaluator_.dims(*type));
    made_.bodies.emplace_back();
    numbers_[id] = number;
    return number;
  }

  /// Of a constant without dimensions.
  std::optional<double> value_of(ValueId id) {
    const Node& node = bank_.node_of(id);
    const ValueType& type = bank_.value(id).type;
    if (!(node.constant || node.kind == Node::Kind::Constant) || !type || !type->empty()) return std::nullopt;
    return evaluator_.value(id)->values.at(0);
  }

  std::string name_of(const Node& node) const {
    const std::string& name = bank_.value(node.outputs.at(0)).name;
    return name.empty() ? "a value without name" : name;
  }

  const GraphBank& bank_;
  const Evaluator::Sizes& sizes_;
  Unknown unknown_;
  Evaluator evaluator_;
  Tensors made_;
  std::unordered_map<ValueId, std::uint32_t> numbers_;
};

}  // namespace

Tensors tensors_of(const GraphBank& bank, std::span<const ValueId> outputs, const Evaluator::Sizes& sizes,
                   Unknown unknown) {
  return Building(bank, sizes, unknown).tensors(outputs);
}

std::vector<std::uint32_t> reads_of(const Element& element) {
  std::vector<std::uint32_t> reads;
  each_below(element, [&](const Element& one) {
    if (one.kind == Element::Kind::Read && std::ranges::find(reads, one.tensor) == reads.end())
      reads.push_back(one.tensor);
  });
  return reads;
}

}  // namespace rulemill::optimize::gpu
