#include "optimize/onnx/import.h"

#include <algorithm>
#include <set>

#include "algebra/sizes/checked.h"
#include "optimize/onnx/format/captured_names.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/mapping/resolve_compound.h"
#include "optimize/onnx/mapping/resolve_normalization.h"
#include "optimize/onnx/operators/node_arguments.h"
#include "optimize/onnx/shapes/known_values.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// Whether the instance is the identity, element by element.
bool is_identity(const algebra::OperatorInstance& instance) {
  if (instance.inputs.size() != 1 || instance.outputs.size() != 1) return false;
  const algebra::TensorDefinition& output = instance.outputs[0];
  if (instance.input_scalar_kinds[0] != output.scalar_kind) return false;
  const algebra::ScalarExpr& body = *output.body;
  if (body.kind != algebra::ScalarExpr::Kind::Read || body.tensor != 0) return false;
  if (output.dims.size() != instance.inputs[0].size() || body.indices.size() != output.dims.size()) return false;
  for (std::uint32_t d = 0; d < output.dims.size(); ++d) {
    const algebra::IndexExpr &size = *output.dims[d], &from = *instance.inputs[0][d], &index = *body.indices[d];
    using Kind = algebra::IndexExpr::Kind;
    if (index.kind != Kind::Index || index.slot != d || size.kind != Kind::Size || from.kind != Kind::Size ||
        size.slot != from.slot) {
      return false;
    }
  }
  return true;
}

class Importer {
 public:
  Importer(const OnnxModel& model, GraphBank& bank, NodeInference* inference, const SizeBounds& bounds,
           const OuterTypes& outer_types, Normalizations normalizations)
      : proto_(model.proto()),
        bank_(bank),
        types_(model, bank.symbols(), inference, bounds),
        outer_types_(outer_types),
        normalizations_(normalizations),
        known_(proto_, types_, bank.symbols(), bounds) {
    for (const auto& input : proto_.model.graph().input()) input_names_.insert(input.name());
    for (const auto& [size, upper] : bounds.upper) bounds_key_ += size + "<=" + std::to_string(upper) + ";";
  }

  /// Returns the imported model, or a bound of a dynamic dimension that the import must assume.
  std::variant<ImportedModel, LowerBound, UpperBound> run() {
    add_initializers();
    add_inputs();
    const auto& graph = proto_.model.graph();
    for (int i = 0; i < graph.node_size(); ++i) {
      add_node(graph.node(i), static_cast<std::uint32_t>(i));
      if (lower_bound_) return *lower_bound_;
      if (upper_bound_) return *upper_bound_;
    }
    for (const auto& output : graph.output()) result_.outputs.push_back(find_value(output.name()));
    result_.dynamic_dims = types_.dynamic_dims();
    result_.invalid_node = types_.invalid_node();
    for (const auto& [name, value] : result_.values) {
      KnownTensor known = known_.find(name);
      if (known.numbers && !known.numbers->owner) known.numbers.reset();  // the model may not live as long
      if (known.dims) result_.known_values.emplace(name, std::move(known));
    }
    return std::move(result_);
  }

 private:
  /// Before IR version 4 every initializer had to be a graph input; since then one that is an input can be overridden.
  bool overridable(const std::string& name) const {
    if (proto_.model.ir_version() < 4) return false;
    return input_names_.contains(name);
  }

  void add_initializers() {
    for (const auto& tensor : proto_.model.graph().initializer()) {
      if (overridable(tensor.name())) continue;
      auto id = add_constant(tensor.name(), tensor, proto_.raw(tensor));
      define(tensor.name(), id ? *id : bank_.input(tensor.name(), std::nullopt));
    }
    for (const auto& tensor : proto_.model.graph().sparse_initializer()) {
      define(tensor.values().name(), bank_.input(tensor.values().name(), std::nullopt));
    }
  }

