#include "optimize/fusion.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// Ways to open a term into a list of leaves, left to right: every argument stays or is opened once.
std::vector<std::vector<ValueId>> leaf_lists(const GraphBank& bank, const Node& root) {
  std::vector<std::vector<ValueId>> lists{{}};
  for (ValueId argument : root.arguments) {
    std::vector<std::vector<ValueId>> grown;
    for (const auto& list : lists) {
      grown.push_back(list);
      grown.back().push_back(argument);
      const Node& inner = bank.node_of(argument);
      if (inner.kind == Node::Kind::Algebra && !inner.arguments.empty()) {
        grown.push_back(list);
        grown.back().insert(grown.back().end(), inner.arguments.begin(), inner.arguments.end());
      }
    }
    lists = std::move(grown);
  }
  return lists;
}

/// Integer parameters of the nodes of a term, two levels deep.
std::vector<algebra::ParameterValue> integers_near(const GraphBank& bank, const Node& root) {
  std::vector<algebra::ParameterValue> found;
  auto add = [&](const Node& node) {
    if (node.kind != Node::Kind::Algebra) return;
    for (const auto& [name, value] : bank.instance(node).parameters) {
      if (std::holds_alternative<std::int64_t>(value) && std::ranges::find(found, value) == found.end()) {
        found.push_back(value);
      }
    }
  };
  add(root);
  for (ValueId argument : root.arguments) add(bank.node_of(argument));
  return found;
}

/// Values of parameters of this name of the same nodes: a composite hands its own on under their names.
std::vector<algebra::ParameterValue> values_near(const GraphBank& bank, const Node& root, const std::string& name) {
  std::vector<algebra::ParameterValue> found;
  auto add = [&](const Node& node) {
    if (node.kind != Node::Kind::Algebra) return;
    const algebra::Parameters& parameters = bank.instance(node).parameters;
    const auto own = parameters.find(name);
    if (own != parameters.end() && std::ranges::find(found, own->second) == found.end()) found.push_back(own->second);
  };
  add(root);
  for (ValueId argument : root.arguments) add(bank.node_of(argument));
  return found;
}

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

Fusion::Fusion(GraphBank& bank, Together together)
    : bank_(&bank), together_(std::move(together)), names_(bank.library().operator_names()) {}

bool Fusion::takes(algebra::InstanceId user, std::size_t place, algebra::InstanceId inner) const {
  const algebra::Instance &outer = bank_->library().instance(user), &other = bank_->library().instance(inner);
  if (together_.takes(outer, place, other)) return true;
  const bool same = place == 0 && other.operator_name == outer.operator_name && other.parameters == outer.parameters;
  return same && std::ranges::any_of(outer.onnx, [](const auto& mapping) { return mapping.variadic; });
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
  std::erase(lists, root.arguments);  // a composite has at least two steps
  std::optional<CompositeMatch> match;
  for (std::size_t i = 0; i < names_.size() && !match; ++i) {
    bool is_composite = true;
    for (std::size_t j = 0; j < lists.size() && !match && is_composite; ++j) {
      if (lists[j].size() == bank_->library().arity(names_[i]))
        match = try_leaves(names_[i], id, lists[j], is_composite);
    }
    if (!is_composite) names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(i--));
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
  std::vector<algebra::Parameters> choices{{}};
  for (const std::string& parameter : library.parameter_names(name)) {
    auto values = values_near(*bank_, bank_->node(root), parameter);
    if (values.empty()) values = library.domain(name, parameter, ranks);
    if (values.empty()) values = integers_near(*bank_, bank_->node(root));
    if (values.empty()) continue;  // its default, if it has one
    std::vector<algebra::Parameters> grown;
    for (const auto& chosen : choices) {
      for (const auto& value : values) {
        grown.push_back(chosen);
        grown.back()[parameter] = value;
      }
    }
    choices = std::move(grown);
  }
  for (const auto& parameters : choices) {
    try {
      const algebra::Instance& instance = library.instantiate(name, parameters, ranks);
      is_composite = !instance.composite.empty();
      if (!is_composite) return std::nullopt;
      if (auto match = match_steps(instance, root, leaves)) return match;
    } catch (const runtime::InputError&) {
      continue;  // a value that the operator does not take
    }
  }
  return std::nullopt;
}

