#include "optimize/onnx/mapping/resolve_node.h"

#include "algebra/operators/aten_domain.h"
#include "optimize/onnx/mapping/mapping_matcher.h"
#include "optimize/onnx/mapping/node_bindings.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using algebra::GenericOnnxMapping;
using algebra::ParameterKind;
using Source = LoweredNode::Reference::Source;

class NodeResolver {
 public:
  NodeResolver(const NodeQuery& query, GraphBank& bank) : query_(query), bank_(bank) {}

  std::variant<LoweredNode, std::string> run() {
    const std::vector<GenericOnnxMapping> mappings =
        bank_.library().onnx_mappings(query_.description.op_type, query_.description.domain);
    if (mappings.empty()) {
      const std::string& domain = query_.description.domain;
      return "no operator maps to " + (domain.empty() ? "" : domain + ".") + query_.description.op_type;
    }
    // Mappings without broadcasting are tried first.
    for (const bool broadcast : {false, true}) {
      for (const GenericOnnxMapping& mapping : mappings) {
        if ((!broadcast || !mapping.spreads.empty()) && try_mapping(mapping, broadcast)) return lowered_;
      }
    }
    return reason_.empty() ? "no instance fits its inputs" : reason_;
  }

 private:
  const algebra::Shape* shape(std::size_t input) const {
    const auto& value = query_.inputs[input];
    return value && bank_.value(*value).type ? &*bank_.value(*value).type : nullptr;
  }

  DataType data_type(std::size_t input) const { return bank_.value(*query_.inputs[input]).type.data_type; }

  /// The data type of scalar literals: that of the other inputs.
  DataType literal_data_type() const {
    for (std::size_t i = 0; i < query_.inputs.size(); ++i) {
      if (shape(i) != nullptr && data_type(i) != DataType::Bool && data_type(i) != DataType::Integer)
        return data_type(i);
    }
    return DataType::Float32;
  }

  bool try_mapping(const GenericOnnxMapping& mapping, bool broadcast) {
    try {
      return try_mapping_unguarded(mapping, broadcast);
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      return reject(error.what());
    }
  }

  bool try_mapping_unguarded(const GenericOnnxMapping& mapping, bool broadcast) {
    if (query_.opset < mapping.since || query_.opset >= mapping.until) return false;
    const std::size_t inputs = query_.inputs.size(), outputs = query_.outputs.size();
    if (inputs != mapping.inputs.size() && !(mapping.variadic && inputs > mapping.inputs.size())) return false;
    if (outputs != mapping.outputs && !(mapping.variadic_outputs && outputs > 1)) return false;
    lowered_ = {};
    lowered_.replaces_node = mapping.domain == algebra::aten_domain;
    MatchAttempt attempt;
    attempt.mapping = &mapping;
    attempt.description = query_.description;
    if (!collect_arguments(attempt)) return false;
    if (mapping.variadic_outputs) return try_splits(attempt);
    auto output_shapes = try_attempt(attempt, broadcast);
    if (!output_shapes) return false;
    // A variadic node is a left fold of the binary operator.
    for (std::size_t i = mapping.inputs.size(); i < inputs; ++i) {
      if (shape(i) == nullptr) return reject("a variadic node has an input that is not a float tensor");
      attempt.arguments = {{Source::Step, static_cast<std::uint32_t>(lowered_.steps.size() - 1), 0},
                           {Source::Input, static_cast<std::uint32_t>(i), 0}};
      attempt.shapes = {output_shapes->at(0), *shape(i)};
      attempt.data_types = {attempt.data_types[0], data_type(i)};
      output_shapes = try_attempt(attempt, broadcast);
      if (!output_shapes) return false;
    }
    const auto last = static_cast<std::uint32_t>(lowered_.steps.size() - 1);
    for (std::uint32_t i = 0; i < outputs; ++i) lowered_.outputs.push_back({Source::Step, last, i});
    return check_output_shapes(*output_shapes);
  }

