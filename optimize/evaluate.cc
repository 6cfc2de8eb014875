#include "optimize/evaluate.h"

#include "runtime/error.h"

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
  if (auto found = values_.find(id); found != values_.end()) return found->second;
  // Arguments first, without recursion: models are deep.
  for (NodeId node : bank_->live(std::span(&id, 1))) {
    for (ValueId output : bank_->node(node).outputs) {
      if (!values_.contains(output)) {
        run(node);
        break;
      }
    }
  }
  return values_.at(id);
}

void Evaluator::run(NodeId id) {
  const Node& node = bank_->node(id);
  if (node.kind == Node::Kind::Constant) {
    values_[node.outputs[0]] = bank_->shared_tensor(node.source);
    return;
  }
  if (node.kind != Node::Kind::Algebra) {
    for (ValueId output : node.outputs) values_[output] = source_(output);
    return;
  }
  std::vector<const algebra::Tensor*> arguments;
  for (ValueId argument : node.arguments) arguments.push_back(values_.at(argument).get());
  std::vector<std::int64_t> sizes;
  for (const algebra::Poly& size : node.sizes) sizes.push_back(number(size));
  auto outputs = algebra::run(bank_->library(), bank_->instance(node), arguments, sizes);
  if (!outputs) throw runtime::Error("evaluation", bank_->instance(node).name + " does not type at these sizes");
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    values_[node.outputs[i]] = std::make_shared<algebra::Tensor>(std::move((*outputs)[i]));
  }
}

ConstantFolder::ConstantFolder(GraphBank& bank)
    : bank_(&bank), evaluator_(bank, {}, [](ValueId) -> Evaluator::TensorPtr {
        throw runtime::Error("constant folding", "a constant depends on an input");
      }) {}

ValueId ConstantFolder::folded(ValueId id) {
  const Node& node = bank_->node_of(id);
  if (node.kind != Node::Kind::Algebra || !node.constant) return id;
  auto [entry, fresh] = folded_.try_emplace(id, id);
  if (fresh) {
    auto tensor = evaluator_.value(id);
    entry->second = bank_->constant("rulemill_" + digest(*tensor).substr(0, 16), tensor);
  }
  return entry->second;
}

}  // namespace rulemill::optimize
