#include "optimize/onnx/export.h"

#include <algorithm>
#include <map>
#include <set>

#include "optimize/evaluate.h"
#include "optimize/onnx/model_proto.h"
#include "optimize/onnx/run_time_sizes.h"
#include "runtime/error.h"

namespace rulemill::optimize {

void collect_names(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& info : graph.input()) names.insert(info.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& node : graph.node()) {
    names.insert(node.name());
    names.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g(), names);
      for (const auto& body : attribute.graphs()) collect_names(body, names);
    }
  }
}

namespace {

class Exporter {
 public:
  Exporter(const OnnxModel& model, const Import& import, GraphBank& bank, std::span<const ValueId> outputs,
           bool keeps_constants)
      : original_(model.proto().model.graph()),
        import_(import),
        bank_(bank),
        folder_(bank),
        result_(model),
        run_time_sizes_(bank, import),
        sizes_(bank.symbols(), run_time_sizes_, size_output()) {
    keeps_constants_ = keeps_constants;
    for (ValueId output : outputs) outputs_.push_back(folded(output));
    used_ = model.proto().taken_names;
    collect_names(original_, used_);
    for (const auto& tensor : original_.initializer()) initializers_.insert(tensor.name());
    for (const auto& input : original_.input()) inputs_.insert(input.name());
    graph().clear_node();
    graph().clear_initializer();
    graph().clear_value_info();
  }

  OnnxModel run(ExportPlan plan) {
    for (ExportUnit& unit : plan.units) {
      for (auto& input : unit.inputs) {
        if (input) input = folded(*input);
      }
      for (auto& [name, value] : unit.attributes) value = folded(value);
    }
    reserve_names(plan);
    write_copies_of_sources();
    for (const ExportUnit& unit : plan.units) write_unit(unit);
    for (const auto& output : original_.output()) needed_.insert(output.name());
    write_initializers();
    write_value_infos();
    result_.check();
    return std::move(result_);
  }

 private:
  ValueId folded(ValueId id) { return keeps_constants_ ? id : folder_.folded(id); }

  onnx::GraphProto& graph() { return *result_.proto().model.mutable_graph(); }

  std::string fresh(const std::string& stem) {
    std::uint64_t& last = last_number_[stem];  // those below are taken
    std::string name = last == 0 ? stem : stem + "_" + std::to_string(last);
    while (!used_.insert(name).second) name = stem + "_" + std::to_string(++last);
    return name;
  }

  bool made_by_node(ValueId id) const {
    Node::Kind kind = bank_.node_of(id).kind;
    return kind == Node::Kind::Algebra || kind == Node::Kind::Opaque;
  }

  /// Names that must not change: of outputs, of values that a subgraph takes by name, of inputs and constants. A second
  /// name for one value is a copy.
  void demand(ValueId id, const std::string& name) {
    auto [entry, fresh_entry] = names_.emplace(id, name);
    if (!fresh_entry && entry->second != name) copies_.emplace(name, id);
    taken_.insert(name);
  }

  void reserve_names(const ExportPlan& plan) {
    for (ValueId input : import_.inputs) demand(input, bank_.value(input).name);
    auto sources = [&](ValueId id) {
      if (!made_by_node(id)) source(id);
    };
    for (const ExportUnit& unit : plan.units) {
      for (const auto& input : unit.inputs) {
        if (input) sources(*input);
      }
    }
    for (int i = 0; i < original_.output_size(); ++i) {
      sources(outputs_[static_cast<std::size_t>(i)]);
      demand(outputs_[static_cast<std::size_t>(i)], original_.output(i).name());
    }
    for (const ExportUnit& unit : plan.units) {
      const Node& node = bank_.node(unit.root);
      if (node.kind != Node::Kind::Opaque) continue;
      const auto& record = import_.nodes[*unit.original];
      for (std::size_t i = 0; i < record.captured_names.size(); ++i) {
        ValueId now = folded(node.arguments[node.arguments.size() - record.captured_names.size() + i]);
        sources(now);
        demand(now, record.captured_names[i]);
        needed_.insert(record.captured_names[i]);
      }
    }
  }

