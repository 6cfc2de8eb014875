#include "optimize/onnx/export.h"

#include <algorithm>
#include <set>

#include "optimize/model/evaluate.h"
#include "optimize/model/numbers.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/shapes/runtime_sizes.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

void collect_names(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& info : graph.input()) names.insert(info.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& node : graph.node()) {
    names.insert(node.name());
    names.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g(), names);
      for (const auto& subgraph : attribute.graphs()) collect_names(subgraph, names);
    }
  }
}

namespace {

/// The IR version of the first ONNX release with `max_result_opset`.
constexpr std::int64_t raised_ir_version = 9;

class Exporter {
 public:
  Exporter(const OnnxModel& model, const ImportedModel& import, GraphBank& bank, std::span<const ValueId> outputs,
           bool keep_constants)
      : original_(model.proto().model.graph()),
        original_opset_(model.opset()),
        import_(import),
        bank_(bank),
        folder_(bank),
        result_(model),
        runtime_sizes_(bank, import.inputs),
        size_writer_(bank.symbols(), runtime_sizes_, size_sink()) {
    keep_constants_ = keep_constants;
    for (ValueId output : outputs) outputs_.push_back(fold(output));
    used_names_ = model.proto().outer_names;
    collect_names(original_, used_names_);
    for (const auto& tensor : original_.initializer()) initializers_.insert(tensor.name());
    for (const auto& input : original_.input()) inputs_.insert(input.name());
    graph().clear_node();
    graph().clear_initializer();
    graph().clear_value_info();
  }

  OnnxModel run(ExportPlan plan, std::unordered_map<ValueId, std::string>* names) {
    for (ExportNode& planned : plan.nodes) {
      for (auto& input : planned.inputs) {
        if (input) input = fold(*input);
      }
      for (auto& [name, value] : planned.attributes) value = fold(value);
    }
    if (plan.opset != original_opset_) set_opset(plan.opset);
    reserve_names(plan);
    write_aliases_of_sources();
    for (const ExportNode& planned : plan.nodes) write_node(planned);
    for (const auto& output : original_.output()) read_names_.insert(output.name());
    write_initializers();
    write_value_infos();
    result_.check();
    if (names != nullptr) *names = std::move(names_);
    return std::move(result_);
  }

 private:
  void set_opset(int opset) {
    OnnxModel::Proto& proto = result_.proto();
    proto.opset = opset;
    for (auto& set : *proto.model.mutable_opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") set.set_version(opset);
    }
    proto.model.set_ir_version(std::max<std::int64_t>(proto.model.ir_version(), raised_ir_version));
  }

  ValueId fold(ValueId id) { return keep_constants_ && !is_named_constant(bank_.node_of(id)) ? id : folder_.fold(id); }

  onnx::GraphProto& graph() { return *result_.proto().model.mutable_graph(); }

  std::string unique_name(const std::string& stem) {
    std::uint64_t& last = last_suffix_[stem];  // smaller suffixes are in use
    std::string name = last == 0 ? stem : stem + "_" + std::to_string(last);
    while (!used_names_.insert(name).second) name = stem + "_" + std::to_string(++last);
    return name;
  }

  bool is_computed(ValueId id) const {
    Node::Kind kind = bank_.node_of(id).kind;
    return kind == Node::Kind::Algebra || kind == Node::Kind::Opaque;
  }

  /// Fixes the name of an output, of a value captured by a subgraph, of an input or of a constant. A second name of a
  /// value becomes an alias, written as an Identity node.
  void reserve_name(ValueId id, const std::string& name) {
    auto [entry, added] = names_.emplace(id, name);
    if (!added && entry->second != name) aliases_.emplace(name, id);
    result_names_.insert(name);
  }

  void reserve_names(const ExportPlan& plan) {
    for (ValueId input : import_.inputs) reserve_name(input, bank_.value(input).name);
    auto add_if_source = [&](ValueId id) {
      if (!is_computed(id)) add_source(id);
    };
    for (const ExportNode& planned : plan.nodes) {
      for (const auto& input : planned.inputs) {
        if (input) add_if_source(*input);
      }
    }
    for (int i = 0; i < original_.output_size(); ++i) {
      add_if_source(outputs_[static_cast<std::size_t>(i)]);
      reserve_name(outputs_[static_cast<std::size_t>(i)], original_.output(i).name());
    }
    for (const ExportNode& planned : plan.nodes) {
      const Node& node = bank_.node(planned.root);
      if (node.kind != Node::Kind::Opaque) continue;
      const auto& record = import_.nodes[*planned.original];
      for (std::size_t i = 0; i < record.captured_names.size(); ++i) {
        ValueId value = fold(node.arguments[node.arguments.size() - record.captured_names.size() + i]);
        add_if_source(value);
        reserve_name(value, record.captured_names[i]);
        read_names_.insert(record.captured_names[i]);
      }
    }
  }

