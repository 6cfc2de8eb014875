#include "optimize/model/evaluate.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "optimize/model/rounding.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {

std::int64_t GraphEvaluator::evaluate(const algebra::Poly& poly) const {
  if (auto constant = poly.constant()) return *constant;
  return bank_->symbols().evaluate(poly, [&](algebra::Atom atom) {
    auto found = sizes_.find(atom);
    if (found == sizes_.end()) throw runtime::Error("evaluation", "no value for size " + bank_->symbols().name(atom));
    return found->second;
  });
}

std::vector<std::int64_t> GraphEvaluator::dims(const algebra::Shape& shape) const {
  std::vector<std::int64_t> result;
  for (const algebra::Poly& dim : shape) result.push_back(evaluate(dim));
  return result;
}

GraphEvaluator::TensorPtr GraphEvaluator::value(ValueId id) {
  TensorPtr result;
  run(std::span(&id, 1), [&](std::size_t, const TensorPtr& tensor) { result = tensor; });
  return result;
}

GraphEvaluator::TensorPtr GraphEvaluator::kept_value(ValueId id) {
  for (const NodeId node : bank_->live_nodes({&id, 1})) {
    if (is_kept(bank_->node(node).outputs[0])) continue;
    runtime::throw_if_interrupted("evaluation");
    compute(node);
  }
  return values_.at(id);
}

std::size_t GraphEvaluator::kept_elements() const {
  std::size_t count = 0;
  for (const auto& [id, tensor] : values_) count += tensor->values.size();
  return count;
}

std::vector<NodeId> GraphEvaluator::evaluation_order(std::span<const ValueId> roots) const {
  std::unordered_set<NodeId> root_nodes, added;
  for (ValueId root : roots) root_nodes.insert(bank_->value(root).node);
  // What only opaque nodes need is not computed: their outputs come from the source.
  std::unordered_set<NodeId> needed = root_nodes;
  std::vector<NodeId> open(root_nodes.begin(), root_nodes.end());
  while (!open.empty()) {
    const Node& node = bank_->node(open.back());
    open.pop_back();
    if (node.kind != Node::Kind::Algebra) continue;
    for (ValueId argument : node.arguments) {
      if (needed.insert(bank_->value(argument).node).second) open.push_back(bank_->value(argument).node);
    }
  }
  std::vector<NodeId> result;
  for (NodeId id : bank_->live_nodes(roots)) {
    if (!needed.contains(id) || (bank_->node(id).constant && !root_nodes.contains(id))) continue;
    // The node, preceded by the nodes that it needs and that depend on constants only.
    const std::size_t first = result.size();
    added.insert(id);
    result.push_back(id);
    for (std::size_t i = first; i < result.size(); ++i) {
      if (bank_->node(result[i]).kind != Node::Kind::Algebra) continue;
      for (ValueId argument : bank_->node(result[i]).arguments) {
        const Node& producer = bank_->node_of(argument);
        if (!producer.constant || producer.kind == Node::Kind::Constant) continue;
        if (added.insert(bank_->value(argument).node).second) result.push_back(bank_->value(argument).node);
      }
    }
    std::sort(result.begin() + static_cast<std::ptrdiff_t>(first), result.end());
  }
  return result;
}

void GraphEvaluator::run(std::span<const ValueId> roots,
                         const std::function<void(std::size_t root, const TensorPtr&)>& visit) {
  const std::vector<NodeId> nodes = evaluation_order(roots);
  std::unordered_map<ValueId, std::size_t> uses;
  for (NodeId id : nodes) {
    if (bank_->node(id).kind != Node::Kind::Algebra) continue;
    for (ValueId used : bank_->node(id).arguments) {
      if (bank_->node_of(used).kind != Node::Kind::Constant) ++uses[used];
    }
  }
  std::unordered_multimap<ValueId, std::size_t> wanted;
  for (std::size_t i = 0; i < roots.size(); ++i) wanted.emplace(roots[i], i);
  for (NodeId id : nodes) {
    runtime::throw_if_interrupted("evaluation");
    compute(id);
    const Node& node = bank_->node(id);
    for (ValueId output : node.outputs) {
      auto [first, last] = wanted.equal_range(output);
      for (auto root = first; root != last; ++root) visit(root->second, values_.at(output));
      if (!uses.contains(output)) values_.erase(output);
    }
    if (node.kind != Node::Kind::Algebra) continue;
    for (ValueId used : node.arguments) {
      auto left = uses.find(used);
      if (left != uses.end() && --left->second == 0) values_.erase(used);
    }
  }
}

