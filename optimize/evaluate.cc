#include "optimize/evaluate.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "optimize/rounding.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::optimize {

std::int64_t Evaluator::number(const algebra::Poly& poly) const {
  if (auto constant = poly.constant()) return *constant;
  return bank_->symbols().evaluate(poly, [&](algebra::Atom atom) {
    auto found = sizes_.find(atom);
    if (found == sizes_.end()) throw runtime::Error("evaluation", "no value for size " + bank_->symbols().name(atom));
    return found->second;
  });
}

std::vector<std::int64_t> Evaluator::dims(const algebra::Shape& shape) const {
  std::vector<std::int64_t> result;
  for (const algebra::Poly& dim : shape) result.push_back(number(dim));
  return result;
}

Evaluator::TensorPtr Evaluator::value(ValueId id) {
  TensorPtr result;
  run(std::span(&id, 1), [&](std::size_t, const TensorPtr& tensor) { result = tensor; });
  return result;
}

std::vector<NodeId> Evaluator::order(std::span<const ValueId> roots) const {
  std::unordered_set<NodeId> ends, placed;
  for (ValueId root : roots) ends.insert(bank_->value(root).node);
  std::vector<NodeId> result;
  for (NodeId id : bank_->live(roots)) {
    if (bank_->node(id).constant && !ends.contains(id)) continue;
    // The node, and what it needs that is computed from constants alone.
    const std::size_t first = result.size();
    placed.insert(id);
    result.push_back(id);
    for (std::size_t i = first; i < result.size(); ++i) {
      for (ValueId argument : bank_->node(result[i]).arguments) {
        const Node& made_by = bank_->node_of(argument);
        if (!made_by.constant || made_by.kind == Node::Kind::Constant) continue;
        if (placed.insert(bank_->value(argument).node).second) result.push_back(bank_->value(argument).node);
      }
    }
    std::sort(result.begin() + static_cast<std::ptrdiff_t>(first), result.end());
  }
  return result;
}

void Evaluator::run(std::span<const ValueId> roots,
                    const std::function<void(std::size_t root, const TensorPtr&)>& visit) {
  const std::vector<NodeId> nodes = order(roots);
  std::unordered_map<ValueId, std::size_t> uses;
  for (NodeId id : nodes) {
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
    for (ValueId used : node.arguments) {
      auto left = uses.find(used);
      if (left != uses.end() && --left->second == 0) values_.erase(used);
    }
  }
}

Evaluator::TensorPtr Evaluator::argument(ValueId id) const {
  const Node& node = bank_->node_of(id);
  return node.kind == Node::Kind::Constant ? bank_->tensor(node.source) : values_.at(id);
}

void Evaluator::compute(NodeId id) {
  const Node& node = bank_->node(id);
  if (node.kind == Node::Kind::Constant) {
    values_[node.outputs[0]] = bank_->tensor(node.source);
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
  for (const algebra::Poly& size : node.sizes) sizes.push_back(number(size));
  const bool exact = precision_ == Precision::Exact || bank_->value(node.outputs[0]).type.element == Element::Float64;
  auto outputs = algebra::run(bank_->library().functions(), bank_->instance(node), arguments, sizes,
                              exact ? algebra::Arithmetic::Float64 : algebra::Arithmetic::Float32);
  if (!outputs) throw runtime::Error("evaluation", bank_->instance(node).name + " does not type at these sizes");
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    algebra::Tensor& made = (*outputs)[i];
    if (precision_ == Precision::AsTyped) round_to(made, bank_->value(node.outputs[i]).type.element);
    values_[node.outputs[i]] = std::make_shared<algebra::Tensor>(std::move(made));
  }
}

namespace {

bool all_finite(const algebra::Tensor& tensor) {
  return std::ranges::all_of(tensor.values, [](double value) { return std::isfinite(value); });
}

/// Whether a constant that the value is computed from is itself not finite.
bool reads_infinity(const GraphBank& bank, ValueId id) {
  return std::ranges::any_of(bank.live(std::span(&id, 1)), [&](NodeId node) {
    return bank.node(node).kind == Node::Kind::Constant && !all_finite(*bank.tensor(bank.node(node).source));
  });
}

}  // namespace

namespace {

bool stays_finite(const algebra::Tensor& tensor, Element element) {
  return std::ranges::all_of(tensor.values, [&](double value) { return std::isfinite(rounded(value, element)); });
}

}  // namespace

ValueId ConstantFolder::folded(ValueId id) {
  const Node& node = bank_->node_of(id);
  if (node.kind != Node::Kind::Algebra || !node.constant) return id;
  if (const auto known = bank_->folded().find(id); known != bank_->folded().end()) return known->second;
  Evaluator evaluator(*bank_, {}, [](ValueId) -> Evaluator::TensorPtr {
    throw runtime::Error("constant folding", "a constant depends on an input");
  });
  const Element element = bank_->value(id).type.element;
  const Evaluator::TensorPtr tensor = evaluator.value(id);
  if (!stays_finite(*tensor, element) && !reads_infinity(*bank_, id)) {
    throw runtime::Error("constant folding", "finite weights would become infinite or no number");
  }
  const ValueId made = bank_->constant("rulemill_" + digest(*tensor).substr(0, 16), tensor, element);
  return bank_->folded().emplace(id, made).first->second;
}

}  // namespace rulemill::optimize
