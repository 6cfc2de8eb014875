#include "optimize/gpu/lowering/lowered_graph.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {
namespace {

class GraphLowering {
 public:
  GraphLowering(const GraphBank& bank, const GraphEvaluator::Sizes& sizes, OpaqueNodes opaque_nodes)
      : bank_(bank),
        sizes_(sizes),
        opaque_nodes_(opaque_nodes),
        evaluator_(bank, sizes, [](ValueId) -> GraphEvaluator::TensorPtr {
          throw runtime::Error("gpu", "a constant depends on an input");
        }) {}

  LoweredGraph run(std::span<const ValueId> outputs) {
    for (const NodeId id : bank_.live_nodes(outputs)) add(bank_.node(id));
    for (const ValueId output : outputs) result_.outputs.push_back({output, tensor_index(output)});
    return std::move(result_);
  }

 private:
  void add(const Node& node) {
    if (node.kind == Node::Kind::Constant || node.constant) return;  // added when it is used
    if (node.kind == Node::Kind::Opaque) return add_opaque(node);
    if (node.kind == Node::Kind::Input) {
      result_.inputs.push_back({node.outputs[0], add_leaf(node.outputs[0])});
      return;
    }
    std::vector<std::uint32_t> tensors;
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::optional<double>> values;
    for (const ValueId argument : node.arguments) {
      tensors.push_back(tensor_index(argument));
      shapes.push_back(result_.dims[tensors.back()]);
      values.push_back(constant_value(argument));
    }
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : evaluator_.dims(node.sizes)) sizes.push_back(size);
    const algebra::OperatorInstance& instance = bank_.instance(node);
    auto exprs = lower_instance(instance, shapes, sizes, bank_.symbols(), values);
    if (!exprs) throw runtime::Error("gpu", instance.name + " does not type at these sizes");
    for (TensorExpr& expr : exprs->computed) {
      expr.element = substitute(expr.element, {}, tensors, bank_.symbols());
      tensors.push_back(static_cast<std::uint32_t>(result_.dims.size()));
      result_.dims.push_back(expr.dims);
      result_.exprs.emplace_back(std::move(expr));
    }
    const std::size_t first = exprs->inputs + exprs->intermediates;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) tensors_[node.outputs[i]] = tensors[first + i];
  }

  void add_opaque(const Node& node) {
    if (opaque_nodes_ == OpaqueNodes::Rejected)
      throw runtime::Error("gpu", "no definition matches the node that computes '" + output_name(node) + "'");
    for (const ValueId output : node.outputs) {
      const ValueType& type = bank_.value(output).type;
      if (type && has_known_dims(*type)) result_.inputs.push_back({output, add_leaf(output), true});
    }
  }

  bool has_known_dims(const algebra::Shape& shape) const {
    return std::ranges::all_of(shape, [&](const algebra::Poly& dim) {
      return std::ranges::all_of(bank_.symbols().atoms(dim), [&](algebra::Atom atom) { return sizes_.contains(atom); });
    });
  }

  std::uint32_t tensor_index(ValueId id) {
    const auto found = tensors_.find(id);
    if (found != tensors_.end()) return found->second;
    const Node& node = bank_.node_of(id);
    if (node.kind == Node::Kind::Opaque)
      throw runtime::Error("gpu",
                           "the shape of '" + output_name(node) + "', an output of an opaque node, is not known");
    RM_CHECK(node.constant || node.kind == Node::Kind::Constant, "values must be computed before they are used");
    const std::uint32_t tensor = add_leaf(id);
    result_.constants.push_back({id, tensor});
    return tensor;
  }

  std::uint32_t add_leaf(ValueId id) {
    const ValueType& type = bank_.value(id).type;
    if (!type) throw runtime::Error("gpu", "the shape of '" + bank_.value(id).name + "' is not known");
    const auto tensor = static_cast<std::uint32_t>(result_.dims.size());
    result_.dims.push_back(evaluator_.dims(*type));
    result_.exprs.emplace_back();
    tensors_[id] = tensor;
    return tensor;
  }

  /// Returns the value of a constant scalar.
  std::optional<double> constant_value(ValueId id) {
    const Node& node = bank_.node_of(id);
    const ValueType& type = bank_.value(id).type;
    if (!(node.constant || node.kind == Node::Kind::Constant) || !type || !type->empty()) return std::nullopt;
    return evaluator_.value(id)->values.at(0);
  }

  std::string output_name(const Node& node) const {
    const std::string& name = bank_.value(node.outputs.at(0)).name;
    return name.empty() ? "an unnamed value" : name;
  }

  const GraphBank& bank_;
  const GraphEvaluator::Sizes& sizes_;
  OpaqueNodes opaque_nodes_;
  GraphEvaluator evaluator_;
  LoweredGraph result_;
  std::unordered_map<ValueId, std::uint32_t> tensors_;
};

}  // namespace

LoweredGraph lower_graph(const GraphBank& bank, std::span<const ValueId> outputs, const GraphEvaluator::Sizes& sizes,
                         OpaqueNodes opaque_nodes) {
  return GraphLowering(bank, sizes, opaque_nodes).run(outputs);
}

std::vector<std::uint32_t> tensors_read(const ElementExpr& element) {
  std::vector<std::uint32_t> reads;
  for_each_subexpr(element, [&](const ElementExpr& subexpr) {
    if (subexpr.kind == ElementExpr::Kind::Read && std::ranges::find(reads, subexpr.tensor) == reads.end())
      reads.push_back(subexpr.tensor);
  });
  return reads;
}

}  // namespace rulemill::optimize::gpu
