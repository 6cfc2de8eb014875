#include "optimize/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rulemill::optimize {

namespace {

double function_flops(const algebra::Function& function) {
  double flops = 0;
  for (const auto& node : function.real) {
    using Op = algebra::Function::Op;
    switch (node.op) {
      case Op::Argument:
      case Op::Number:
        break;
      case Op::Exp:
      case Op::Log:
      case Op::Sqrt:
      case Op::Tanh:
      case Op::Erf:
      case Op::Div:
        flops += 8;
        break;
      default:
        flops += 1;
    }
  }
  return flops;
}

struct Flops {
  double product = 0, scalar = 0;
};

/// Arithmetic of one element. What is inside a reduction runs at the device's product speed.
Flops element_flops(const algebra::Library& library, const algebra::ScalarExpr& expr,
                    std::span<const std::int64_t> sizes) {
  using Kind = algebra::ScalarExpr::Kind;
  Flops total;
  for (std::size_t i = 0; i < expr.operands.size(); ++i) {
    Flops inner = element_flops(library, *expr.operands[i], sizes);
    if (expr.kind == Kind::Case) {
      total.product = std::max(total.product, inner.product);
      total.scalar = std::max(total.scalar, inner.scalar);
    } else {
      total.product += inner.product;
      total.scalar += inner.scalar;
    }
  }
  switch (expr.kind) {
    case Kind::Add:
    case Kind::Mul:
      total.scalar += static_cast<double>(expr.operands.size()) - 1;
      break;
    case Kind::Apply:
      total.scalar += function_flops(library.functions()[expr.function]);
      break;
    case Kind::Sum:
    case Kind::Max: {
      double points = 1;
      for (const auto& bound : expr.bound) {
        points *= static_cast<double>(algebra::evaluate(*bound.extent, sizes, {}));
      }
      return {points * (total.product + total.scalar + 1), 0};
    }
    default:
      break;
  }
  return total;
}

double element_count(std::span<const std::int64_t> shape) {
  double count = 1;
  for (std::int64_t dim : shape) count *= static_cast<double>(dim);
  return count;
}

}  // namespace

std::optional<Work> work_of(const algebra::Library& library, const algebra::Instance& instance,
                            std::span<const std::vector<std::int64_t>> inputs,
                            std::span<const std::int64_t> size_parameters) {
  std::vector<std::int64_t> sizes;
  auto outputs = algebra::infer(instance, inputs, size_parameters, &sizes);
  if (!outputs) return std::nullopt;
  Work work;
  auto add = [&](const algebra::TensorDefinition& tensor, double passes) {
    double elements = 1;
    for (const auto& dim : tensor.dims) elements *= static_cast<double>(algebra::evaluate(*dim, sizes, {}));
    Flops flops = element_flops(library, *tensor.body, sizes);
    work.product_flops += elements * flops.product;
    work.scalar_flops += elements * flops.scalar;
    work.bytes += passes * elements * sizeof(float);
    work.output_elements += elements;
  };
  for (const auto& tensor : instance.intermediates) add(tensor, 2);
  for (const auto& tensor : instance.outputs) add(tensor, 1);
  for (const auto& input : inputs) work.bytes += element_count(input) * sizeof(float);
  return work;
}

double seconds_for(const Work& work, const Device& device) {
  double busy = std::min(1.0, work.output_elements / device.busy_elements);
  double arithmetic =
      (work.product_flops / device.peak_flops + work.scalar_flops / device.scalar_flops) / std::max(busy, 1e-6);
  return std::max(arithmetic, work.bytes / device.bandwidth) + device.overhead;
}

std::int64_t CostModel::number(const algebra::Poly& poly) const {
  if (auto constant = poly.constant()) return *constant;
  return std::max<std::int64_t>(1, bank_->symbols().evaluate(poly, [&](algebra::Atom atom) {
    auto found = sizes_.find(atom);
    return found == sizes_.end() ? default_size : found->second;
  }));
}

std::vector<std::int64_t> CostModel::numbers(std::span<const algebra::Poly> polys) const {
  std::vector<std::int64_t> result;
  for (const algebra::Poly& poly : polys) result.push_back(number(poly));
  return result;
}

double CostModel::instance_seconds(algebra::InstanceId instance, std::span<const algebra::Shape> arguments,
                                   std::span<const algebra::Poly> sizes) const {
  std::vector<std::vector<std::int64_t>> inputs;
  for (const algebra::Shape& shape : arguments) inputs.push_back(numbers(shape));
  const auto work = work_of(bank_->library(), bank_->library().instance(instance), inputs, numbers(sizes));
  return work ? seconds_for(*work, device_) : std::numeric_limits<double>::infinity();
}

