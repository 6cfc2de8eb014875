#include "optimize/onnx/import.h"

#include <algorithm>
#include <set>

#include "optimize/onnx/model_proto.h"
#include "optimize/onnx/types.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// Names that a graph's nodes use but do not define: what a subgraph takes from outside.
void collect_free_names(const onnx::GraphProto& graph, std::set<std::string> defined, std::set<std::string>& free) {
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) {
    for (const auto& name : node.input()) {
      if (!name.empty() && !defined.contains(name)) free.insert(name);
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_free_names(attribute.g(), defined, free);
      for (const auto& body : attribute.graphs()) collect_free_names(body, defined, free);
    }
    for (const auto& name : node.output()) defined.insert(name);
  }
  for (const auto& output : graph.output()) {
    if (!defined.contains(output.name())) free.insert(output.name());
  }
}

std::set<std::string> captured_names(const onnx::NodeProto& node) {
  std::set<std::string> free;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_free_names(attribute.g(), {}, free);
    for (const auto& body : attribute.graphs()) collect_free_names(body, {}, free);
  }
  return free;
}

class Importer {
 public:
  Importer(const OnnxModel& model, GraphBank& bank)
      : proto_(model.proto()), bank_(bank), types_(model, bank.symbols()) {}

  Import run() {
    add_initializers();
    add_inputs();
    const auto& graph = proto_.model.graph();
    for (int i = 0; i < graph.node_size(); ++i) add_node(graph.node(i), static_cast<std::uint32_t>(i));
    for (const auto& output : graph.output()) result_.outputs.push_back(known(output.name()));
    result_.sizes = types_.sizes();
    return std::move(result_);
  }

 private:
  /// Before IR version 4 every initializer had to be an input too; since then one that is can be overridden.
  bool overridable(const std::string& name) const {
    if (proto_.model.ir_version() < 4) return false;
    return std::ranges::any_of(proto_.model.graph().input(), [&](const auto& input) { return input.name() == name; });
  }

  void add_initializers() {
    for (const auto& tensor : proto_.model.graph().initializer()) {
      if (overridable(tensor.name())) continue;
      add_tensor(tensor.name(), tensor);
    }
    for (const auto& tensor : proto_.model.graph().sparse_initializer()) {
      define(tensor.values().name(), bank_.input(tensor.values().name(), std::nullopt));
    }
  }

  void add_tensor(const std::string& name, const onnx::TensorProto& tensor) {
    auto id = add_constant(name, tensor);
    define(name, id ? *id : bank_.input(name, std::nullopt));
  }

  /// The float constant, if it is one; integers are remembered for mappings that ask for them.
  std::optional<ValueId> add_constant(const std::string& name, const onnx::TensorProto& tensor) {
    if (auto literal = literal_tensor(tensor)) literals_.emplace(name, std::move(*literal));
    auto values = float_tensor(tensor);
    bool empty = std::ranges::any_of(tensor.dims(), [](std::int64_t dim) { return dim < 1; });
    if (!values || empty) return std::nullopt;
    return bank_.constant(name, std::make_shared<algebra::Tensor>(std::move(*values)));
  }

  void add_inputs() {
    for (const auto& input : proto_.model.graph().input()) {
      if (result_.values.contains(input.name())) continue;
      ValueId id = bank_.input(input.name(), types_.type(input.name()));
      define(input.name(), id);
      result_.inputs.push_back(id);
    }
  }

  void define(const std::string& name, ValueId id) {
    result_.values[name] = id;
    bank_.set_name(id, name);
  }

  ValueId known(const std::string& name) const {
    auto found = result_.values.find(name);
    if (found == result_.values.end()) throw runtime::InputError(proto_.origin, "value " + name + " is not defined");
    return found->second;
  }

