#include "optimize/onnx/import.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "algebra/sizes/checked.h"
#include "optimize/onnx/captured_names.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/mapping/resolve_compound.h"
#include "optimize/onnx/mapping/resolve_normalization.h"
#include "optimize/onnx/shapes/opaque_shapes.h"
#include "optimize/onnx/shapes/shape_values.h"
#include "optimize/onnx/shapes/size_bounds.h"
#include "optimize/onnx/shapes/size_operators.h"
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

/// Whether the tensor may be scales: the ONNX library infers shapes from them.
bool is_short_float_list(const onnx::TensorProto& tensor) {
  constexpr std::int64_t max_length = 16;
  const bool is_inline = tensor.has_raw_data() || tensor.float_data_size() > 0;
  return tensor.data_type() == onnx::TensorProto::FLOAT && tensor.dims_size() == 1 && tensor.dims(0) <= max_length &&
         is_inline;
}

class Importer {
 public:
  Importer(const OnnxModel& model, GraphBank& bank, NodeInference* inference, const SizeBounds& bounds,
           const OuterTypes& outer_types, Normalizations normalizations)
      : proto_(model.proto()),
        bank_(bank),
        types_(model, bank.symbols(), inference, bounds),
        outer_types_(outer_types),
        normalizations_(normalizations) {
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
    for (const auto& [name, value] : result_.values) {
      if (const ValueType shape = types_.shape(name)) result_.shape_facts.shapes.emplace(name, *shape);
    }
    result_.shape_facts.values = std::move(shape_values_);
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

  /// Adds a constant of a supported type, and records integer values for mappings that read them.
  std::optional<ValueId> add_constant(const std::string& name, const onnx::TensorProto& tensor,
                                      std::optional<std::string_view> raw) {
    if (is_short_float_list(tensor)) known_tensors_.emplace(name, &tensor);
    if (auto literal = to_literal(tensor)) {
      if (!literal->float_value && !literal->as_float32) {
        known_tensors_.emplace(name, &tensor);
        shape_values_.emplace(name, ShapeValue{{tensor.dims().begin(), tensor.dims().end()}, literal->integers});
      }
      literals_.emplace(name, std::move(*literal));
    }
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
    OnnxLiteral literal = attribute_to_literal(attribute);
    if (literal.is_unsupported || literal.string_value) return std::nullopt;
    if (literal.float_value) {
      algebra::Tensor scalar{{}, {*literal.float_value}};
      literals_.emplace(node.output(0), std::move(literal));
      return bank_.constant(node.output(0), std::make_shared<const algebra::Tensor>(std::move(scalar)));
    }
    std::vector<std::int64_t> dims;
    if (literal.is_list) dims.push_back(static_cast<std::int64_t>(literal.integers.size()));
    shape_values_.emplace(node.output(0), ShapeValue{dims, literal.integers});
    literals_.emplace(node.output(0), std::move(literal));
    return std::nullopt;
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
    bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    if (standard) track_sizes(node);
    std::optional<ValueId> constant;
    if (standard && node.op_type() == "Constant" && node.attribute_size() == 1 && node.output_size() == 1) {
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
      if (lowered && lowered->steps.size() == 1 && is_identity(bank_.library().instance(lowered->steps[0].instance))) {
        elide(node, record, lowered->steps[0].arguments[0]);
      } else if (lowered) {
        record.lowered = std::move(*lowered);
        apply(node, position, record);
      } else {
        if (record.reason.empty()) record.reason = std::get<std::string>(resolved);
        lower_bound_ = find_lower_bound(query, types_.dynamic_dims(), bank_);
        add_opaque(node, position, record);
        record.non_float = std::ranges::all_of(node.output(), [&](const std::string& name) {
          return name.empty() || shape_values_.contains(name) || types_.is_non_float(name);
        });
      }
    }
    result_.nodes.push_back(std::move(record));
  }

  static bool returns_int64(const onnx::NodeProto& node) {
    const auto op = size_operator(node.op_type());
    if (op != SizeOperator::Cast) return !op || !returns_bool(*op);
    return node.attribute_size() > 0 && node.attribute(0).i() == onnx::TensorProto::INT64;
  }

  /// Returns what is known of the inputs; points into `shapes`.
  std::vector<ShapeOperand> shape_operands(const onnx::NodeProto& node, std::vector<ValueType>& shapes) {
    std::vector<ShapeOperand> operands;
    for (const auto& name : node.input()) shapes.push_back(types_.shape(name));
    for (int i = 0; i < node.input_size(); ++i) {
      const auto value = shape_values_.find(node.input(i));
      const ValueType& shape = shapes[static_cast<std::size_t>(i)];
      operands.push_back({value == shape_values_.end() ? nullptr : &value->second, shape ? &*shape : nullptr});
    }
    return operands;
  }

  /// Records integers that the node computes from shapes, and the shape of an opaque output.
  void track_sizes(const onnx::NodeProto& node) {
    if (node.op_type() == "Constant" || node.output_size() != 1) return;
    std::vector<ValueType> shapes;
    const std::vector<ShapeOperand> operands = shape_operands(node, shapes);
    std::optional<ShapeValue> value = evaluate_shape_node(node, operands, bank_.symbols());
    if (auto shape =
            value ? std::nullopt : infer_opaque_shape(node, operands, types_.dynamic_dims(), bank_.symbols())) {
      const bool has_type_input = shape->onnx_type == 0 && static_cast<int>(shape->type_input) < node.input_size();
      const int onnx_type =
          has_type_input ? types_.onnx_type(node.input(static_cast<int>(shape->type_input))) : shape->onnx_type;
      types_.set_derived_shape(node.output(0), onnx_type, shape->dims);
      for (const DynamicDim& size : types_.dynamic_dims()) {
        if (shape->required_bound && !size.upper_bound &&
            shape->required_bound->first == algebra::Poly(size.atom) + size.offset)
          upper_bound_ = {size.name, shape->required_bound->second};
      }
    }
    if (!value) return;
    OnnxLiteral literal;
    literal.is_list = value->dims.size() == 1;
    literal.integers = value->elements;
    if (value->dims.size() <= 1) {
      // The ONNX library infers types from these numbers.
      const bool numbers =
          std::ranges::all_of(literal.integers, [](const auto& element) { return element.constant().has_value(); });
      if (numbers && returns_int64(node)) {
        derived_integers_.push_back(make_integer_proto(node.output(0), literal));
        known_tensors_.emplace(node.output(0), &derived_integers_.back());
      }
      literals_.emplace(node.output(0), std::move(literal));
    }
    shape_values_.emplace(node.output(0), std::move(*value));
  }

  std::variant<LoweredNode, std::string> resolve(const NodeQuery& query) {
    try {
      return resolve_node_or_parts(query, bank_);
    } catch (const algebra::Overflow& overflow) {
      return overflow.what();
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
      auto literal = literals_.find(node.input(static_cast<int>(i)));
      query.description.constant_inputs.push_back(literal == literals_.end() ? std::nullopt
                                                                             : std::optional(literal->second));
    }
    for (const auto& attribute : node.attribute()) {
      query.description.attributes.emplace(attribute.name(), attribute_to_literal(attribute));
    }
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
      auto id = bank_.apply(step.instance, arguments, step.sizes);
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
    const std::string failure = types_.infer(node, record.captured_names, known_tensors_);
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
  std::unordered_map<std::string, OnnxLiteral> literals_;
  std::unordered_map<std::string, const onnx::TensorProto*> known_tensors_;
  std::deque<onnx::TensorProto> derived_integers_;
  std::unordered_map<std::string, ShapeValue> shape_values_;  // known integer values, by value name
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
