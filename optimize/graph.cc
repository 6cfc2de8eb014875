#include "optimize/graph.h"

#include <algorithm>
#include <utility>

#include "optimize/rounding.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace rulemill::optimize {

namespace {

void mix(std::size_t& seed, std::size_t value) { seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2); }

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.source == b.source && a.instance == b.instance && a.arguments == b.arguments &&
         a.sizes == b.sizes;
}

/// What folding may make of small constants; large ones may grow by a factor.
constexpr double small_elements = 1 << 20;
constexpr double most_growth = 4;

double element_count(const ValueType& type) {
  double count = 1;
  for (const algebra::Poly& dim : *type) count *= static_cast<double>(dim.constant().value_or(1));
  return count;
}

std::uint32_t intern_name(std::unordered_map<std::string, std::uint32_t>& table, const std::string& key) {
  return table.emplace(key, static_cast<std::uint32_t>(table.size())).first->second;
}

}  // namespace

std::optional<std::vector<std::int64_t>> concrete(const algebra::Shape& shape) {
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

bool is_float(Element element) { return element != Element::Truth && element != Element::Integer; }

/// Whether the element is one of a tensor, or zero.
bool only_reads(const algebra::ScalarExpr& expr) {
  using Kind = algebra::ScalarExpr::Kind;
  if (expr.kind == Kind::Case) return std::ranges::all_of(expr.operands, [](const auto& e) { return only_reads(*e); });
  return expr.kind == Kind::Read || (expr.kind == Kind::Constant && expr.value.num == 0);
}

bool only_moves(const algebra::Instance& instance) {
  return instance.intermediates.empty() &&
         std::ranges::all_of(instance.outputs, [](const auto& output) { return only_reads(*output.body); });
}

}  // namespace

std::optional<std::vector<Element>> element_rule(const algebra::Instance& instance, std::span<const Element> inputs) {
  using algebra::ElementKind;
  std::optional<Element> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ElementKind wanted = instance.input_kinds[i];
    if (wanted != ElementKind::Numbers) {
      if (inputs[i] != (wanted == ElementKind::Truths ? Element::Truth : Element::Integer)) return std::nullopt;
      continue;
    }
    if (numbers.value_or(inputs[i]) != inputs[i]) return std::nullopt;
    numbers = inputs[i];
  }
  if (numbers && !is_float(*numbers) && !(*numbers == Element::Truth && only_moves(instance))) return std::nullopt;
  std::vector<Element> outputs;
  for (const algebra::TensorDefinition& output : instance.outputs) {
    outputs.push_back(output.kind == ElementKind::Truths     ? Element::Truth
                      : output.kind == ElementKind::Integers ? Element::Integer
                                                             : numbers.value_or(Element::Float32));
  }
  return outputs;
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
    if (same(nodes_[index(id)], node)) return id;
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
  Node made;
  made.kind = Node::Kind::Input;
  made.source = intern_name(input_sources_, name + (type ? "\n" + symbols_->to_string(*type) : ""));
  if (made.source == input_names_.size()) input_names_.push_back(name);
  return node(intern(std::move(made), std::span(&type, 1))).outputs[0];
}

namespace {

/// Rounded once, and as floats where its type is no wider than that, which is half the memory.
GraphBank::Reader kept(const std::shared_ptr<const algebra::Tensor>& tensor, Element element) {
  if (element == Element::Float64) return [tensor] { return tensor; };
  std::vector<float> values;
  values.reserve(tensor->values.size());
  for (const double value : tensor->values) values.push_back(static_cast<float>(rounded(value, element)));
  return [shape = tensor->shape, values = std::move(values)] {
    return std::make_shared<const algebra::Tensor>(algebra::Tensor{shape, {values.begin(), values.end()}});
  };
}

}  // namespace

ValueId GraphBank::constant(const std::string& name, std::shared_ptr<const algebra::Tensor> tensor, Element element) {
  return constant(name, digest(*tensor), tensor->shape, kept(tensor, element), element);
}

ValueId GraphBank::constant(const std::string& name, const std::string& content, std::vector<std::int64_t> shape,
                            Reader read, Element element) {
  Node made;
  made.kind = Node::Kind::Constant;
  made.constant = true;
  made.source = intern_name(constant_sources_, name + '\n' + content + std::to_string(static_cast<int>(element)));
  ValueType type(algebra::Shape(shape.begin(), shape.end()), element);
  if (made.source == readers_.size()) readers_.push_back(std::move(read));
  largest_constant_ = std::max(largest_constant_, element_count(type));
  ValueId id = node(intern(std::move(made), std::span(&type, 1))).outputs[0];
  set_name(id, name);
  return id;
}

bool GraphBank::foldable(const Node& made, std::span<const ValueType> types) const {
  const double most = std::max(small_elements, most_growth * largest_constant_);
  return std::ranges::all_of(made.arguments, [&](ValueId argument) { return node_of(argument).constant; }) &&
         std::ranges::all_of(made.sizes, [](const algebra::Poly& size) { return size.constant().has_value(); }) &&
         std::ranges::all_of(types, [&](const ValueType& type) { return element_count(type) <= most; });
}

