#include "optimize/cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace rulemill::optimize {
namespace {

double function_flops(const algebra::Function& function) {
  using Op = algebra::Function::Op;
  constexpr Op free[] = {Op::Argument, Op::Number};
  constexpr Op slow[] = {Op::Exp, Op::Log, Op::Sqrt, Op::Tanh, Op::Erf,  Op::Power,
                         Op::Sin, Op::Cos, Op::Asin, Op::Acos, Op::Atan, Op::Div};
  const auto is_among = [](std::span<const Op> all, Op op) { return std::ranges::find(all, op) != all.end(); };
  double flops = 0;
  for (const auto& node : function.program) flops += is_among(slow, node.op) ? 8 : is_among(free, node.op) ? 0 : 1;
  return flops;
}

struct Flops {
  double product = 0, window = 0, scalar = 0;  // windows are part of the products
};

/// Indices of more than one value from which on a sum is over a window: channels, rows and columns of an image.
constexpr int window_indices = 3;

/// Returns the arithmetic of one element. Operations inside of reductions count as products.
Flops element_flops(const algebra::Library& library, const algebra::ScalarExpr& expr,
                    std::span<const std::int64_t> sizes) {
  using Kind = algebra::ScalarExpr::Kind;
  Flops total;
  for (std::size_t i = 0; i < expr.operands.size(); ++i) {
    Flops inner = element_flops(library, *expr.operands[i], sizes);
    const auto join = [&](double& all, double one) { all = expr.kind == Kind::Case ? std::max(all, one) : all + one; };
    join(total.product, inner.product);
    join(total.window, inner.window);
    join(total.scalar, inner.scalar);
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
      int indices = 0;
      for (const auto& bound : expr.bound) {
        const std::int64_t extent = algebra::evaluate(*bound.extent, sizes, {});
        points *= static_cast<double>(extent);
        indices += extent > 1;
      }
      const double flops = points * (total.product + total.scalar + 1);
      return {flops, indices >= window_indices ? flops : 0, 0};
    }
    default:
      break;
  }
  return total;
}

}  // namespace

std::optional<Work> work_of(const algebra::Library& library, const algebra::OperatorInstance& instance,
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
    work.window_flops += elements * flops.window;
    work.scalar_flops += elements * flops.scalar;
    work.bytes += passes * elements * sizeof(float);
    work.output_elements += elements;
  };
  for (const auto& tensor : instance.intermediates) add(tensor, 2);
  for (const auto& tensor : instance.outputs) add(tensor, 1);
  for (const auto& input : inputs) work.bytes += count_elements(input) * sizeof(float);
  return work;
}

double roofline_seconds(const Work& work, const DeviceModel& device) {
  double occupancy = std::min(1.0, work.output_elements / device.full_occupancy_elements);
  double arithmetic =
      ((work.product_flops - work.window_flops) / device.peak_flops +
       work.window_flops / device.window_flops.value_or(device.peak_flops) + work.scalar_flops / device.scalar_flops) /
      std::max(occupancy, 1e-6);
  return std::max(arithmetic, work.bytes / device.bandwidth) + device.overhead;
}

std::int64_t CostModel::evaluate(const algebra::Poly& poly) const {
  if (auto constant = poly.constant()) return *constant;
  return std::max<std::int64_t>(1, bank_->symbols().evaluate(poly, [&](algebra::Atom atom) {
    auto found = sizes_.find(atom);
    return found == sizes_.end() ? default_size : found->second;
  }));
}

std::vector<std::int64_t> CostModel::evaluate(std::span<const algebra::Poly> polys) const {
  std::vector<std::int64_t> result;
  for (const algebra::Poly& poly : polys) result.push_back(evaluate(poly));
  return result;
}

CostQuery CostModel::query_of(const IsolatedNode& node) const {
  CostQuery query{node.instance, {}, node.constant, evaluate(node.sizes), {}};
  for (const algebra::Shape& shape : node.arguments) query.inputs.push_back(evaluate(shape));
  return query;
}