  /// Adds a constant of a supported type.
  std::optional<ValueId> add_constant(const std::string& name, const onnx::TensorProto& tensor,
                                      std::optional<std::string_view> raw) {
    known_.add_constant(name, tensor, raw);
    const auto count = element_count(tensor);
    const auto data_type = to_data_type(tensor.data_type());
    if (!data_type || !count || *count == 0) return std::nullopt;
    std::vector<std::int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    const auto detached = proto_.detached_data.find(name);
    if (raw && !tensor.has_raw_data() && data_type != DataType::Integer && detached != proto_.detached_data.end()) {
      // The elements are decoded when they are needed.
      std::string content = detached->second.digest();
      for (const std::int64_t dim : shape) content += "," + std::to_string(dim);
      const int type = tensor.data_type();
      const auto read = [shape, type, raw = *raw, owners = proto_.owners] {
        return std::make_shared<const algebra::Tensor>(algebra::Tensor{shape, decode_elements(type, raw)});
      };
      return bank_.constant(name, content, shape, read, *data_type);
    }
    auto values = to_tensor(tensor, raw);
    if (!values) return std::nullopt;
    return bank_.constant(name, std::make_shared<algebra::Tensor>(std::move(*values)), *data_type);
  }

  /// Adds the value of a Constant node, from any of its attributes.
  std::optional<ValueId> add_constant(const onnx::NodeProto& node) {
    const onnx::AttributeProto& attribute = node.attribute(0);
    if (attribute.has_t()) return add_constant(node.output(0), attribute.t(), inline_raw_data(attribute.t()));
    const KnownTensor known = known_.find(node.output(0));
    if (!known.numbers) return std::nullopt;
    const onnx::TensorProto tensor = to_proto(node.output(0), *known.numbers);
    return add_constant(node.output(0), tensor, inline_raw_data(tensor));
  }

  void add_inputs() {
    for (const auto& input : proto_.model.graph().input()) {
      if (result_.values.contains(input.name())) continue;
      const auto outside = outer_types_.find(input.name());
      if (outside != outer_types_.end() && outside->second) types_.set_type(input.name(), outside->second);
      ValueId id = bank_.input(input.name(), types_.type(input.name()));
      define(input.name(), id);
      result_.inputs.push_back(id);
    }
  }

  void define(const std::string& name, ValueId id) {
    result_.values[name] = id;
    bank_.set_name(id, name);
  }

  ValueId find_value(const std::string& name) const {
    auto found = result_.values.find(name);
    if (found == result_.values.end()) throw runtime::InputError(proto_.origin, "value " + name + " is not defined");
    return found->second;
  }

  void add_node(const onnx::NodeProto& node, std::uint32_t position) {
    ImportedModel::NodeRecord record;
    record.name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    record.op_type = node.op_type();
    for (const auto& name : node.input()) {
      record.inputs.push_back(name.empty() ? std::nullopt : std::optional(find_value(name)));
    }
    for (const std::string& name : captured_names(node)) {
      record.captured.push_back(find_value(name));
      record.captured_names.push_back(name);
    }
    upper_bound_ = known_.add_node(node);
    std::optional<ValueId> constant;
    if (is_standard(node) && node.op_type() == "Constant" && node.attribute_size() == 1 && node.output_size() == 1) {
      constant = add_constant(node);
      record.reason = ImportedModel::NodeRecord::constant_reason;
    }
    if (constant) {
      define(node.output(0), *constant);
      types_.set_type(node.output(0), bank_.value(*constant).type);
      record.node = bank_.value(*constant).node;
      bank_.set_origin(record.node, position);
    } else {
      const NodeQuery query = make_query(node, record);
      if (is_normalization(query.description)) ++result_.normalizations;
      auto resolved = resolve(query);
      auto* lowered = std::get_if<LoweredNode>(&resolved);
      if (lowered && returns_input(*lowered)) {
        elide(node, record, lowered->steps[0].arguments[0]);
      } else if (lowered) {
        record.lowered = std::move(*lowered);
        apply(node, position, record);
      } else {
        if (record.reason.empty()) record.reason = std::get<std::string>(resolved);
        if (is_standard(node) && node.op_type() == "Einsum") ++result_.normalizations;
        lower_bound_ = find_lower_bound(query, types_.dynamic_dims(), bank_);
        add_opaque(node, position, record);
        record.non_float = std::ranges::all_of(node.output(), [&](const std::string& name) {
          return name.empty() || known_.find(name).has_elements() || types_.is_non_float(name);
        });
      }
    }
    result_.nodes.push_back(std::move(record));
  }

