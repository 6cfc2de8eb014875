#include "optimize/model/graph.h"

#include <algorithm>
#include <utility>

#include "optimize/model/rounding.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

void mix(std::size_t& seed, std::size_t value) { seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2); }

bool is_same_node(const Node& a, const Node& b) {
  return a.kind == b.kind && a.source == b.source && a.instance == b.instance && a.arguments == b.arguments &&
         a.sizes == b.sizes && a.real_type == b.real_type;
}

/// Elements of a folded node's outputs, at most; or as a multiple of those of the largest constant.
constexpr double max_folded_elements = 1 << 20;
constexpr double max_folded_growth = 4;

double element_count(const ValueType& type) {
  double count = 1;
  for (const algebra::Poly& dim : *type) count *= static_cast<double>(dim.constant().value_or(1));
  return count;
}

std::uint32_t intern_name(std::unordered_map<std::string, std::uint32_t>& table, const std::string& key) {
  return table.emplace(key, static_cast<std::uint32_t>(table.size())).first->second;
}

}  // namespace

std::optional<std::vector<std::int64_t>> constant_dims(const algebra::Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const algebra::Poly& dim : shape) {
    auto number = dim.constant();
    if (!number) return std::nullopt;
    dims.push_back(*number);
  }
  return dims;
}

std::string digest(const algebra::Tensor& tensor) {
  std::uint64_t shape = runtime::hash64(runtime::bytes_of(tensor.shape));
  return runtime::to_hex(runtime::hash128(runtime::bytes_of(tensor.values), shape));
}

namespace {

/// Returns true if the expression is an element of a tensor, or zero.
bool only_reads(const algebra::ScalarExpr& expr) {
  using Kind = algebra::ScalarExpr::Kind;
  if (expr.kind == Kind::Case) return std::ranges::all_of(expr.operands, [](const auto& e) { return only_reads(*e); });
  return expr.kind == Kind::Read || (expr.kind == Kind::Constant && expr.value.num == 0);
}

bool only_moves(const algebra::OperatorInstance& instance) {
  return instance.intermediates.empty() &&
         std::ranges::all_of(instance.outputs, [](const auto& output) { return only_reads(*output.body); });
}

}  // namespace

std::optional<std::vector<DataType>> infer_data_types(const algebra::OperatorInstance& instance,
                                                      std::span<const DataType> inputs, DataType real_type) {
  using algebra::ScalarKind;
  std::optional<DataType> real;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ScalarKind wanted = instance.input_scalar_kinds[i];
    if (wanted != ScalarKind::Real) {
      if (inputs[i] != (wanted == ScalarKind::Bool ? DataType::Bool : DataType::Integer)) return std::nullopt;
      continue;
    }
    if (real.value_or(inputs[i]) != inputs[i]) return std::nullopt;
    real = inputs[i];
  }
  const DataType found = real.value_or(real_type);
  if (!is_float(found) && !(found == DataType::Bool && only_moves(instance))) return std::nullopt;
  std::vector<DataType> outputs;
  for (const algebra::TensorDefinition& output : instance.outputs) {
    outputs.push_back(output.scalar_kind == ScalarKind::Bool  ? DataType::Bool
                      : output.scalar_kind == ScalarKind::Int ? DataType::Integer
                                                              : found);
  }
  return outputs;
}

bool has_real_input(const algebra::OperatorInstance& instance) {
  return std::ranges::find(instance.input_scalar_kinds, algebra::ScalarKind::Real) != instance.input_scalar_kinds.end();
}

std::size_t GraphBank::hash(const Node& node) const {
  std::size_t seed = static_cast<std::size_t>(node.kind) + 1;
  mix(seed, node.source);
  mix(seed, static_cast<std::size_t>(node.instance));
  for (ValueId argument : node.arguments) mix(seed, index(argument));
  for (const algebra::Poly& size : node.sizes) mix(seed, size.hash());
  return seed;
}

NodeId GraphBank::intern(Node node, std::span<const ValueType> types) {
  std::vector<NodeId>& bucket = index_[hash(node)];
  for (NodeId id : bucket) {
    if (is_same_node(nodes_[index(id)], node)) return id;
  }
  NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  for (std::size_t i = 0; i < types.size(); ++i) {
    node.outputs.push_back(ValueId{static_cast<std::uint32_t>(values_.size())});
    values_.push_back({id, static_cast<std::uint32_t>(i), types[i], {}});
  }
  nodes_.push_back(std::move(node));
  bucket.push_back(id);
  return id;
}