  /// An input, an initializer of the original, or a constant that is new.
  void source(ValueId id) {
    if (names_.contains(id)) return;
    std::string name = bank_.value(id).name;
    if (name.empty() || taken_.contains(name)) name = fresh("rulemill_constant");
    used_.insert(name);
    demand(id, name);
    const Node& node = bank_.node_of(id);
    if (node.kind != Node::Kind::Constant || initializers_.contains(name)) return;
    if (node.origin != Node::no_origin) {
      *graph().add_node() = original_.node(static_cast<int>(node.origin));
    } else {
      add_tensor(number_proto(name, *bank_.tensor(node.source), bank_.value(id).type.element));
    }
  }

  /// Before IR version 4 an initializer had to be a graph input too; a Constant node keeps the inputs as they were.
  void add_tensor(onnx::TensorProto tensor) {
    if (result_.proto().model.ir_version() >= 4) {
      new_initializers_.push_back(std::move(tensor));
      return;
    }
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type("Constant");
    node.set_name(fresh("rulemill_Constant"));
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
    if (name.empty() || taken_.contains(name)) name = fresh("rulemill_value");
    taken_.insert(name);
    used_.insert(name);
    return names_.emplace(id, name).first->second;
  }

  void write_unit(const ExportUnit& unit) {
    const std::vector<ValueId>& outputs = unit.outputs;
    onnx::NodeProto node;
    if (unit.original) {
      node = original_.node(static_cast<int>(*unit.original));
      for (std::size_t i = 0; i < unit.inputs.size(); ++i) {
        if (unit.inputs[i]) node.set_input(static_cast<int>(i), name_of(*unit.inputs[i]));
      }
      for (int i = 0; i < node.output_size(); ++i) {
        if (!node.output(i).empty()) node.set_output(i, name_of(outputs[static_cast<std::size_t>(i)]));
      }
    } else {
      node.set_op_type(unit.text.op_type);
      node.set_name(fresh("rulemill_" + unit.text.op_type));
      for (std::size_t i = 0; i < unit.inputs.size(); ++i) {
        node.add_input(unit.inputs[i] ? name_of(*unit.inputs[i])
                                      : add_literal(unit.text.constants[i], element_of_inputs(unit)));
      }
      for (const auto& [name, value] : unit.text.attributes) *node.add_attribute() = attribute_proto(name, value);
      for (const auto& [name, value] : unit.attributes) {
        OnnxLiteral number;
        number.number = bank_.tensor(bank_.node_of(value).source)->values.at(0);
        number.reals = unit.text.tensor_attributes.contains(name);
        *node.add_attribute() = attribute_proto(name, number);
      }
      for (ValueId output : outputs) node.add_output(name_of(output));
    }
    bool wrapped = !unit.original && unit.text.wrapper;
    std::string result = wrapped ? node.output(0) : "";
    if (wrapped) node.set_output(0, fresh("rulemill_value"));
    needed_.insert(node.input().begin(), node.input().end());
    *graph().add_node() = node;
    if (wrapped) {
      onnx::NodeProto& wrapper = *graph().add_node();
      wrapper.set_op_type(*unit.text.wrapper);
      wrapper.set_name(fresh("rulemill_" + *unit.text.wrapper));
      wrapper.add_input(node.output(0));
      wrapper.add_output(result);
    }
    for (ValueId output : outputs) write_copies_of(output);
  }

  /// What a number among the inputs must be: as those that are computed.
  Element element_of_inputs(const ExportUnit& unit) const {
    for (const auto& input : unit.inputs) {
      const ValueType type = input ? bank_.value(*input).type : ValueType();
      if (type && type.element != Element::Truth && type.element != Element::Integer) return type.element;
    }
    return Element::Float32;
  }