double CostModel::isolated_seconds(const IsolatedNode& node) const {
  const CostQuery query = query_of(node);
  if (source_ != nullptr) {
    if (const auto measured = source_->seconds(query)) return *measured;
  }
  const algebra::OperatorInstance& instance = bank_->library().instance(node.instance);
  const auto work = work_of(bank_->library(), instance, query.inputs, query.sizes);
  if (!work) return std::numeric_limits<double>::infinity();
  if (device_.calibration) {
    const auto measured = device_.calibration->seconds(instance, query.inputs, query.constant, work->output_elements);
    if (measured) return *measured + device_.overhead;
  }
  // Otherwise a convolution that does nothing would be cheaper than an operator that is only a pass.
  const double pass = device_.calibration ? device_.calibration->pass_seconds(work->bytes) : 0;
  return std::max(roofline_seconds(*work, device_), pass + device_.overhead);
}

double CostModel::operations(std::span<const ValueId> outputs) const {
  double total = 0;
  for (NodeId id : bank_->live_nodes(outputs)) {
    const Node& node = bank_->node(id);
    if (node.kind != Node::Kind::Algebra || node.constant) continue;
    const CostQuery query = query_of(isolated(node));
    const auto work = work_of(bank_->library(), bank_->instance(node), query.inputs, query.sizes);
    if (work) total += work->product_flops + work->scalar_flops;
  }
  return total;
}

double CostModel::fused_activation_seconds(const IsolatedNode& producer, algebra::InstanceId activation) const {
  if (source_ == nullptr) return 0;
  CostQuery query = query_of(producer);
  const auto before = source_->seconds(query);
  query.activation = activation;
  const auto fused = source_->seconds(query);
  return before && fused ? std::max(0.0, *fused - *before) : 0;
}

std::optional<double> CostModel::calibrated_seconds(const std::string& name, const IsolatedNode& node) const {
  if (!device_.calibration) return std::nullopt;
  double elements = 0;
  for (const std::vector<std::int64_t>& input : query_of(node).inputs)
    elements = std::max(elements, count_elements(input));
  const auto measured = device_.calibration->seconds(name, elements);
  return measured ? std::optional(*measured + device_.overhead) : std::nullopt;
}

std::optional<double> CostModel::slower_pair_seconds(const IsolatedNode& last, const IsolatedNode& inner) const {
  const std::string* name = fusion_->slower_pair(last.instance, inner.instance);
  if (name == nullptr) return std::nullopt;
  const auto measured = calibrated_seconds(*name, inner);
  if (!measured) return std::nullopt;
  return std::max(isolated_seconds(last), *measured - isolated_seconds(inner));
}

double CostModel::one_pass_seconds(const std::string& pattern, const IsolatedNode& last) const {
  const auto measured = source_ == nullptr ? calibrated_seconds(pattern, last) : std::nullopt;
  return measured ? *measured : isolated_seconds(last);
}

CostModel::IsolatedNode CostModel::isolated(const Node& node) const {
  IsolatedNode result{node.instance, {}, {}, node.sizes};
  for (ValueId argument : node.arguments) {
    result.arguments.push_back(bank_->value(argument).type.value_or(algebra::Shape()));
    result.constant.push_back(bank_->node_of(argument).constant);
  }
  return result;
}

double CostModel::compute(const Node& node) const {
  if (node.constant || node.kind == Node::Kind::Input || node.kind == Node::Kind::Constant) return 0;
  const auto type_of = [&](ValueId id) { return bank_->value(id).type.value_or(algebra::Shape()); };
  if (node.kind == Node::Kind::Algebra) {
    const double seconds = isolated_seconds(isolated(node));
    if (std::isfinite(seconds)) return seconds;
  }
  // An opaque node is charged for its inputs and outputs only.
  Work work;
  for (ValueId argument : node.arguments) work.bytes += count_elements(evaluate(type_of(argument))) * sizeof(float);
  for (ValueId output : node.outputs) work.bytes += count_elements(evaluate(type_of(output))) * sizeof(float);
  work.output_elements = device_.full_occupancy_elements;
  return roofline_seconds(work, device_);
}

double CostModel::node_seconds(NodeId id) {
  auto found = seconds_.find(id);
  if (found == seconds_.end()) found = seconds_.emplace(id, compute(bank_->node(id))).first;
  return found->second;
}

bool CostModel::absorbs_argument(const Node& node, std::size_t position) const {
  const Node& inner = bank_->node_of(node.arguments[position]);
  if (node.kind != Node::Kind::Algebra || node.constant || inner.kind != Node::Kind::Algebra) return false;
  return fusion_->absorbs_operand(node.instance, position, inner.instance);
}