  void add_node(const onnx::NodeProto& node, std::uint32_t position) {
    Import::NodeRecord record;
    record.name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    record.op_type = node.op_type();
    for (const auto& name : node.input()) {
      record.inputs.push_back(name.empty() ? std::nullopt : std::optional(known(name)));
    }
    for (const std::string& name : captured_names(node)) {
      // A name that only an inner graph of an outer scope knows cannot be here: this is the outermost graph.
      record.captured.push_back(known(name));
      record.captured_names.push_back(name);
    }
    bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    std::optional<ValueId> constant;
    if (standard && node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t()) {
      constant = add_constant(node.output(0), node.attribute(0).t());
      record.reason = Import::NodeRecord::constant_reason;
    }
    if (constant) {
      define(node.output(0), *constant);
      record.node = bank_.value(*constant).node;
      bank_.set_origin(record.node, position);
    } else if (!standard) {
      record.reason = "domain " + node.domain();
      add_opaque(node, position, record);
    } else {
      auto solved = solve(question(node, record), bank_);
      if (auto* recipe = std::get_if<Recipe>(&solved)) {
        record.recipe = std::move(*recipe);
        apply(node, position, record);
      } else {
        record.reason = std::get<std::string>(solved);
        add_opaque(node, position, record);
      }
    }
    result_.nodes.push_back(std::move(record));
  }

  OnnxQuestion question(const onnx::NodeProto& node, const Import::NodeRecord& record) const {
    OnnxQuestion asked;
    asked.facts.op_type = node.op_type();
    asked.opset = proto_.opset;
    asked.inputs = record.inputs;
    while (!asked.inputs.empty() && !asked.inputs.back()) asked.inputs.pop_back();
    for (std::size_t i = 0; i < asked.inputs.size(); ++i) {
      auto literal = literals_.find(node.input(static_cast<int>(i)));
      asked.facts.constant_inputs.push_back(literal == literals_.end() ? std::nullopt : std::optional(literal->second));
    }
    for (const auto& attribute : node.attribute()) {
      asked.facts.attributes.emplace(attribute.name(), attribute_literal(attribute));
    }
    int outputs = node.output_size();
    while (outputs > 0 && node.output(outputs - 1).empty()) --outputs;
    for (int i = 0; i < outputs; ++i) asked.outputs.push_back(types_.type(node.output(i)));
    return asked;
  }

  void apply(const onnx::NodeProto& node, std::uint32_t position, Import::NodeRecord& record) {
    std::vector<NodeId> made;
    for (const Recipe::Step& step : record.recipe.steps) {
      std::vector<ValueId> arguments;
      for (const Recipe::Reference& from : step.arguments) {
        arguments.push_back(from.is_input ? *record.inputs[from.number]
                                          : bank_.node(made[from.number]).outputs[from.output]);
      }
      auto id = bank_.apply(step.instance, arguments, step.sizes);
      RM_CHECK(id, node.op_type() + " typed when its mapping was found, and does not now");
      bank_.set_origin(*id, position);
      made.push_back(*id);
    }
    record.node = made.back();
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) {
        define(node.output(i), bank_.node(record.node).outputs[static_cast<std::size_t>(i)]);
      }
    }
  }

  void add_opaque(const onnx::NodeProto& node, std::uint32_t position, Import::NodeRecord& record) {
    onnx::NodeProto key = node;
    key.clear_input();
    // Which inputs are absent belongs to the node; which values they are is in the arguments.
    for (const auto& name : node.input()) key.add_input(name.empty() ? "" : "x");
    std::vector<ValueId> arguments;
    for (const auto& input : record.inputs) {
      if (input) arguments.push_back(*input);
    }
    arguments.insert(arguments.end(), record.captured.begin(), record.captured.end());
    std::vector<ValueType> types;
    for (const auto& name : node.output()) types.push_back(name.empty() ? std::nullopt : types_.type(name));
    record.node = bank_.opaque(key.SerializeAsString(), arguments, types);
    bank_.set_origin(record.node, position);
    result_.opaque_nodes[bank_.node(record.node).source] = position;
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) {
        define(node.output(i), bank_.node(record.node).outputs[static_cast<std::size_t>(i)]);
      }
    }
  }

  const OnnxModel::Proto& proto_;
  GraphBank& bank_;
  OnnxTypes types_;
  Import result_;
  std::unordered_map<std::string, OnnxLiteral> literals_;
};

}  // namespace

Import import_model(const OnnxModel& model, GraphBank& bank) { return Importer(model, bank).run(); }

}  // namespace rulemill::optimize
