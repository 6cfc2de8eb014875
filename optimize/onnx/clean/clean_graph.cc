#include "optimize/onnx/clean/clean_graph.h"

#include <algorithm>
#include <utility>

#include "optimize/onnx/format/captured_names.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

const std::string& replaced(const Replacements& replacements, const std::string& name) {
  const std::string* current = &name;
  for (auto found = replacements.find(*current); found != replacements.end(); found = replacements.find(*current))
    current = &found->second;
  return *current;
}

void rename_captured(onnx::GraphProto& graph, Replacements replacements) {
  const auto hide = [&](const std::string& name) { replacements.erase(name); };
  for (const auto& input : graph.input()) hide(input.name());
  for (const auto& tensor : graph.initializer()) hide(tensor.name());
  for (const auto& node : graph.node()) std::ranges::for_each(node.output(), hide);
  if (replacements.empty()) return;
  for (auto& node : *graph.mutable_node()) rename_values(node, replacements);
}

/// Whether a subgraph of the node has an output that it does not compute itself.
bool outputs_captured_value(const onnx::NodeProto& node, const std::string& name) {
  const auto outputs = [&](const onnx::GraphProto& graph) {
    return std::ranges::find(graph.output(), name, &onnx::ValueInfoProto::name) != graph.output().end() &&
           free_names(graph).contains(name);
  };
  return std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    return (attribute.has_g() && outputs(attribute.g())) || std::ranges::any_of(attribute.graphs(), outputs);
  });
}

const onnx::TensorProto* constant_of(const onnx::NodeProto& node) {
  if (!is_standard(node) || node.op_type() != "Constant" || node.attribute_size() != 1) return nullptr;
  return node.attribute(0).has_t() ? &node.attribute(0).t() : nullptr;
}

}  // namespace

void rename_values(onnx::NodeProto& node, const Replacements& replacements) {
  for (auto& name : *node.mutable_input()) name = std::string(replaced(replacements, name));
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_captured(*attribute.mutable_g(), replacements);
    for (auto& subgraph : *attribute.mutable_graphs()) rename_captured(subgraph, replacements);
  }
}

std::string CleanContext::unique_name(const std::string& stem) {
  std::string name = stem;
  for (int suffix = 1; !used_names.insert(name).second; ++suffix) name = stem + "_" + std::to_string(suffix);
  return name;
}

CleanGraph::CleanGraph(CleanContext& context, onnx::GraphProto& graph, const CleanGraph* outer)
    : context_(context), graph_(graph), outer_(outer) {
  const auto declare = [&](const onnx::ValueInfoProto& info) {
    const int type = info.type().tensor_type().elem_type();
    if (info.type().has_tensor_type() && type != 0) types_.emplace(info.name(), type);
  };
  std::ranges::for_each(graph.input(), declare);
  std::ranges::for_each(graph.output(), declare);
  std::ranges::for_each(graph.value_info(), declare);
  for (const auto& input : graph.input()) inputs_.insert(input.name());
  for (const auto& output : graph.output()) outputs_.insert(output.name());
  index();
}

void CleanGraph::index() {
  own_constants_.clear();
  producers_.clear();
  for (const auto& tensor : graph_.initializer()) {
    types_.emplace(tensor.name(), tensor.data_type());
    const bool can_be_overridden = inputs_.contains(tensor.name()) && allows_new_initializers();
    if (!can_be_overridden) own_constants_.emplace(tensor.name(), &tensor);
  }
  for (const auto& node : graph_.node()) {
    for (const auto& name : node.output()) producers_.emplace(name, &node);
    if (const onnx::TensorProto* value = constant_of(node)) own_constants_.emplace(node.output(0), value);
    if (const int type = node.output_size() > 0 ? computed_type(node) : 0; type != 0)
      types_.emplace(node.output(0), type);
  }
}

bool CleanGraph::defines(const std::string& name) const {
  return producers_.contains(name) || inputs_.contains(name) || own_constants_.contains(name) || types_.contains(name);
}

std::optional<RawTensor> CleanGraph::constant(const std::string& name) const {
  const auto found = own_constants_.find(name);
  if (found == own_constants_.end()) return outer_ == nullptr || defines(name) ? std::nullopt : outer_->constant(name);
  const onnx::TensorProto& tensor = *found->second;
  const bool is_main_initializer = outer_ == nullptr && !producers_.contains(name);
  return to_raw_tensor(tensor, is_main_initializer ? context_.model.raw(tensor) : inline_raw_data(tensor));
}

std::optional<std::vector<std::int64_t>> CleanGraph::integers(const onnx::NodeProto& node, int input,
                                                              const std::string& attribute) const {
  if (const onnx::AttributeProto* list = find_attribute(node, attribute))
    return std::vector<std::int64_t>(list->ints().begin(), list->ints().end());
  if (!has_input(node, input)) return std::nullopt;
  const auto tensor = constant(node.input(input));
  return tensor ? tensor->integers() : std::nullopt;
}

int CleanGraph::element_type(const std::string& name) const {
  const auto found = types_.find(name);
  if (found != types_.end()) return found->second;
  return outer_ == nullptr || defines(name) ? 0 : outer_->element_type(name);
}