std::optional<double> CostModel::fused_seconds(NodeId id, const std::unordered_map<ValueId, std::uint32_t>& uses) {
  const Node node = bank_->node(id);
  if (node.kind != Node::Kind::Algebra || node.constant || node.arguments.empty()) return std::nullopt;
  auto used_once = [&](const Node& inner) {
    auto found = uses.find(inner.outputs[0]);
    return inner.outputs.size() == 1 && found != uses.end() && found->second == 1;
  };
  if (const auto& match = fusion_->composite(id)) {
    double inner_seconds = 0;  // less than the last step's if these only rearrange one of its operands
    for (const NodeId inner : match->inner) inner_seconds += node_seconds(inner);
    if (std::ranges::all_of(match->inner, [&](NodeId inner) { return used_once(bank_->node(inner)); }))
      return std::max(0.0, node_seconds(id) - inner_seconds);
  }
  if (node.arguments.size() != 1) return std::nullopt;
  // An activation of a producer, or of a composite with the producer as a step.
  const NodeId before = bank_->value(node.arguments[0]).node;
  const Node producer = bank_->node(before);
  if (producer.kind != Node::Kind::Algebra || !used_once(producer)) return std::nullopt;
  if (fusion_->has_fused_activation(producer.instance, node.instance))
    return fused_activation_seconds(isolated(producer), node.instance);
  const std::optional<CompositeMatch> match = fusion_->composite(before);
  const auto fuses = [&](NodeId inner) {
    return used_once(bank_->node(inner)) && fusion_->has_fused_activation(bank_->node(inner).instance, node.instance);
  };
  if (!match || std::ranges::none_of(match->inner, fuses)) return std::nullopt;
  Node whole = producer;
  whole.instance = match->composite;
  whole.arguments = match->inputs;
  whole.sizes = match->sizes;
  return fused_activation_seconds(isolated(whole), node.instance);
}

/// As slower_pair_seconds(), for a node of a graph.
std::optional<double> CostModel::slower_seconds(const Node& node,
                                                const std::unordered_map<ValueId, std::uint32_t>& uses) const {
  if (node.kind != Node::Kind::Algebra || node.constant || node.arguments.empty()) return std::nullopt;
  const Node& inner = bank_->node_of(node.arguments[0]);
  if (inner.kind != Node::Kind::Algebra || inner.constant || uses.at(node.arguments[0]) != 1) return std::nullopt;
  return slower_pair_seconds(isolated(node), isolated(inner));
}

/// As Fusion::one_pass(), unless an inner node has another user.
std::optional<Fusion::OnePassNodes> CostModel::one_pass(NodeId last,
                                                        const std::unordered_map<ValueId, std::uint32_t>& uses) const {
  auto group = fusion_->one_pass(last);
  const auto is_used_once = [&](NodeId inner) { return uses.at(bank_->node(inner).outputs[0]) == 1; };
  return group && std::ranges::all_of(group->inner, is_used_once) ? group : std::nullopt;
}

void CostModel::for_each_node(std::span<const ValueId> outputs, const std::function<void(NodeId, double)>& report) {
  auto nodes = bank_->live_nodes(outputs);
  auto uses = count_uses(*bank_, nodes, outputs);
  std::unordered_set<NodeId> free;
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node node = bank_->node(*id);
    for (std::size_t position = 0; position < node.arguments.size(); ++position) {
      const ValueId argument = node.arguments[position];
      if (uses[argument] == 1 && absorbs_argument(node, position)) free.insert(bank_->value(argument).node);
    }
    if (free.contains(*id)) {
      report(*id, 0);
    } else if (const auto group = one_pass(*id, uses)) {
      free.insert(group->inner.begin(), group->inner.end());
      report(*id, one_pass_seconds(group->pattern, isolated(node)));
    } else {
      std::optional<double> fused = fused_seconds(*id, uses);
      if (!fused) fused = slower_seconds(node, uses);
      report(*id, fused ? *fused : node_seconds(*id));
    }
  }
}

double CostModel::graph_seconds(std::span<const ValueId> outputs) {
  double total = 0;
  for_each_node(outputs, [&](NodeId, double seconds) { total += seconds; });
  return total;
}

std::unordered_map<NodeId, double> CostModel::node_costs(std::span<const ValueId> outputs) {
  std::unordered_map<NodeId, double> costs;
  for_each_node(outputs, [&](NodeId id, double seconds) { costs.emplace(id, seconds); });
  return costs;
}

}  // namespace rulemill::optimize