std::optional<NodeId> GraphBank::apply(algebra::InstanceId instance_id, std::span<const ValueId> arguments,
                                       std::span<const algebra::Poly> sizes) {
  const algebra::Instance& applied = library_->instance(instance_id);
  RM_CHECK(arguments.size() == applied.inputs.size(), applied.name + ": wrong number of arguments");
  Node made;
  made.kind = Node::Kind::Algebra;
  made.instance = instance_id;
  made.arguments.assign(arguments.begin(), arguments.end());
  made.sizes.assign(sizes.begin(), sizes.end());
  if (applied.commutative && made.arguments[1] < made.arguments[0]) std::swap(made.arguments[0], made.arguments[1]);
  // A node that is already there needs no typing.
  if (auto bucket = index_.find(hash(made)); bucket != index_.end()) {
    for (NodeId id : bucket->second) {
      if (same(node(id), made)) return id;
    }
  }
  std::vector<algebra::Shape> shapes;
  std::vector<Element> elements;
  for (ValueId argument : made.arguments) {
    const Value& given = value(argument);
    if (!given.type) return std::nullopt;
    shapes.push_back(*given.type);
    elements.push_back(given.type.element);
  }
  const auto given = element_rule(applied, elements);
  if (!given) return std::nullopt;
  auto inferred = algebra::infer(applied, shapes, made.sizes, *symbols_);
  if (!inferred) return std::nullopt;
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < inferred->size(); ++i) types.emplace_back(std::move((*inferred)[i]), (*given)[i]);
  made.constant = foldable(made, types);
  return intern(std::move(made), types);
}

NodeId GraphBank::opaque(const std::string& key, std::span<const ValueId> arguments, std::span<const ValueType> types) {
  Node made;
  made.kind = Node::Kind::Opaque;
  made.source = intern_name(opaque_sources_, key);
  made.arguments.assign(arguments.begin(), arguments.end());
  return intern(std::move(made), types);
}

NodeId GraphBank::with_arguments(NodeId id, std::span<const ValueId> arguments) {
  Node made = node(id);
  if (std::ranges::equal(made.arguments, arguments)) return id;
  std::vector<ValueType> types;
  for (ValueId output : made.outputs) types.push_back(value(output).type);
  made.arguments.assign(arguments.begin(), arguments.end());
  std::vector<ValueId> outputs = std::move(made.outputs);
  made.outputs.clear();
  if (made.kind == Node::Kind::Algebra) {
    if (instance(made).commutative && made.arguments[1] < made.arguments[0]) {
      std::swap(made.arguments[0], made.arguments[1]);
    }
    made.constant = foldable(made, types);
  }
  NodeId rebuilt = intern(std::move(made), types);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
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
  Node& stem = nodes_[index(id)];
  if (stem.origin == Node::no_origin) stem.origin = origin;
}

std::vector<NodeId> GraphBank::live(std::span<const ValueId> roots) const {
  // Costs what is reached, not what the bank holds.
  visited_.resize(nodes_.size(), walk_);
  if (++walk_ == 0) visited_.assign(nodes_.size(), walk_++);
  std::vector<NodeId> found;
  auto visit = [&](ValueId id) {
    NodeId made_by = value(id).node;
    if (std::exchange(visited_[index(made_by)], walk_) != walk_) found.push_back(made_by);
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
  std::unordered_map<ValueId, ValueId> now(replacements);
  auto current = [&](ValueId id) {
    auto found = now.find(id);
    return found == now.end() ? id : found->second;
  };
  for (NodeId id : live(roots)) {
    const std::vector<ValueId> before = node(id).arguments;
    std::vector<ValueId> after;
    for (ValueId argument : before) after.push_back(current(argument));
    if (after == before) continue;
    NodeId made = with_arguments(id, after);
    if (rebuilt) rebuilt->emplace(id, made);
    for (std::size_t i = 0; i < node(id).outputs.size(); ++i) {
      now.emplace(node(id).outputs[i], node(made).outputs[i]);
    }
  }
  std::vector<ValueId> result;
  for (ValueId root : roots) result.push_back(current(root));
  return result;
}

bool GraphBank::depends(std::span<const ValueId> roots, std::span<const ValueId> targets) const {
  if (targets.empty()) return false;
  // Nothing made before the first target can use it.
  NodeId first = value(targets[0]).node;
  for (ValueId target : targets) first = std::min(first, value(target).node);
  std::unordered_map<NodeId, bool> seen;
  std::vector<ValueId> open(roots.begin(), roots.end());
  while (!open.empty()) {
    ValueId id = open.back();
    open.pop_back();
    if (std::ranges::find(targets, id) != targets.end()) return true;
    NodeId made_by = value(id).node;
    if (made_by < first || !seen.emplace(made_by, true).second) continue;
    for (ValueId argument : node(made_by).arguments) open.push_back(argument);
  }
  return false;
}

}  // namespace rulemill::optimize