std::optional<CompositeMatch> Fusion::match_steps(const algebra::Instance& composite, NodeId root,
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
    auto made = bank_->apply(step.instance, arguments, sizes);
    if (!made || *made > root) return std::nullopt;  // what the root uses was there before it
    last = *made;
    match.inner.push_back(last);
    values.push_back(bank_->node(last).outputs[0]);
  }
  if (last != root) return std::nullopt;
  match.inner.pop_back();
  return match;
}

bool Fusion::has_fused(algebra::InstanceId producer, algebra::InstanceId activation) {
  auto [entry, fresh] = fused_.emplace(std::pair(producer, activation), false);
  if (!fresh) return entry->second;
  algebra::Library& library = bank_->library();
  // Instantiating may move instances: no references are held across it.
  std::vector<std::string> words;
  for (const auto& mapping : library.instance(activation).onnx) words.push_back(mapping.op_type);
  if (library.instance(activation).inputs.size() != 1 || words.empty()) return false;
  const algebra::Instance made = library.instance(producer);
  std::vector<std::uint32_t> ranks;
  for (const auto& input : made.inputs) ranks.push_back(static_cast<std::uint32_t>(input.size()));
  for (const auto& [name, value] : made.parameters) {
    for (const auto& other : library.domain(made.operator_name, name, ranks)) {
      algebra::Parameters changed = made.parameters;
      changed[name] = other;
      const algebra::Instance* sibling = nullptr;
      try {
        sibling = &library.instantiate(made.operator_name, changed, ranks);
      } catch (const runtime::InputError&) {
        continue;
      }
      for (const auto& mapping : sibling->onnx) {
        if (mapping.wrapper && std::ranges::find(words, *mapping.wrapper) != words.end()) return entry->second = true;
      }
    }
  }
  return false;
}

bool Fusion::runs_inside(NodeId before, algebra::InstanceId activation) {
  const Node& node = bank_->node(before);
  if (node.kind != Node::Kind::Algebra || node.constant) return false;
  if (has_fused(node.instance, activation)) return true;
  const std::optional<CompositeMatch>& match = composite(before);
  return match && std::ranges::any_of(match->inner,
                                      [&](NodeId inner) { return has_fused(bank_->node(inner).instance, activation); });
}

std::optional<algebra::InstanceId> Fusion::composite_of(algebra::InstanceId producer, algebra::InstanceId last) {
  auto [entry, fresh] = composed_.emplace(std::pair(producer, last), std::nullopt);
  if (!fresh) return entry->second;
  algebra::Library& library = bank_->library();
  // Instantiating may move instances: these are copies.
  const algebra::Instance first = library.instance(producer), second = library.instance(last);
  if (second.inputs.empty() || first.outputs.size() != 1) return std::nullopt;
  for (const std::string& name : library.operator_names()) {
    if (const auto found = find_composite(first, second, name)) return entry->second = found;
  }
  return std::nullopt;
}

/// The composite takes what the producer takes, then the rest of what the last step takes.
std::optional<algebra::InstanceId> Fusion::find_composite(const algebra::Instance& producer,
                                                          const algebra::Instance& last, const std::string& name) {
  algebra::Library& library = bank_->library();
  std::vector<std::uint32_t> ranks;
  for (const auto& input : producer.inputs) ranks.push_back(static_cast<std::uint32_t>(input.size()));
  for (std::size_t i = 1; i < last.inputs.size(); ++i)
    ranks.push_back(static_cast<std::uint32_t>(last.inputs[i].size()));
  if (library.arity(name) != ranks.size() || !library.accepts_ranks(name, ranks)) return std::nullopt;
  algebra::Parameters parameters;
  for (const std::string& parameter : library.parameter_names(name)) {
    for (const algebra::Instance* step : {&producer, &last}) {
      const auto found = step->parameters.find(parameter);
      if (found != step->parameters.end()) parameters.emplace(*found);
    }
  }
  try {
    const algebra::Instance& made = library.instantiate(name, parameters, ranks);
    const auto& steps = made.composite;
    const bool says = steps.size() == 2 && steps[0].instance == producer.id && steps[1].instance == last.id;
    return says ? std::optional(made.id) : std::nullopt;
  } catch (const runtime::InputError&) {
    return std::nullopt;  // a parameter that the steps do not determine
  }
}

}  // namespace rulemill::optimize