ValueId GraphBank::input(const std::string& name, ValueType type) {
  Node created;
  created.kind = Node::Kind::Input;
  created.source = intern_name(
      input_sources_,
      type ? name + "\n" + std::to_string(static_cast<int>(type.data_type)) + symbols_->to_string(*type) : name);
  return node(intern(std::move(created), std::span(&type, 1))).outputs[0];
}

namespace {

/// Returns a reader of the tensor rounded to the type. Except for float64 it stores floats, half the memory.
GraphBank::Reader rounded_reader(const std::shared_ptr<const algebra::Tensor>& tensor, DataType data_type) {
  if (data_type == DataType::Float64) return [tensor] { return tensor; };
  std::vector<float> values;
  values.reserve(tensor->values.size());
  for (const double value : tensor->values) values.push_back(static_cast<float>(rounded(value, data_type)));
  return [shape = tensor->shape, values = std::move(values)] {
    return std::make_shared<const algebra::Tensor>(algebra::Tensor{shape, {values.begin(), values.end()}});
  };
}

}  // namespace

ValueId GraphBank::constant(const std::string& name, std::shared_ptr<const algebra::Tensor> tensor,
                            DataType data_type) {
  return constant(name, digest(*tensor), tensor->shape, rounded_reader(tensor, data_type), data_type);
}

ValueId GraphBank::constant(const std::string& name, const std::string& content, std::vector<std::int64_t> shape,
                            Reader read, DataType data_type) {
  Node created;
  created.kind = Node::Kind::Constant;
  created.constant = true;
  created.source = intern_name(constant_sources_, name + '\n' + content + std::to_string(static_cast<int>(data_type)));
  ValueType type(algebra::Shape(shape.begin(), shape.end()), data_type);
  if (created.source == readers_.size()) readers_.push_back(std::move(read));
  max_constant_elements_ = std::max(max_constant_elements_, element_count(type));
  ValueId id = node(intern(std::move(created), std::span(&type, 1))).outputs[0];
  set_name(id, name);
  return id;
}

bool GraphBank::is_foldable(const Node& created, std::span<const ValueType> types) const {
  const double max_elements = std::max(max_folded_elements, max_folded_growth * max_constant_elements_);
  return std::ranges::all_of(created.arguments, [&](ValueId argument) { return node_of(argument).constant; }) &&
         std::ranges::all_of(created.sizes, [](const algebra::Poly& size) { return size.constant().has_value(); }) &&
         std::ranges::all_of(types, [&](const ValueType& type) { return element_count(type) <= max_elements; });
}

std::optional<NodeId> GraphBank::apply(algebra::InstanceId instance_id, std::span<const ValueId> arguments,
                                       std::span<const algebra::Poly> sizes, DataType real_type) {
  const algebra::OperatorInstance& applied = library_->instance(instance_id);
  RM_CHECK(arguments.size() == applied.inputs.size(), applied.name + ": wrong number of arguments");
  Node created;
  created.kind = Node::Kind::Algebra;
  created.instance = instance_id;
  created.arguments.assign(arguments.begin(), arguments.end());
  created.sizes.assign(sizes.begin(), sizes.end());
  if (!has_real_input(applied)) created.real_type = real_type;
  if (applied.commutative && created.arguments[1] < created.arguments[0])
    std::swap(created.arguments[0], created.arguments[1]);
  // Skip type inference if the node exists.
  if (auto bucket = index_.find(hash(created)); bucket != index_.end()) {
    for (NodeId id : bucket->second) {
      if (is_same_node(node(id), created)) return id;
    }
  }
  std::vector<algebra::Shape> shapes;
  std::vector<DataType> input_types;
  for (ValueId argument : created.arguments) {
    const ValueType& type = value(argument).type;
    if (!type) return std::nullopt;
    shapes.push_back(*type);
    input_types.push_back(type.data_type);
  }
  const auto output_types = infer_data_types(applied, input_types, created.real_type);
  if (!output_types) return std::nullopt;
  auto inferred = algebra::infer(applied, shapes, created.sizes, *symbols_);
  if (!inferred) return std::nullopt;
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < inferred->size(); ++i) types.emplace_back(std::move((*inferred)[i]), (*output_types)[i]);
  created.constant = is_foldable(created, types);
  return intern(std::move(created), types);
}

