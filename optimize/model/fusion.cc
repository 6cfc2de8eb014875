#include "optimize/model/fusion.h"

#include <algorithm>

#include "optimize/model/numbers.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// Returns all lists of leaves of a term, left to right: each argument is a leaf or is replaced by its own arguments.
std::vector<std::vector<ValueId>> leaf_lists(const GraphBank& bank, const Node& root) {
  std::vector<std::vector<ValueId>> lists{{}};
  for (ValueId argument : root.arguments) {
    std::vector<std::vector<ValueId>> extended;
    for (const auto& list : lists) {
      extended.push_back(list);
      extended.back().push_back(argument);
      const Node& inner = bank.node_of(argument);
      if (inner.kind == Node::Kind::Algebra && !inner.arguments.empty()) {
        extended.push_back(list);
        extended.back().insert(extended.back().end(), inner.arguments.begin(), inner.arguments.end());
      }
    }
    lists = std::move(extended);
  }
  return lists;
}

/// Returns the parameter values of the node and of its arguments that pass the test of name and value.
template <class Test>
std::vector<algebra::ParameterValue> values_near(const GraphBank& bank, const Node& root, const Test& test) {
  std::vector<algebra::ParameterValue> found;
  auto add = [&](const Node& node) {
    if (node.kind != Node::Kind::Algebra) return;
    for (const auto& [name, value] : bank.instance(node).parameters) {
      if (test(name, value) && std::ranges::find(found, value) == found.end()) found.push_back(value);
    }
  };
  add(root);
  for (ValueId argument : root.arguments) add(bank.node_of(argument));
  return found;
}

/// The graphs of a bank, with its numbers of nodes and values.
class BankGraph final : public PatternGraph {
 public:
  BankGraph(const GraphBank& bank, const std::map<std::string, double>& numbers) : bank_(bank), numbers_(numbers) {}

  std::optional<Node> node_of(std::uint32_t value) const override {
    const NodeId id = bank_.value(ValueId{value}).node;
    const optimize::Node& node = bank_.node(id);
    if (node.kind != optimize::Node::Kind::Algebra || node.constant || node.outputs.size() != 1) return std::nullopt;
    Node found{index(id), &bank_.instance(node), {}};
    for (const ValueId argument : node.arguments) found.arguments.push_back(index(argument));
    return found;
  }

  bool is_number(std::uint32_t value, const std::string& operator_name) const override {
    const optimize::Node& node = bank_.node_of(ValueId{value});
    if (optimize::is_number(node)) return bank_.instance(node).operator_name == operator_name;
    const auto number = numbers_.find(operator_name);
    return number != numbers_.end() && is_constant_of(bank_, ValueId{value}, number->second);
  }

 private:
  const GraphBank& bank_;
  const std::map<std::string, double>& numbers_;
};

}  // namespace

std::unordered_map<ValueId, std::uint32_t> count_uses(const GraphBank& bank, std::span<const NodeId> nodes,
                                                      std::span<const ValueId> roots) {
  std::unordered_map<ValueId, std::uint32_t> uses;
  for (ValueId root : roots) ++uses[root];
  for (NodeId id : nodes) {
    for (ValueId argument : bank.node(id).arguments) ++uses[argument];
  }
  return uses;
}

Fusion::Fusion(GraphBank& bank, RuntimeFusions fusions)
    : bank_(&bank), runtime_(std::move(fusions)), composite_names_(bank.library().operator_names()) {
  for (const std::string& name : runtime_.numbers()) {
    if (const std::optional<double> value = value_of_number(bank, name)) numbers_.emplace(name, *value);
  }
}

std::optional<Fusion::OnePassNodes> Fusion::one_pass(NodeId last) const {
  const Node& node = bank_->node(last);
  if (node.kind != Node::Kind::Algebra || !runtime_.can_end_one_pass(bank_->instance(node))) return std::nullopt;
  const std::optional<OnePass> found = runtime_.one_pass(BankGraph(*bank_, numbers_), index(node.outputs[0]));
  if (!found) return std::nullopt;
  OnePassNodes nodes{found->name, {}};
  for (const std::uint32_t inner : found->inner) nodes.inner.push_back(NodeId{inner});
  return nodes;
}