GraphEvaluator::TensorPtr GraphEvaluator::argument(ValueId id) const {
  const Node& node = bank_->node_of(id);
  return node.kind == Node::Kind::Constant ? stored(node) : values_.at(id);
}

GraphEvaluator::TensorPtr GraphEvaluator::stored(const Node& node) const {
  TensorPtr tensor = bank_->tensor(node.source);
  if (!constant_errors_ || !is_float(bank_->value(node.outputs[0]).type.data_type)) return tensor;
  auto rounded = std::make_shared<algebra::Tensor>(*tensor);
  rounded->errors = constant_errors_(*tensor);
  return rounded;
}

namespace {

void perturb(algebra::Tensor& tensor, double roundoff, std::uint64_t seed) {
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const std::uint64_t numbers[] = {seed, i};
    tensor.values[i] *= (runtime::hash64(runtime::bytes_of(numbers)) & 1) == 0 ? 1 - roundoff : 1 + roundoff;
  }
}

}  // namespace

void GraphEvaluator::compute(NodeId id) {
  const Node& node = bank_->node(id);
  if (node.kind == Node::Kind::Constant) {
    values_[node.outputs[0]] = stored(node);
    return;
  }
  if (node.kind != Node::Kind::Algebra) {
    for (ValueId output : node.outputs) values_[output] = source_(output);
    return;
  }
  std::vector<TensorPtr> held;
  std::vector<const algebra::Tensor*> arguments;
  for (ValueId used : node.arguments) {
    held.push_back(argument(used));
    arguments.push_back(held.back().get());
  }
  std::vector<std::int64_t> sizes;
  for (const algebra::Poly& size : node.sizes) sizes.push_back(evaluate(size));
  using algebra::Arithmetic;
  const bool in_float64 =
      precision_ == Precision::Float64 || bank_->value(node.outputs[0]).type.data_type == DataType::Float64;
  const Arithmetic arithmetic = precision_ == Precision::Tracked ? Arithmetic::Tracked
                                : in_float64                     ? Arithmetic::Float64
                                                                 : Arithmetic::Float32;
  auto outputs =
      algebra::run_reference(bank_->library().functions(), bank_->instance(node), arguments, sizes, arithmetic);
  if (!outputs) throw runtime::Error("evaluation", bank_->instance(node).name + " is ill-typed at these sizes");
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    algebra::Tensor& output = (*outputs)[i];
    const DataType type = bank_->value(node.outputs[i]).type.data_type;
    if (precision_ == Precision::AsTyped || precision_ == Precision::Perturbed) round_to(output, type);
    if (precision_ == Precision::Perturbed) perturb(output, unit_roundoff(type), index(node.outputs[i]));
    values_[node.outputs[i]] = std::make_shared<algebra::Tensor>(std::move(output));
  }
}

namespace {

bool is_finite_in(DataType type, const algebra::Tensor& tensor) {
  return std::ranges::all_of(tensor.values, [&](double value) { return std::isfinite(rounded(value, type)); });
}

/// Returns true if a constant that the value is computed from has an infinite or NaN element.
bool depends_on_nonfinite(const GraphBank& bank, ValueId id) {
  return std::ranges::any_of(bank.live_nodes(std::span(&id, 1)), [&](NodeId node) {
    return bank.node(node).kind == Node::Kind::Constant &&
           !is_finite_in(DataType::Float64, *bank.tensor(bank.node(node).source));
  });
}

}  // namespace

ValueId ConstantFolder::fold(ValueId id) {
  const Node& node = bank_->node_of(id);
  if (node.kind != Node::Kind::Algebra || !node.constant) return id;
  if (const auto known = bank_->folded_constants().find(id); known != bank_->folded_constants().end())
    return known->second;
  GraphEvaluator evaluator(*bank_, {}, [](ValueId) -> GraphEvaluator::TensorPtr {
    throw runtime::Error("constant folding", "a constant depends on an input");
  });
  const DataType data_type = bank_->value(id).type.data_type;
  const GraphEvaluator::TensorPtr tensor = evaluator.value(id);
  if (!is_finite_in(data_type, *tensor) && !depends_on_nonfinite(*bank_, id)) {
    throw runtime::Error("constant folding", "finite weights would become infinite or NaN");
  }
  const ValueId folded = bank_->constant("rulemill_" + digest(*tensor).substr(0, 16), tensor, data_type);
  return bank_->folded_constants().emplace(id, folded).first->second;
}

}  // namespace rulemill::optimize