  /// Adds an input, an initializer of the original model, or a new constant.
  void add_source(ValueId id) {
    if (names_.contains(id)) return;
    std::string name = bank_.value(id).name;
    if (name.empty() || result_names_.contains(name)) name = unique_name("rulemill_constant");
    used_names_.insert(name);
    reserve_name(id, name);
    const Node& node = bank_.node_of(id);
    if (node.kind != Node::Kind::Constant || initializers_.contains(name)) return;
    if (node.origin != Node::no_origin) {
      *graph().add_node() = original_.node(static_cast<int>(node.origin));
    } else {
      add_tensor(make_tensor_proto(name, *bank_.tensor(node.source), bank_.value(id).type.data_type));
    }
  }

  /// Before IR version 4 an initializer had to be a graph input too; a Constant node leaves the inputs unchanged.
  void add_tensor(onnx::TensorProto tensor) {
    if (result_.proto().model.ir_version() >= 4) {
      new_initializers_.push_back(std::move(tensor));
      return;
    }
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type("Constant");
    node.set_name(unique_name("rulemill_Constant"));
    node.add_output(tensor.name());
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = std::move(tensor);
  }

  const std::string& name_of(ValueId id) {
    auto found = names_.find(id);
    if (found != names_.end()) return found->second;
    std::string name = bank_.value(id).name;
    if (name.empty() || result_names_.contains(name)) name = unique_name("rulemill_value");
    result_names_.insert(name);
    used_names_.insert(name);
    return names_.emplace(id, name).first->second;
  }

  void write_node(const ExportNode& planned) {
    const std::vector<ValueId>& outputs = planned.outputs;
    onnx::NodeProto node;
    if (planned.original) {
      node = original_.node(static_cast<int>(*planned.original));
      for (std::size_t i = 0; i < planned.inputs.size(); ++i) {
        if (planned.inputs[i]) node.set_input(static_cast<int>(i), name_of(*planned.inputs[i]));
      }
      for (int i = 0; i < node.output_size(); ++i) {
        if (!node.output(i).empty()) node.set_output(i, name_of(outputs[static_cast<std::size_t>(i)]));
      }
    } else {
      node.set_op_type(planned.spec.op_type);
      node.set_domain(planned.spec.domain);
      result_.require_domain(planned.spec.domain);
      node.set_name(unique_name("rulemill_" + planned.spec.op_type));
      for (std::size_t i = 0; i < planned.inputs.size(); ++i) {
        node.add_input(planned.inputs[i] ? name_of(*planned.inputs[i])
                                         : add_literal(planned.spec.constants[i], float_type_of_inputs(planned)));
      }
      for (const auto& [name, value] : planned.spec.attributes)
        *node.add_attribute() = make_attribute_proto(name, value);
      for (const auto& [name, value] : planned.attributes) {
        OnnxLiteral number;
        number.float_value = bank_.tensor(bank_.node_of(value).source)->values.at(0);
        number.as_float32 = planned.spec.tensor_attributes.contains(name);
        *node.add_attribute() = make_attribute_proto(name, number);
      }
      for (ValueId output : outputs) node.add_output(name_of(output));
    }
    bool has_activation = !planned.original && planned.spec.activation;
    std::string result = has_activation ? node.output(0) : "";
    if (has_activation) node.set_output(0, unique_name("rulemill_value"));
    read_names_.insert(node.input().begin(), node.input().end());
    *graph().add_node() = node;
    if (has_activation) {
      onnx::NodeProto& activation = *graph().add_node();
      activation.set_op_type(*planned.spec.activation);
      activation.set_name(unique_name("rulemill_" + *planned.spec.activation));
      activation.add_input(node.output(0));
      activation.add_output(result);
    }
    for (ValueId output : outputs) write_aliases(output);
  }

  /// The type of scalar literals: that of the other inputs.
  DataType float_type_of_inputs(const ExportNode& planned) const {
    for (const auto& input : planned.inputs) {
      const ValueType type = input ? bank_.value(*input).type : ValueType();
      if (type && type.data_type != DataType::Bool && type.data_type != DataType::Integer) return type.data_type;
    }
    return DataType::Float32;
  }