  bool collect_arguments(MatchAttempt& attempt) {
    const GenericOnnxMapping& mapping = *attempt.mapping;
    attempt.arguments.resize(mapping.arity);
    attempt.shapes.resize(mapping.arity);
    attempt.data_types.assign(mapping.arity, literal_data_type());
    lowered_.literal_type = literal_data_type();
    attempt.description.outputs = query_.outputs.size();
    for (std::uint32_t i = 0; i < mapping.inputs.size(); ++i) {
      if (mapping.absent_inputs[i]) {
        const auto& value = query_.description.constant_inputs[i];  // Resize reads an empty list as an absent one
        const bool is_empty = value && value->is_list && value->integers.empty();
        if (!query_.description.absent_inputs[i] && !is_empty)
          return reject("input " + std::to_string(i) + " is present");
        continue;
      }
      if (!mapping.inputs[i]) {
        if (i >= query_.description.constant_inputs.size() || !query_.description.constant_inputs[i])
          return reject("input " + std::to_string(i) + " is not a constant");
        continue;
      }
      const algebra::Shape* input_shape = shape(i);
      if (input_shape == nullptr) return reject("the type of input " + std::to_string(i) + " is not known");
      attempt.arguments[*mapping.inputs[i]] = {Source::Input, i, 0};
      attempt.data_types[*mapping.inputs[i]] = data_type(i);
      attempt.shapes[*mapping.inputs[i]] = *input_shape;
    }
    for (const auto& [name, argument] : mapping.attribute_inputs) {
      const auto attribute = query_.description.attributes.find(name);
      const auto by_default = mapping.defaults.find(name);
      std::optional<double> value;
      if (attribute != query_.description.attributes.end())
        value = attribute->second.float_value;  // nullopt if it is not a float
      else if (by_default != mapping.defaults.end())
        value = by_default->second;
      if (!value) return reject("attribute " + name + " is absent or not a number");
      attempt.arguments[argument] = {Source::Literal, static_cast<std::uint32_t>(lowered_.literals.size()), 0};
      lowered_.literals.push_back(*value);
    }
    return true;
  }

  /// Returns the output shapes and appends a step, or a composite's steps.
  std::optional<std::vector<algebra::Shape>> try_attempt(MatchAttempt& attempt, bool broadcast) {
    const GenericOnnxMapping& mapping = *attempt.mapping;
    attempt.ranks.clear();
    for (const algebra::Shape& shape : attempt.shapes)
      attempt.ranks.push_back(static_cast<std::uint32_t>(shape.size()));
    algebra::Parameters given;
    if (broadcast) {
      const auto sizes = bind_node(mapping, attempt.description, bank_.library(), attempt.ranks, given);
      auto spreads = infer_spreads(mapping, attempt.shapes, sizes.value_or(NodeBindings()));
      if (!spreads) {
        reject("its shapes do not fit " + mapping.operator_name);
        return std::nullopt;
      }
      given = std::move(*spreads);
    }
    auto bindings = bind_node(mapping, attempt.description, bank_.library(), attempt.ranks, given);
    if (!bindings) {
      reject("a list of it has another length than in " + mapping.operator_name);
      return std::nullopt;
    }
    for (const GenericOnnxMapping::Parameter& parameter : mapping.parameters) {
      if (parameter.kind != ParameterKind::Sizes) continue;
      const auto sizes = bindings->find(parameter.name);
      if (sizes == bindings->end()) return std::nullopt;
      if (bank_.library().has_explicit_rank(mapping.operator_name))
        attempt.ranks.push_back(static_cast<std::uint32_t>(sizes->second.size()));
    }
    if (!bank_.library().accepts_ranks(mapping.operator_name, attempt.ranks, given)) {
      reject("its ranks do not fit " + mapping.operator_name);
      return std::nullopt;
    }
    MappingMatcher matcher(query_.description, bank_);
    auto match = matcher.match(attempt, given, *bindings);
    for (const std::string& reason : matcher.rejections()) reject(reason);
    if (!match) return std::nullopt;
    add_steps(attempt, *match->instance, match->sizes);
    return std::move(match->outputs);
  }

  void add_steps(const MatchAttempt& attempt, const algebra::OperatorInstance& instance,
                 const std::vector<algebra::Poly>& sizes) {
    if (!instance.composite.empty()) return add_composite(attempt, instance, sizes);
    lowered_.steps.push_back({instance.id, sizes, attempt.arguments});
  }