double CostModel::compute(const Node& node) const {
  if (node.constant || node.kind == Node::Kind::Input || node.kind == Node::Kind::Constant) return 0;
  const auto type_of = [&](ValueId id) { return bank_->value(id).type.value_or(algebra::Shape()); };
  if (node.kind == Node::Kind::Algebra) {
    std::vector<algebra::Shape> arguments;
    for (ValueId argument : node.arguments) arguments.push_back(type_of(argument));
    const double seconds = instance_seconds(node.instance, arguments, node.sizes);
    if (std::isfinite(seconds)) return seconds;
  }
  // Nothing is known of it but what goes in and out.
  Work work;
  for (ValueId argument : node.arguments) work.bytes += element_count(numbers(type_of(argument))) * sizeof(float);
  for (ValueId output : node.outputs) work.bytes += element_count(numbers(type_of(output))) * sizeof(float);
  work.output_elements = device_.busy_elements;
  return seconds_for(work, device_);
}

double CostModel::node_seconds(NodeId id) {
  auto found = seconds_.find(id);
  if (found == seconds_.end()) found = seconds_.emplace(id, compute(bank_->node(id))).first;
  return found->second;
}

bool CostModel::folds_into_user(const Node& node, const Node& inner) const {
  if (inner.kind != Node::Kind::Algebra) return false;
  const algebra::Instance& outer = bank_->instance(node);
  if (bank_->instance(inner).operator_name != outer.operator_name) return false;
  if (bank_->instance(inner).parameters != outer.parameters) return false;
  return std::ranges::any_of(outer.onnx, [](const auto& mapping) { return mapping.variadic; });
}

bool CostModel::runs_elsewhere(NodeId id, const std::unordered_map<ValueId, std::uint32_t>& uses) {
  const Node& node = bank_->node(id);
  if (node.kind != Node::Kind::Algebra || node.constant || node.arguments.empty()) return false;
  auto used_once = [&](const Node& inner) {
    auto found = uses.find(inner.outputs[0]);
    return inner.outputs.size() == 1 && found != uses.end() && found->second == 1;
  };
  if (const auto& match = fusion_->composite(id)) {
    if (std::ranges::all_of(match->inner, [&](NodeId inner) { return used_once(bank_->node(inner)); })) return true;
  }
  if (bank_->node(id).arguments.size() != 1) return false;
  // An activation on a producer, or on a composite whose step is that producer.
  const algebra::InstanceId activation = bank_->node(id).instance;
  NodeId producer = bank_->value(bank_->node(id).arguments[0]).node;
  if (bank_->node(producer).kind != Node::Kind::Algebra || !used_once(bank_->node(producer))) return false;
  if (fusion_->has_fused(bank_->node(producer).instance, activation)) return true;
  const auto& match = fusion_->composite(producer);
  return match && std::ranges::any_of(match->inner, [&](NodeId inner) {
           return used_once(bank_->node(inner)) && fusion_->has_fused(bank_->node(inner).instance, activation);
         });
}

void CostModel::visit(std::span<const ValueId> outputs, const std::function<void(NodeId, double)>& report) {
  auto nodes = bank_->live(outputs);
  auto uses = count_uses(*bank_, nodes, outputs);
  std::unordered_map<NodeId, bool> folded;
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node node = bank_->node(*id);
    if (node.kind == Node::Kind::Algebra && !node.constant && !node.arguments.empty()) {
      const Node& inner = bank_->node_of(node.arguments[0]);
      if (uses[node.arguments[0]] == 1 && folds_into_user(node, inner)) {
        folded[bank_->value(node.arguments[0]).node] = true;
      }
    }
    bool free = folded.contains(*id) || runs_elsewhere(*id, uses);
    report(*id, free ? 0 : node_seconds(*id));
  }
}

double CostModel::graph_seconds(std::span<const ValueId> outputs) {
  double total = 0;
  visit(outputs, [&](NodeId, double seconds) { total += seconds; });
  return total;
}

std::unordered_map<NodeId, double> CostModel::node_costs(std::span<const ValueId> outputs) {
  std::unordered_map<NodeId, double> costs;
  visit(outputs, [&](NodeId id, double seconds) { costs.emplace(id, seconds); });
  return costs;
}

}  // namespace rulemill::optimize