  std::string add_literal(const OnnxLiteral& literal, Element element) {
    if (literal.other) return "";
    const auto is_number = [](const algebra::Poly& value) { return value.constant().has_value(); };
    if (!std::ranges::all_of(literal.integers, is_number)) return sizes_.list(literal.integers);
    std::string name = fresh("rulemill_integers");
    if (literal.number) {
      add_tensor(number_proto(name, {{}, {*literal.number}}, element));
    } else {
      add_tensor(integer_proto(name, literal));
    }
    return name;
  }

  SizeWriter::Out size_output() {
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
    node.set_name(fresh(std::string("rulemill_") + op_type));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(fresh("rulemill_sizes"));
    if (op_type == onnx_name(SizeOperator::Concat))
      *node.add_attribute() = attribute_proto("axis", integers({0}, false));
    needed_.insert(inputs.begin(), inputs.end());
    return node.output(0);
  }

  /// As soon as the value is there, since a subgraph may take the copy.
  void write_copies_of(ValueId id) {
    for (auto copy = copies_.begin(); copy != copies_.end();) {
      if (copy->second != id) {
        ++copy;
        continue;
      }
      onnx::NodeProto& node = *graph().add_node();
      node.set_op_type("Identity");
      node.set_name(fresh("rulemill_Identity"));
      node.add_input(name_of(id));
      node.add_output(copy->first);
      needed_.insert(name_of(id));
      copy = copies_.erase(copy);
    }
  }

  /// Copies of inputs and constants.
  void write_copies_of_sources() {
    std::set<ValueId> sources;
    for (const auto& [name, id] : copies_) {
      if (!made_by_node(id)) sources.insert(id);
    }
    for (ValueId id : sources) write_copies_of(id);
  }

  /// Those of the original that are still used, as they were; one that is an input too gives that input its default.
  void write_initializers() {
    for (const auto& tensor : original_.initializer()) {
      if (needed_.contains(tensor.name()) || inputs_.contains(tensor.name())) *graph().add_initializer() = tensor;
    }
    for (auto& tensor : new_initializers_) *graph().add_initializer() = std::move(tensor);
  }

  /// Those without names of sizes: exporters name sizes that differ where an image is small, and onnxruntime gives
  /// values of equal names one buffer.
  void write_value_infos() {
    std::set<std::string> written;
    for (const auto& node : graph().node()) written.insert(node.output().begin(), node.output().end());
    const auto names_a_size = [](const onnx::ValueInfoProto& info) {
      const auto& dims = info.type().tensor_type().shape().dim();
      return std::ranges::any_of(dims, [](const auto& dim) { return !dim.dim_param().empty(); });
    };
    for (const auto& info : original_.value_info()) {
      if (written.contains(info.name()) && !names_a_size(info)) *graph().add_value_info() = info;
    }
  }

  const onnx::GraphProto& original_;
  const Import& import_;
  GraphBank& bank_;
  ConstantFolder folder_;
  bool keeps_constants_ = false;
  std::vector<ValueId> outputs_;
  OnnxModel result_;
  std::unordered_map<ValueId, std::string> names_;
  std::map<std::string, ValueId> copies_;             // further names
  std::set<std::string> initializers_, inputs_;       // of the original
  std::set<std::string> used_;                        // anywhere in the original, or given since
  std::set<std::string> taken_;                       // by a value of the new graph
  std::set<std::string> needed_;                      // read by a node or an output
  std::map<std::string, std::uint64_t> last_number_;  // by stem of a fresh name
  std::vector<onnx::TensorProto> new_initializers_;
  RunTimeSizes run_time_sizes_;
  SizeWriter sizes_;
};

}  // namespace

OnnxModel export_model(const OnnxModel& model, const Import& import, GraphBank& bank, ExportPlan plan,
                       std::span<const ValueId> outputs) {
  if (!plan.refusal.empty()) throw runtime::Error("export", plan.refusal);
  const bool keeps_constants = plan.keeps_constants;
  return Exporter(model, import, bank, outputs, keeps_constants).run(std::move(plan));
}

}  // namespace rulemill::optimize