NodeId GraphBank::opaque(const std::string& key, std::span<const ValueId> arguments, std::span<const ValueType> types) {
  Node created;
  created.kind = Node::Kind::Opaque;
  created.source = intern_name(opaque_sources_, key);
  created.arguments.assign(arguments.begin(), arguments.end());
  return intern(std::move(created), types);
}

NodeId GraphBank::with_arguments(NodeId id, std::span<const ValueId> arguments) {
  Node created = node(id);
  if (std::ranges::equal(created.arguments, arguments)) return id;
  std::vector<ValueType> types;
  for (ValueId output : created.outputs) types.push_back(value(output).type);
  created.arguments.assign(arguments.begin(), arguments.end());
  std::vector<ValueId> outputs = std::move(created.outputs);
  created.outputs.clear();
  if (created.kind == Node::Kind::Algebra) {
    if (instance(created).commutative && created.arguments[1] < created.arguments[0]) {
      std::swap(created.arguments[0], created.arguments[1]);
    }
    created.constant = is_foldable(created, types);
  }
  NodeId rebuilt = intern(std::move(created), types);
  for (std::size_t i = 0; i < std::min(outputs.size(), node(rebuilt).outputs.size()); ++i) {
    set_name(node(rebuilt).outputs[i], value(outputs[i]).name);
  }
  set_origin(rebuilt, node(id).origin);
  return rebuilt;
}

void GraphBank::set_name(ValueId id, const std::string& name) {
  Value& named = values_[index(id)];
  if (named.name.empty()) named.name = name;
}

void GraphBank::set_origin(NodeId id, std::uint32_t origin) {
  Node& node = nodes_[index(id)];
  if (node.origin == Node::no_origin) node.origin = origin;
}

std::vector<NodeId> GraphBank::live_nodes(std::span<const ValueId> roots) const {
  // Numbered traversals need no clearing: the time depends on the nodes found, not on the size of the bank.
  visited_.resize(nodes_.size(), traversal_);
  if (++traversal_ == 0) visited_.assign(nodes_.size(), traversal_++);
  std::vector<NodeId> found;
  auto visit = [&](ValueId id) {
    NodeId producer = value(id).node;
    if (std::exchange(visited_[index(producer)], traversal_) != traversal_) found.push_back(producer);
  };
  for (ValueId root : roots) visit(root);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (ValueId argument : node(found[i]).arguments) visit(argument);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<ValueId> GraphBank::replace(std::span<const ValueId> roots,
                                        const std::unordered_map<ValueId, ValueId>& replacements,
                                        std::unordered_map<NodeId, NodeId>* rebuilt) {
  std::unordered_map<ValueId, ValueId> replaced(replacements);
  auto current = [&](ValueId id) {
    auto found = replaced.find(id);
    return found == replaced.end() ? id : found->second;
  };
  for (NodeId id : live_nodes(roots)) {
    const std::vector<ValueId> before = node(id).arguments;
    std::vector<ValueId> after;
    for (ValueId argument : before) after.push_back(current(argument));
    if (after == before) continue;
    NodeId new_id = with_arguments(id, after);
    if (rebuilt) rebuilt->emplace(id, new_id);
    for (std::size_t i = 0; i < node(id).outputs.size(); ++i) {
      replaced.emplace(node(id).outputs[i], node(new_id).outputs[i]);
    }
  }
  std::vector<ValueId> result;
  for (ValueId root : roots) result.push_back(current(root));
  return result;
}

bool GraphBank::depend_on(std::span<const ValueId> roots, std::span<const ValueId> targets) const {
  if (targets.empty()) return false;
  // Nodes that are older than all targets cannot use them.
  NodeId first = value(targets[0]).node;
  for (ValueId target : targets) first = std::min(first, value(target).node);
  std::unordered_map<NodeId, bool> seen;
  std::vector<ValueId> open(roots.begin(), roots.end());
  while (!open.empty()) {
    ValueId id = open.back();
    open.pop_back();
    if (std::ranges::find(targets, id) != targets.end()) return true;
    NodeId producer = value(id).node;
    if (producer < first || !seen.emplace(producer, true).second) continue;
    for (ValueId argument : node(producer).arguments) open.push_back(argument);
  }
  return false;
}

}  // namespace rulemill::optimize
