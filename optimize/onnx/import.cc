#include "optimize/onnx/import.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "algebra/sizes/checked.h"
#include "optimize/onnx/bodies.h"
#include "optimize/onnx/least_sizes.h"
#include "optimize/onnx/model_proto.h"
#include "optimize/onnx/opaque_shapes.h"
#include "optimize/onnx/shape_values.h"
#include "optimize/onnx/size_operators.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// Whether the instance gives back its input, element by element.
bool copies(const algebra::Instance& instance) {
  if (instance.inputs.size() != 1 || instance.outputs.size() != 1) return false;
  const algebra::TensorDefinition& output = instance.outputs[0];
  if (instance.input_kinds[0] != output.kind) return false;
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
           const OuterTypes& outer_types)
      : proto_(model.proto()),
        bank_(bank),
        types_(model, bank.symbols(), inference, bounds),
        outer_types_(outer_types) {
    for (const auto& input : proto_.model.graph().input()) input_names_.insert(input.name());
    for (const auto& [size, most] : bounds.most) known_sizes_ += size + "<=" + std::to_string(most) + ";";
  }

  /// What the model is, or that a size must be larger or smaller than it was taken for.
  std::variant<Import, TooSmall, TooLarge> run() {
    add_initializers();
    add_inputs();
    const auto& graph = proto_.model.graph();
    for (int i = 0; i < graph.node_size(); ++i) {
      add_node(graph.node(i), static_cast<std::uint32_t>(i));
      if (too_small_) return *too_small_;
      if (too_large_) return *too_large_;
    }
    for (const auto& output : graph.output()) result_.outputs.push_back(known(output.name()));
    result_.sizes = types_.sizes();
    return std::move(result_);
  }

 private:
  /// Before IR version 4 every initializer had to be an input too; since then one that is can be overridden.
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

  /// The float constant, if it is one; integers are remembered for mappings that ask for them.
  std::optional<ValueId> add_constant(const std::string& name, const onnx::TensorProto& tensor,
                                      std::optional<std::string_view> raw) {
    if (auto literal = literal_tensor(tensor)) {
      if (!literal->number && !literal->reals) {
        integers_.emplace(name, &tensor);
        shapes_.emplace(name, ShapeValue{{tensor.dims().begin(), tensor.dims().end()}, literal->integers});
      }
      literals_.emplace(name, std::move(*literal));
    }
    const auto count = element_count(tensor);
    const auto element = element_of(tensor.data_type());
    if (!element || !count || *count == 0) return std::nullopt;
    std::vector<std::int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    if (raw && !tensor.has_raw_data() && element != Element::Integer) {
      // Where the data lie tells them from all others; they are read when they are needed.
      const std::string place = std::to_string(reinterpret_cast<std::uintptr_t>(raw->data()));
      const int type = tensor.data_type();
      const auto read = [shape, type, raw = *raw, owners = proto_.owners] {
        return std::make_shared<const algebra::Tensor>(algebra::Tensor{shape, numbers_of(type, raw)});
      };
      return bank_.constant(name, place, shape, read, *element);
    }
    auto values = number_tensor(tensor, raw);
    if (!values) return std::nullopt;
    return bank_.constant(name, std::make_shared<algebra::Tensor>(std::move(*values)), *element);
  }

  /// Of a Constant node, however it says its value.
  std::optional<ValueId> add_constant(const onnx::NodeProto& node) {
    const onnx::AttributeProto& said = node.attribute(0);
    if (said.has_t()) return add_constant(node.output(0), said.t(), raw_inside(said.t()));
    OnnxLiteral literal = attribute_literal(said);
    if (literal.other || literal.word) return std::nullopt;
    if (literal.number) {
      algebra::Tensor scalar{{}, {*literal.number}};
      literals_.emplace(node.output(0), std::move(literal));
      return bank_.constant(node.output(0), std::make_shared<const algebra::Tensor>(std::move(scalar)));
    }
    std::vector<std::int64_t> dims;
    if (literal.is_list) dims.push_back(static_cast<std::int64_t>(literal.integers.size()));
    shapes_.emplace(node.output(0), ShapeValue{dims, literal.integers});
    literals_.emplace(node.output(0), std::move(literal));
    return std::nullopt;
  }

  void add_inputs() {
    for (const auto& input : proto_.model.graph().input()) {
      if (result_.values.contains(input.name())) continue;
      const auto outside = outer_types_.find(input.name());
      if (outside != outer_types_.end() && outside->second) types_.computed(input.name(), outside->second);
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
    if (standard) follow_sizes(node);
    std::optional<ValueId> constant;
    if (standard && node.op_type() == "Constant" && node.attribute_size() == 1 && node.output_size() == 1) {
      constant = add_constant(node);
      record.reason = Import::NodeRecord::constant_reason;
    }
    if (constant) {
      define(node.output(0), *constant);
      types_.computed(node.output(0), bank_.value(*constant).type);
      record.node = bank_.value(*constant).node;
      bank_.set_origin(record.node, position);
    } else if (!standard) {
      record.reason = "domain " + node.domain();
      add_opaque(node, position, record);
    } else {
      const OnnxQuestion asked = question(node, record);
      auto solved = solved_or_reason(asked);
      auto* recipe = std::get_if<Recipe>(&solved);
      if (recipe && recipe->steps.size() == 1 && copies(bank_.library().instance(recipe->steps[0].instance))) {
        drop(node, record, recipe->steps[0].arguments[0]);
      } else if (recipe) {
        record.recipe = std::move(*recipe);
        apply(node, position, record);
      } else {
        if (record.reason.empty()) record.reason = std::get<std::string>(solved);
        too_small_ = too_small(asked, types_.sizes(), bank_);

        add_opaque(node, position, record);
        record.no_float = std::ranges::all_of(node.output(), [&](const std::string& name) {
          return name.empty() || shapes_.contains(name) || types_.is_no_float(name);
        });
      }
    }
    result_.nodes.push_back(std::move(record));
  }

  static bool gives_int64(const onnx::NodeProto& node) {
    const auto op = size_operator(node.op_type());
    if (op != SizeOperator::Cast) return !op || !gives_truths(*op);
    return node.attribute_size() > 0 && node.attribute(0).i() == onnx::TensorProto::INT64;
  }

  /// The shapes that are looked at stand in `shapes`.
  std::vector<ShapeOperand> known_of_inputs(const onnx::NodeProto& node, std::vector<ValueType>& shapes) {
    std::vector<ShapeOperand> operands;
    for (const auto& name : node.input()) shapes.push_back(types_.shape(name));
    for (int i = 0; i < node.input_size(); ++i) {
      const auto value = shapes_.find(node.input(i));
      const ValueType& shape = shapes[static_cast<std::size_t>(i)];
      operands.push_back({value == shapes_.end() ? nullptr : &value->second, shape ? &*shape : nullptr});
    }
    return operands;
  }

  /// Integers that the node computes from shapes are known by name from here on.
  void follow_sizes(const onnx::NodeProto& node) {
    if (node.op_type() == "Constant" || node.output_size() != 1) return;
    std::vector<ValueType> shapes;
    const std::vector<ShapeOperand> operands = known_of_inputs(node, shapes);
    std::optional<ShapeValue> value;
    try {
      value = shape_value(node, operands, bank_.symbols());
    } catch (const algebra::Overflow&) {  // what the runtime makes of it is not known
    }
    if (auto shape = value ? std::nullopt : opaque_shape(node, operands, types_.sizes(), bank_.symbols())) {
      const bool as_input = shape->element == 0 && static_cast<int>(shape->as_input) < node.input_size();
      const int element =
          as_input ? types_.element_type(node.input(static_cast<int>(shape->as_input))) : shape->element;
      types_.follows(node.output(0), element, shape->dims);
      for (const OpenSize& size : types_.sizes()) {
        if (shape->at_most && !size.most && shape->at_most->first == algebra::Poly(size.atom) + size.above)
          too_large_ = {size.name, shape->at_most->second};
      }
    }
    if (!value) return;
    OnnxLiteral literal;
    literal.is_list = value->dims.size() == 1;
    literal.integers = value->elements;
    if (value->dims.size() <= 1) {
      // The ONNX library types what takes the numbers.
      const bool numbers =
          std::ranges::all_of(literal.integers, [](const auto& element) { return element.constant().has_value(); });
      if (numbers && gives_int64(node)) {
        made_integers_.push_back(integer_proto(node.output(0), literal));
        integers_.emplace(node.output(0), &made_integers_.back());
      }
      literals_.emplace(node.output(0), std::move(literal));
    }
    shapes_.emplace(node.output(0), std::move(*value));
  }

  std::variant<Recipe, std::string> solved_or_reason(const OnnxQuestion& asked) {
    try {
      return solve(asked, bank_);
    } catch (const algebra::Overflow& overflow) {
      return overflow.what();
    }
  }

  OnnxQuestion question(const onnx::NodeProto& node, const Import::NodeRecord& record) {
    OnnxQuestion asked;
    asked.facts.op_type = node.op_type();
    if (node.input_size() > 0) {
      const ValueType first = types_.type(node.input(0));
      if (first) asked.facts.kind = data_type_of(first.element);
    }
    asked.opset = proto_.opset;
    asked.inputs = record.inputs;
    while (!asked.inputs.empty() && !asked.inputs.back()) asked.inputs.pop_back();
    for (std::size_t i = 0; i < asked.inputs.size(); ++i) {
      asked.facts.absent_inputs.push_back(node.input(static_cast<int>(i)).empty());
      auto literal = literals_.find(node.input(static_cast<int>(i)));
      asked.facts.constant_inputs.push_back(literal == literals_.end() ? std::nullopt : std::optional(literal->second));
    }
    for (const auto& attribute : node.attribute()) {
      asked.facts.attributes.emplace(attribute.name(), attribute_literal(attribute));
    }
    int outputs = node.output_size();
    while (outputs > 0 && node.output(outputs - 1).empty()) --outputs;
    // What is said of the model's outputs must agree; elsewhere a node that does not is not what a definition means.
    for (int i = 0; i < outputs; ++i) {
      asked.outputs.push_back(types_.is_output(node.output(i)) ? std::nullopt : types_.type(node.output(i)));
    }
    return asked;
  }

  void apply(const onnx::NodeProto& node, std::uint32_t position, Import::NodeRecord& record) {
    std::vector<NodeId> made;
    for (double literal : record.recipe.literals) {
      algebra::Tensor scalar{{}, {literal}};
      record.literals.push_back(bank_.constant("", std::make_shared<const algebra::Tensor>(std::move(scalar)),
                                               record.recipe.literal_element));
    }
    auto value = [&](const Recipe::Reference& from) {
      switch (from.from) {
        case Recipe::Reference::From::Input:
          return *record.inputs[from.number];
        case Recipe::Reference::From::Literal:
          return record.literals[from.number];
        default:
          return bank_.node(made[from.number]).outputs[from.output];
      }
    };
    for (const Recipe::Step& step : record.recipe.steps) {
      std::vector<ValueId> arguments;
      for (const Recipe::Reference& from : step.arguments) arguments.push_back(value(from));
      auto id = bank_.apply(step.instance, arguments, step.sizes);
      RM_CHECK(id, node.op_type() + " typed when its mapping was found, and does not now");
      bank_.set_origin(*id, position);
      made.push_back(*id);
    }
    record.node = made.back();
    for (std::size_t i = 0; i < record.recipe.outputs.size(); ++i) {
      record.outputs.push_back(value(record.recipe.outputs[i]));
      const std::string& name = node.output(static_cast<int>(i));
      if (name.empty()) continue;
      types_.computed(name, bank_.value(record.outputs.back()).type);
      define(name, record.outputs.back());
    }
  }

  void drop(const onnx::NodeProto& node, Import::NodeRecord& record, const Recipe::Reference& argument) {
    const ValueId value = *record.inputs[argument.number];
    record.dropped = true;
    record.node = bank_.value(value).node;
    types_.computed(node.output(0), bank_.value(value).type);
    define(node.output(0), value);
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
    const std::string failure = types_.infer(node, record.captured_names, integers_);
    if (!failure.empty()) record.reason += "; the ONNX library could not type it (" + failure + ")";
    std::vector<ValueType> types;
    for (const auto& name : node.output()) types.push_back(name.empty() ? std::nullopt : types_.type(name));
    record.node = bank_.opaque(key.SerializeAsString() + known_sizes_, arguments, types);
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
  Import result_;
  std::unordered_map<std::string, OnnxLiteral> literals_;
  std::unordered_map<std::string, const onnx::TensorProto*> integers_;
  std::deque<onnx::TensorProto> made_integers_;
  std::unordered_map<std::string, ShapeValue> shapes_;  // integers whose value is known
  std::set<std::string> input_names_;
  std::string known_sizes_;  // types of opaque nodes depend on them
  std::optional<TooSmall> too_small_;
  std::optional<TooLarge> too_large_;
};

}  // namespace

Import import_model(const OnnxModel& model, GraphBank& bank, NodeInference* inference, SizeBounds bounds,
                    const OuterTypes& outer_types) {
  while (true) {
    auto result = Importer(model, bank, inference, bounds, outer_types).run();
    if (auto* import = std::get_if<Import>(&result)) {
      import->bounds = std::move(bounds);
      return std::move(*import);
    }
    if (const auto* large = std::get_if<TooLarge>(&result)) {
      bounds.most.emplace(large->size, large->most);  // once for each
      continue;
    }
    const TooSmall& found = std::get<TooSmall>(result);
    std::int64_t& now = bounds.least[found.size];  // grows each time, and is bounded
    RM_CHECK(found.least > now, "a size that was too small grows");
    now = found.least;
  }
}

}  // namespace rulemill::optimize