bool Fusion::absorbs_operand(algebra::InstanceId user, std::size_t position, algebra::InstanceId inner) const {
  const algebra::OperatorInstance &outer = bank_->library().instance(user), &other = bank_->library().instance(inner);
  if (runtime_.absorbs_operand(outer, position, other)) return true;
  const bool same = position == 0 && other.operator_name == outer.operator_name && other.parameters == outer.parameters;
  return same && !outer.onnx.empty() && outer.onnx.front().variadic;
}

const std::optional<CompositeMatch>& Fusion::composite(NodeId node) {
  auto found = composites_.find(node);
  if (found == composites_.end()) found = composites_.emplace(node, find_composite(node)).first;
  return found->second;
}

std::optional<CompositeMatch> Fusion::find_composite(NodeId id) {
  const Node root = bank_->node(id);
  if (root.kind != Node::Kind::Algebra) return std::nullopt;
  auto lists = leaf_lists(*bank_, root);
  std::erase(lists, root.arguments);  // at least two steps
  std::optional<CompositeMatch> match;
  for (std::size_t i = 0; i < composite_names_.size() && !match; ++i) {
    bool is_composite = true;
    for (std::size_t j = 0; j < lists.size() && !match && is_composite; ++j) {
      if (lists[j].size() == bank_->library().arity(composite_names_[i]))
        match = try_leaves(composite_names_[i], id, lists[j], is_composite);
    }
    if (!is_composite) composite_names_.erase(composite_names_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  return match;
}

std::optional<CompositeMatch> Fusion::try_leaves(const std::string& name, NodeId root,
                                                 const std::vector<ValueId>& leaves, bool& is_composite) {
  algebra::Library& library = bank_->library();
  std::vector<std::uint32_t> ranks;
  for (ValueId leaf : leaves) {
    if (!bank_->value(leaf).type) return std::nullopt;
    ranks.push_back(static_cast<std::uint32_t>(bank_->value(leaf).type->size()));
  }
  if (!library.accepts_ranks(name, ranks)) return std::nullopt;
  std::vector<algebra::Parameters> combinations{{}};
  for (const std::string& parameter : library.parameter_names(name)) {
    // A composite passes its parameters to its steps by name.
    auto values =
        values_near(*bank_, bank_->node(root), [&](const auto& near, const auto&) { return near == parameter; });
    if (values.empty()) values = library.domain(name, parameter, ranks);
    if (values.empty()) {
      values = values_near(*bank_, bank_->node(root),
                           [](const auto&, const auto& value) { return std::holds_alternative<std::int64_t>(value); });
    }
    if (values.empty()) continue;  // its default, if it has one
    std::vector<algebra::Parameters> extended;
    for (const auto& chosen : combinations) {
      for (const auto& value : values) {
        extended.push_back(chosen);
        extended.back()[parameter] = value;
      }
    }
    combinations = std::move(extended);
  }
  for (const auto& parameters : combinations) {
    const algebra::OperatorInstance* instance = library.find_instance(name, parameters, ranks);
    if (instance == nullptr) continue;
    is_composite = !instance->composite.empty();
    if (!is_composite) return std::nullopt;
    if (auto match = match_steps(*instance, root, leaves)) return match;
  }
  return std::nullopt;
}

std::optional<CompositeMatch> Fusion::match_steps(const algebra::OperatorInstance& composite, NodeId root,
                                                  const std::vector<ValueId>& leaves) {
  if (composite.onnx.empty() || composite.size_parameter_count() > 0) return std::nullopt;
  std::vector<algebra::Shape> shapes;
  for (ValueId leaf : leaves) shapes.push_back(*bank_->value(leaf).type);
  std::vector<algebra::Poly> slots;
  if (!algebra::infer(composite, shapes, {}, bank_->symbols(), {}, &slots)) return std::nullopt;
  CompositeMatch match{composite.id, leaves, {}, {}};
  std::vector<ValueId> values = leaves;
  NodeId last{};
  for (const algebra::CompositeStep& step : composite.composite) {
    std::vector<ValueId> arguments;
    for (std::uint32_t argument : step.arguments) arguments.push_back(values[argument]);
    std::vector<algebra::Poly> sizes;
    for (const auto& size : step.sizes) sizes.push_back(algebra::evaluate(*size, slots, {}, bank_->symbols()));
    auto made =
        bank_->apply(step.instance, arguments, sizes, bank_->value(bank_->node(root).outputs[0]).type.data_type);
    if (!made || *made > root) return std::nullopt;  // arguments of the root have smaller ids
    last = *made;
    match.inner.push_back(last);
    values.push_back(bank_->node(last).outputs[0]);
  }
  if (last != root) return std::nullopt;
  match.inner.pop_back();
  return match;
}

bool Fusion::has_fused_activation(algebra::InstanceId producer, algebra::InstanceId activation) {
  auto [entry, fresh] = fused_activations_.emplace(std::pair(producer, activation), false);
  if (!fresh) return entry->second;
  algebra::Library& library = bank_->library();
  // Instantiation may move instances, so no references are held across it.
  std::vector<std::string> op_types;
  for (const auto& mapping : library.instance(activation).onnx) op_types.push_back(mapping.op_type);
  if (library.instance(activation).inputs.size() != 1 || op_types.empty()) return false;
  const algebra::OperatorInstance made = library.instance(producer);
  std::vector<std::uint32_t> ranks;
  for (const auto& input : made.inputs) ranks.push_back(static_cast<std::uint32_t>(input.size()));
  for (const auto& [name, value] : made.parameters) {
    for (const auto& other : library.domain(made.operator_name, name, ranks)) {
      algebra::Parameters changed = made.parameters;
      changed[name] = other;
      const algebra::OperatorInstance* variant = library.find_instance(made.operator_name, changed, ranks);
      if (variant == nullptr) continue;
      for (const auto& mapping : variant->onnx) {
        if (mapping.activation && std::ranges::find(op_types, *mapping.activation) != op_types.end())
          return entry->second = true;
      }
    }
  }
  return false;
}

bool Fusion::fuses_activation(NodeId producer, algebra::InstanceId activation) {
  const Node& node = bank_->node(producer);
  if (node.kind != Node::Kind::Algebra || node.constant) return false;
  if (has_fused_activation(node.instance, activation)) return true;
  const std::optional<CompositeMatch>& match = composite(producer);
  return match && std::ranges::any_of(match->inner, [&](NodeId inner) {
           return has_fused_activation(bank_->node(inner).instance, activation);
         });
}

std::optional<algebra::InstanceId> Fusion::composite_of(algebra::InstanceId producer, algebra::InstanceId last) {
  auto [entry, fresh] = composed_.emplace(std::pair(producer, last), std::nullopt);
  if (!fresh) return entry->second;
  algebra::Library& library = bank_->library();
  // Copies, because instantiation may move instances.
  const algebra::OperatorInstance first = library.instance(producer), second = library.instance(last);
  if (second.inputs.empty() || first.outputs.size() != 1) return std::nullopt;
  for (const std::string& name : library.operator_names()) {
    if (const auto found = find_composite(first, second, name)) return entry->second = found;
  }
  return std::nullopt;
}

/// The composite's inputs are those of the producer, then the other inputs of the last step. One without an operator in
/// the model's domains is no node.
std::optional<algebra::InstanceId> Fusion::find_composite(const algebra::OperatorInstance& producer,
                                                          const algebra::OperatorInstance& last,
                                                          const std::string& name) {
  algebra::Library& library = bank_->library();
  std::vector<std::uint32_t> ranks;
  for (const auto& input : producer.inputs) ranks.push_back(static_cast<std::uint32_t>(input.size()));
  for (std::size_t i = 1; i < last.inputs.size(); ++i)
    ranks.push_back(static_cast<std::uint32_t>(last.inputs[i].size()));
  if (library.arity(name) != ranks.size() || !library.accepts_ranks(name, ranks)) return std::nullopt;
  algebra::Parameters parameters;
  for (const std::string& parameter : library.parameter_names(name)) {
    for (const algebra::OperatorInstance* step : {&producer, &last}) {
      const auto found = step->parameters.find(parameter);
      if (found != step->parameters.end()) parameters.emplace(*found);
    }
  }
  const algebra::OperatorInstance* made = library.find_instance(name, parameters, ranks);
  if (made == nullptr) return std::nullopt;  // the steps do not determine all parameters
  const auto& steps = made->composite;
  const bool is_match =
      !made->onnx.empty() && steps.size() == 2 && steps[0].instance == producer.id && steps[1].instance == last.id;
  return is_match ? std::optional(made->id) : std::nullopt;
}

}  // namespace rulemill::optimize