  std::variant<LoweredNode, std::string> resolve(const NodeQuery& query) {
    try {
      return resolve_node_or_parts(query, bank_);
    } catch (const algebra::Overflow& overflow) {
      return overflow.what();
    }
  }

  /// Spells out what a node leaves to ONNX: the order of a Transpose, the axes of a Squeeze, and the dimensions that a
  /// Reshape copies or infers.
  void complete(const onnx::NodeProto& node, NodeQuery& query) {
    ValueType from = is_standard(node) && node.input_size() > 0 ? types_.shape(node.input(0)) : std::nullopt;
    const auto to = from ? known_.computed_shape(node.output(0)) : std::nullopt;
    if (!to) return;
    NodeDescription& description = query.description;
    OnnxLiteral list;
    list.is_list = true;
    if (node.op_type() == "Transpose" && description.attributes.empty()) {
      for (std::size_t d = from->size(); d-- > 0;) list.integers.emplace_back(static_cast<std::int64_t>(d));
      description.attributes.emplace("perm", std::move(list));
    } else if (node.op_type() == "Reshape" && query.inputs.size() == 2) {
      list.integers = *to;
      description.constant_inputs[1] = std::move(list);
    } else if (node.op_type() == "Squeeze" && query.inputs.size() == 1 && description.attributes.empty()) {
      for (std::size_t d = 0; d < from->size(); ++d)
        if ((*from)[d] == algebra::Poly(1)) list.integers.emplace_back(static_cast<std::int64_t>(d));
      constexpr int axes_input_opset = 13;
      if (proto_.opset < axes_input_opset) {
        description.attributes.emplace("axes", std::move(list));
      } else {
        query.inputs.emplace_back();
        description.absent_inputs.push_back(false);
        description.constant_inputs.emplace_back(std::move(list));
      }
    }
  }

  NodeQuery make_query(const onnx::NodeProto& node, const ImportedModel::NodeRecord& record) {
    NodeQuery query;
    query.description.op_type = node.op_type();
    if (node.domain() != "ai.onnx") query.description.domain = node.domain();
    if (node.input_size() > 0) {
      const ValueType first = types_.type(node.input(0));
      if (first) query.description.onnx_type = to_onnx_type(first.data_type);
    }
    query.opset = proto_.opset;
    query.normalizations = normalizations_;
    query.inputs = record.inputs;
    while (!query.inputs.empty() && !query.inputs.back()) query.inputs.pop_back();
    for (std::size_t i = 0; i < query.inputs.size(); ++i) {
      query.description.absent_inputs.push_back(node.input(static_cast<int>(i)).empty());
      query.description.constant_inputs.push_back(known_.literal(node.input(static_cast<int>(i))));
    }
    for (const auto& attribute : node.attribute()) {
      query.description.attributes.emplace(attribute.name(), attribute_to_literal(attribute));
    }
    complete(node, query);
    int outputs = node.output_size();
    while (outputs > 0 && node.output(outputs - 1).empty()) --outputs;
    // Declared types of graph outputs must agree with the definition; an inner value's declared type decides whether
    // the definition applies.
    for (int i = 0; i < outputs; ++i) {
      query.outputs.push_back(types_.is_output(node.output(i)) ? std::nullopt : types_.type(node.output(i)));
    }
    return query;
  }

