#include "optimize/onnx/shapes/known_values.h"

#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/onnx_operators.h"

namespace rulemill::optimize {

namespace {

/// Larger results of nodes are not computed.
constexpr std::size_t max_known_bytes = max_size_elements * sizeof(std::int64_t);

bool is_integer(int onnx_type) {
  return onnx_type == onnx::TensorProto::INT64 || onnx_type == onnx::TensorProto::INT32;
}

/// Whether the ONNX library infers types from such a tensor: sizes, positions or scales.
bool informs_library(int onnx_type, std::size_t rank, std::size_t bytes) {
  return rank <= 1 && bytes <= max_known_bytes &&
         (is_integer(onnx_type) || (onnx_type == onnx::TensorProto::FLOAT && rank == 1));
}

}  // namespace

void KnownValues::add_constant(const std::string& name, const onnx::TensorProto& tensor,
                               std::optional<std::string_view> raw) {
  if (auto literal = to_literal(tensor)) literals_.insert_or_assign(name, std::move(*literal));
  constexpr std::uint64_t max_copied_elements = 1 << 12;  // from typed fields
  if (!raw && element_count(tensor).value_or(max_copied_elements) >= max_copied_elements) return;
  auto numbers = to_raw_tensor(tensor, raw);
  if (!numbers) return;
  if (informs_library(numbers->type, numbers->dims.size(), numbers->bytes.size())) tensors_.emplace(name, &tensor);
  known_.emplace(name, make_known(std::move(*numbers)));
}

std::optional<UpperBound> KnownValues::add_node(const onnx::NodeProto& node) {
  std::vector<KnownTensor> inputs;
  for (const auto& name : node.input()) inputs.push_back(find(name));
  EvaluationContext context{symbols_, max_known_bytes, bounds_.smallest, {}, &dimensions_, {}};
  for (const DynamicDim& size : types_.dynamic_dims()) {
    if (size.upper_bound) context.upper_bounds.emplace_back(algebra::Poly(size.atom) + size.offset, *size.upper_bound);
  }
  std::vector<KnownTensor> outputs = evaluate_node(node, model_.opset, inputs, context);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = node.output(static_cast<int>(i));
    if (!name.empty() && outputs[i].type != 0) record(name, std::move(outputs[i]));
  }
  for (const DynamicDim& size : types_.dynamic_dims()) {
    const bool is_bounded = context.required_bound && !size.upper_bound &&
                            context.required_bound->first == algebra::Poly(size.atom) + size.offset;
    if (is_bounded) return UpperBound{size.name, context.required_bound->second};
  }
  return std::nullopt;
}

void KnownValues::record(const std::string& name, KnownTensor known) {
  if (to_shape(known.dims)) types_.set_derived_shape(name, known.type, *known.dims);
  const bool is_list = known.dims && known.dims->size() <= 1;
  if (const auto integers = is_integer(known.type) && is_list ? to_sizes(known) : std::nullopt) {
    OnnxLiteral& literal = literals_[name];
    literal.is_list = known.dims->size() == 1;
    literal.integers = *integers;
  }
  if (known.numbers && informs_library(known.type, known.dims->size(), known.numbers->bytes.size())) {
    computed_tensors_.push_back(to_proto(name, *known.numbers));
    tensors_.emplace(name, &computed_tensors_.back());
  }
  known_.emplace(name, std::move(known));
}

std::string KnownValues::add_types(const onnx::NodeProto& node, const std::vector<std::string>& captured) {
  for (const auto& name : node.output()) {
    const auto known = known_.find(name);  // of which some dimensions may be unknown
    if (known != known_.end() && !types_.shape(name) && known->second.dims)
      types_.set_derived_shape(name, known->second.type, *known->second.dims);
  }
  // What the table does not know of a movement, the library knows of some sizes only.
  return has_trait(node, moves_first) ? "" : types_.infer(node, captured, tensors_);
}

KnownTensor KnownValues::find(const std::string& name) {
  const auto found = known_.find(name);
  KnownTensor known = found == known_.end() ? KnownTensor() : found->second;
  if (known.type == 0) known.type = types_.onnx_type(name);
  if (known.has_elements()) return known;
  if (const ValueType shape = types_.shape(name)) {
    known.dims = Dimensions(shape->begin(), shape->end());
    dimensions_.insert(shape->begin(), shape->end());
  }
  return known;
}

std::optional<algebra::Shape> KnownValues::computed_shape(const std::string& name) const {
  const auto known = known_.find(name);
  return known == known_.end() ? std::nullopt : to_shape(known->second.dims);
}

std::optional<OnnxLiteral> KnownValues::literal(const std::string& name) const {
  if (const auto found = literals_.find(name); found != literals_.end()) return found->second;
  const auto known = known_.find(name);
  const bool is_empty = known != known_.end() && known->second.numbers && known->second.numbers->count() == 0;
  if (!is_empty) return std::nullopt;
  OnnxLiteral literal;  // a list of numbers without elements
  literal.is_list = literal.as_float32 = true;
  return literal;
}

}  // namespace rulemill::optimize