/// Returns the type of the first output, where it follows from those of the inputs.
int CleanGraph::computed_type(const onnx::NodeProto& node) const {
  std::vector<KnownTensor> inputs(static_cast<std::size_t>(node.input_size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].type = element_type(node.input(static_cast<int>(i)));
  return evaluate(node, inputs, 0).at(0).type;
}

std::optional<algebra::Shape> CleanGraph::shape(const std::string& name) const {
  if (const auto own = own_constants_.find(name); own != own_constants_.end())
    return algebra::Shape(own->second->dims().begin(), own->second->dims().end());
  if (outer_ != nullptr) return defines(name) ? std::nullopt : outer_->shape(name);
  const auto found = context_.known_values.find(name);
  return found == context_.known_values.end() ? std::nullopt : to_shape(found->second.dims);
}

KnownTensor CleanGraph::known(const std::string& name) const {
  if (auto numbers = constant(name)) return make_known(std::move(*numbers));
  if (outer_ != nullptr && !defines(name)) return outer_->known(name);
  const auto found = context_.known_values.find(name);
  KnownTensor result = outer_ != nullptr || found == context_.known_values.end() ? KnownTensor() : found->second;
  if (const int type = element_type(name); type != 0) result.type = type;
  return result;
}

std::vector<KnownTensor> CleanGraph::evaluate(const onnx::NodeProto& node, const std::vector<KnownTensor>& inputs,
                                              std::size_t max_bytes) const {
  EvaluationContext context{*context_.symbols, max_bytes, smallest_clean_size, {}, nullptr, {}};
  return evaluate_node(node, opset(), inputs, context);
}

std::optional<Movement> CleanGraph::movement(const onnx::NodeProto& node) const {
  if (!can_move(node)) return std::nullopt;
  std::vector<KnownTensor> inputs;
  for (const auto& name : node.input()) inputs.push_back(name.empty() ? KnownTensor() : known(name));
  EvaluationContext context{*context_.symbols, 0, smallest_clean_size, {}, nullptr, {}};
  return movement_of(node, opset(), inputs, context);
}

const onnx::NodeProto* CleanGraph::producer(const std::string& name) const {
  const auto found = producers_.find(name);
  return found == producers_.end() || is_erased(*found->second) ? nullptr : found->second;
}

std::unordered_map<std::string, int> CleanGraph::count_readers() const {
  std::unordered_map<std::string, int> readers;
  for (const auto& node : graph_.node()) {
    for (const auto& name : read_names(node)) ++readers[current_name(name)];
  }
  for (const auto& output : graph_.output()) ++readers[output.name()];
  return readers;
}

bool CleanGraph::can_replace(const std::string& from, const std::string& to) const {
  if (is_output(from) && (!producers_.contains(to) || is_output(to))) return false;
  return std::ranges::none_of(graph_.node(), [&](const auto& node) {
    return has_subgraph(node) && (outputs_captured_value(node, from) || outputs_captured_value(node, to));
  });
}

void CleanGraph::replace(const std::string& from, const std::string& to) {
  const std::string target = current_name(to);
  if (is_output(from)) {
    rename_everywhere(target, from);
  } else {
    replacements_.emplace(from, target);
  }
}

void CleanGraph::rename_everywhere(const std::string& from, const std::string& to) {
  const onnx::NodeProto* node_of_value = producers_.at(from);
  for (auto& node : *graph_.mutable_node()) {
    if (&node == node_of_value) std::ranges::replace(*node.mutable_output(), from, to);
  }
  producers_[to] = node_of_value;
  producers_.erase(from);
  replacements_.emplace(from, to);
}

const std::string& CleanGraph::current_name(const std::string& name) const { return replaced(replacements_, name); }

void CleanGraph::update(onnx::NodeProto& node) const {
  if (!replacements_.empty()) rename_values(node, replacements_);
}

void CleanGraph::make_constant(onnx::NodeProto& node, const std::vector<RawTensor>& values) {
  const std::vector<std::string> names(node.output().begin(), node.output().end());
  std::vector<onnx::TensorProto>
      tensors;  // made before the node changes, because values may be views of its attributes
  for (std::size_t i = 0; i < names.size(); ++i) tensors.push_back(to_proto(names[i], values.at(i)));
  if (allows_new_initializers()) {
    erase(node);
    for (std::size_t i = 0; i < names.size(); ++i) {
      producers_.erase(names[i]);
      if (!names[i].empty()) add_initializer(std::move(tensors[i]));
    }
    return;
  }
  node.clear_input();
  node.clear_attribute();
  node.set_op_type("Constant");
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = std::move(tensors.at(0));
  attribute.mutable_t()->clear_name();
  own_constants_.emplace(names.at(0), &attribute.t());
}

std::string CleanGraph::add_constant(const std::string& stem, const RawTensor& value) {
  std::string name = context_.unique_name(stem);
  add_initializer(to_proto(name, value));
  return name;
}

void CleanGraph::add_initializer(onnx::TensorProto tensor) {
  onnx::TensorProto& added = *graph_.add_initializer();
  added = std::move(tensor);
  types_.emplace(added.name(), added.data_type());
  own_constants_.emplace(added.name(), &added);
}

bool CleanGraph::remove_nodes(const std::function<std::optional<int>(const onnx::NodeProto&)>& returned_input) {
  return change_nodes([&](onnx::NodeProto& node) {
    update(node);
    const auto input = returned_input(node);
    if (!input) return false;
    if (can_replace(node.output(0), node.input(*input))) {
      replace(node.output(0), node.input(*input));
      erase(node);
      return true;
    }
    if (node.op_type() == "Identity") return false;
    onnx::NodeProto copy;
    copy.set_op_type("Identity");
    copy.set_name(node.name());
    copy.add_input(node.input(*input));
    copy.add_output(node.output(0));
    node.Swap(&copy);
    return true;
  });
}

void CleanGraph::finish() {
  for (auto& node : *graph_.mutable_node()) update(node);
  replacements_.clear();
  auto& nodes = *graph_.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_erased), nodes.end());
  index();
}

}  // namespace rulemill::optimize