  void apply(const onnx::NodeProto& node, std::uint32_t position, ImportedModel::NodeRecord& record) {
    std::vector<NodeId> nodes;
    for (double literal : record.lowered.literals) {
      algebra::Tensor scalar{{}, {literal}};
      record.literals.push_back(
          bank_.constant("", std::make_shared<const algebra::Tensor>(std::move(scalar)), record.lowered.literal_type));
    }
    auto value = [&](const LoweredNode::Reference& from) {
      switch (from.source) {
        case LoweredNode::Reference::Source::Input:
          return *record.inputs[from.number];
        case LoweredNode::Reference::Source::Literal:
          return record.literals[from.number];
        default:
          return bank_.node(nodes[from.number]).outputs[from.output];
      }
    };
    for (const LoweredNode::Step& step : record.lowered.steps) {
      std::vector<ValueId> arguments;
      for (const LoweredNode::Reference& from : step.arguments) arguments.push_back(value(from));
      auto id = bank_.apply(step.instance, arguments, step.sizes, record.lowered.literal_type);
      RM_CHECK(id, node.op_type() + " must type as it did when its mapping was found");
      bank_.set_origin(*id, position);
      nodes.push_back(*id);
    }
    record.node = nodes.back();
    for (std::size_t i = 0; i < record.lowered.outputs.size(); ++i) {
      record.outputs.push_back(value(record.lowered.outputs[i]));
      const std::string& name = node.output(static_cast<int>(i));
      if (name.empty()) continue;
      types_.set_type(name, bank_.value(record.outputs.back()).type);
      define(name, record.outputs.back());
    }
  }

  bool returns_input(const LoweredNode& lowered) const {
    return lowered.steps.size() == 1 && is_identity(bank_.library().instance(lowered.steps[0].instance)) &&
           lowered.steps[0].arguments[0].source == LoweredNode::Reference::Source::Input;
  }

  void elide(const onnx::NodeProto& node, ImportedModel::NodeRecord& record, const LoweredNode::Reference& argument) {
    const ValueId value = *record.inputs[argument.number];
    record.elided = true;
    record.node = bank_.value(value).node;
    types_.set_type(node.output(0), bank_.value(value).type);
    define(node.output(0), value);
  }

  void add_opaque(const onnx::NodeProto& node, std::uint32_t position, ImportedModel::NodeRecord& record) {
    onnx::NodeProto key = node;
    key.clear_input();
    // The set of absent inputs is part of the key; the values of inputs are arguments.
    for (const auto& name : node.input()) key.add_input(name.empty() ? "" : "x");
    std::vector<ValueId> arguments;
    for (const auto& input : record.inputs) {
      if (input) arguments.push_back(*input);
    }
    arguments.insert(arguments.end(), record.captured.begin(), record.captured.end());
    const std::string failure = known_.add_types(node, record.captured_names);
    if (!failure.empty()) record.reason += "; the ONNX library could not type it (" + failure + ")";
    std::vector<ValueType> types;
    for (const auto& name : node.output()) types.push_back(name.empty() ? std::nullopt : types_.type(name));
    record.node = bank_.opaque(key.SerializeAsString() + bounds_key_, arguments, types);
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
  const OuterTypes& outer_types_;
  const Normalizations normalizations_;
  ImportedModel result_;
  KnownValues known_;
  std::set<std::string> input_names_;
  std::string bounds_key_;  // upper bounds, part of the key of opaque nodes, because their types depend on them
  std::optional<LowerBound> lower_bound_;
  std::optional<UpperBound> upper_bound_;
};

}  // namespace

ImportedModel import_model(const OnnxModel& model, GraphBank& bank, NodeInference* inference, SizeBounds bounds,
                           const OuterTypes& outer_types, Normalizations normalizations) {
  while (true) {
    auto result = Importer(model, bank, inference, bounds, outer_types, normalizations).run();
    if (auto* import = std::get_if<ImportedModel>(&result)) {
      import->bounds = std::move(bounds);
      return std::move(*import);
    }
    if (const auto* upper = std::get_if<UpperBound>(&result)) {
      bounds.upper.emplace(upper->size, upper->value);  // each dimension gets at most one
      continue;
    }
    const LowerBound& found = std::get<LowerBound>(result);
    std::int64_t& lower = bounds.lower[found.size];  // increases in each iteration, and is bounded
    RM_CHECK(found.value > lower, "a raised lower bound must exceed the previous one");
    lower = found.value;
  }
}

}  // namespace rulemill::optimize