  /// Appends the steps of a composite.
  void add_composite(const MatchAttempt& attempt, const algebra::OperatorInstance& composite,
                     const std::vector<algebra::Poly>& sizes) {
    std::vector<algebra::Poly> slots;
    algebra::infer(composite, attempt.shapes, sizes, bank_.symbols(), {}, &slots);
    lowered_.whole = {composite.id, sizes, attempt.arguments};
    std::vector<LoweredNode::Reference> values = attempt.arguments;
    for (const algebra::CompositeStep& step_definition : composite.composite) {
      LoweredNode::Step step{step_definition.instance, {}, {}};
      for (std::uint32_t argument : step_definition.arguments) step.arguments.push_back(values.at(argument));
      for (const auto& size : step_definition.sizes)
        step.sizes.push_back(algebra::evaluate(*size, slots, {}, bank_.symbols()));
      values.push_back({Source::Step, static_cast<std::uint32_t>(lowered_.steps.size()), 0});
      lowered_.steps.push_back(std::move(step));
    }
  }

  /// Splits off the last output of a node with more than two outputs, then repeats with the rest.
  bool try_splits(MatchAttempt& attempt) {
    std::vector<algebra::Shape> shapes(query_.outputs.size());
    lowered_.outputs.resize(shapes.size());
    const NodeDescription description = attempt.description;
    for (std::size_t count = shapes.size(); count >= 2; --count) {
      attempt.description = description;
      attempt.description.outputs = count;
      for (auto& [name, literal] : attempt.description.attributes) merge_outputs(literal, shapes.size(), count);
      for (auto& literal : attempt.description.constant_inputs) {
        if (literal) merge_outputs(*literal, shapes.size(), count);
      }
      auto output_shapes = try_attempt(attempt, false);
      if (!output_shapes || output_shapes->size() != 2) return false;
      const auto step = static_cast<std::uint32_t>(lowered_.steps.size() - 1);
      shapes[count - 1] = output_shapes->at(1);
      shapes[0] = output_shapes->at(0);
      lowered_.outputs[count - 1] = {Source::Step, step, 1};
      lowered_.outputs[0] = {Source::Step, step, 0};
      attempt.arguments = {lowered_.outputs[0]};
      attempt.shapes = {shapes[0]};
      attempt.data_types.resize(1);
    }
    return check_output_shapes(shapes);
  }

  /// Replaces a list with one number per output by two numbers: the sum of the first `count` - 1 and the last.
  static void merge_outputs(OnnxLiteral& literal, std::size_t outputs, std::size_t count) {
    if (!literal.is_list || literal.integers.size() != outputs) return;
    algebra::Poly rest(0);
    for (std::size_t i = 0; i + 1 < count; ++i) rest += literal.integers[i];
    literal.integers = {rest, literal.integers[count - 1]};
  }

  bool check_output_shapes(const std::vector<algebra::Shape>& shapes) {
    for (std::size_t i = 0; i < query_.outputs.size(); ++i) {
      if (!is_compatible(query_.outputs[i], shapes[i])) return reject("its output has another shape in ONNX");
    }
    return true;
  }

  static bool is_compatible(const ValueType& onnx, const algebra::Shape& shapes) {
    if (!onnx) return true;
    if (onnx->size() != shapes.size()) return false;
    for (std::size_t d = 0; d < shapes.size(); ++d) {
      auto a = (*onnx)[d].constant(), b = shapes[d].constant();
      if (a && b && *a != *b) return false;
    }
    return true;
  }

  bool reject(const std::string& reason) {
    if (reason_.empty() || reason.starts_with("attribute") || reason.starts_with("constant")) reason_ = reason;
    return false;
  }

  const NodeQuery& query_;
  GraphBank& bank_;
  LoweredNode lowered_;
  std::string reason_;
};

}  // namespace

std::variant<LoweredNode, std::string> resolve_node(const NodeQuery& query, GraphBank& bank) {
  return NodeResolver(query, bank).run();
}

}  // namespace rulemill::optimize