  std::string add_literal(const OnnxLiteral& literal, DataType data_type) {
    if (literal.is_unsupported) return "";
    const auto is_number = [](const algebra::Poly& value) { return value.constant().has_value(); };
    if (!std::ranges::all_of(literal.integers, is_number)) return size_writer_.write_list(literal.integers);
    std::string name = unique_name("rulemill_integers");
    if (literal.float_value) {
      add_tensor(make_tensor_proto(name, {{}, {*literal.float_value}}, data_type));
    } else {
      add_tensor(make_integer_proto(name, literal));
    }
    return name;
  }

  SizeWriter::Sink size_sink() {
    const auto node = [this](const char* op, const std::vector<std::string>& inputs) {
      return add_size_node(op, inputs);
    };
    return {node, [this](std::int64_t number) { return add_literal(integers({number}, true), {}); },
            [this](ValueId input) { return name_of(input); }};
  }

  static OnnxLiteral integers(std::vector<algebra::Poly> values, bool is_list) {
    OnnxLiteral literal;
    literal.integers = std::move(values);
    literal.is_list = is_list;
    return literal;
  }

  std::string add_size_node(const char* op_type, const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(op_type);
    node.set_name(unique_name(std::string("rulemill_") + op_type));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(unique_name("rulemill_sizes"));
    if (std::string_view(op_type) == "Concat")
      *node.add_attribute() = make_attribute_proto("axis", integers({0}, false));
    read_names_.insert(inputs.begin(), inputs.end());
    return node.output(0);
  }

  /// Aliases follow their value directly, because a subgraph may capture the alias.
  void write_aliases(ValueId id) {
    for (auto alias = aliases_.begin(); alias != aliases_.end();) {
      if (alias->second != id) {
        ++alias;
        continue;
      }
      onnx::NodeProto& node = *graph().add_node();
      node.set_op_type("Identity");
      node.set_name(unique_name("rulemill_Identity"));
      node.add_input(name_of(id));
      node.add_output(alias->first);
      read_names_.insert(name_of(id));
      alias = aliases_.erase(alias);
    }
  }

  /// Writes the aliases of inputs and constants.
  void write_aliases_of_sources() {
    std::set<ValueId> sources;
    for (const auto& [name, id] : aliases_) {
      if (!is_computed(id)) sources.insert(id);
    }
    for (ValueId id : sources) write_aliases(id);
  }

  /// Writes original initializers that are still read, and those that are defaults of inputs; then the new ones.
  void write_initializers() {
    for (const auto& tensor : original_.initializer()) {
      if (read_names_.contains(tensor.name()) || inputs_.contains(tensor.name())) *graph().add_initializer() = tensor;
    }
    for (auto& tensor : new_initializers_) *graph().add_initializer() = std::move(tensor);
  }

  /// Writes value infos without symbolic dimensions. Exporters give one name to dimensions that differ at some sizes,
  /// and onnxruntime shares a buffer between values of equal symbolic shapes.
  void write_value_infos() {
    std::set<std::string> written;
    for (const auto& node : graph().node()) written.insert(node.output().begin(), node.output().end());
    const auto has_symbolic_dims = [](const onnx::ValueInfoProto& info) {
      const auto& dims = info.type().tensor_type().shape().dim();
      return std::ranges::any_of(dims, [](const auto& dim) { return !dim.dim_param().empty(); });
    };
    for (const auto& info : original_.value_info()) {
      if (written.contains(info.name()) && !has_symbolic_dims(info)) *graph().add_value_info() = info;
    }
  }

  const onnx::GraphProto& original_;
  const int original_opset_;
  const ImportedModel& import_;
  GraphBank& bank_;
  ConstantFolder folder_;
  bool keep_constants_ = false;
  std::vector<ValueId> outputs_;
  OnnxModel result_;
  std::unordered_map<ValueId, std::string> names_;
  std::map<std::string, ValueId> aliases_;            // further names of values
  std::set<std::string> initializers_, inputs_;       // of the original model
  std::set<std::string> used_names_;                  // in the original model or generated
  std::set<std::string> result_names_;                // of values of the new graph
  std::set<std::string> read_names_;                  // read by a node or a graph output
  std::map<std::string, std::uint64_t> last_suffix_;  // by stem of a generated name
  std::vector<onnx::TensorProto> new_initializers_;
  RuntimeSizes runtime_sizes_;
  SizeWriter size_writer_;
};

}  // namespace

OnnxModel export_model(const OnnxModel& model, const ImportedModel& import, GraphBank& bank, ExportPlan plan,
                       std::span<const ValueId> outputs, std::unordered_map<ValueId, std::string>* names) {
  if (!plan.error.empty()) throw runtime::Error("export", plan.error);
  const bool keep_constants = plan.keep_constants;
  return Exporter(model, import, bank, outputs, keep_constants).run(std::move(plan), names);
}

}  // namespace rulemill::optimize
