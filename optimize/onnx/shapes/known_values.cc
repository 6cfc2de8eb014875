#include "optimize/onnx/shapes/known_values.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/onnx_operators.h"

namespace rulemill::optimize {
namespace {

/// A size at which most dynamic models run: a multiple of small powers of two.
constexpr std::int64_t probe_size = 512;

class SizeBoundSearch {
 public:
  SizeBoundSearch(const NodeQuery& query, std::span<const DynamicDim> dynamic_dims, GraphBank& bank)
      : query_(query), dynamic_dims_(dynamic_dims), bank_(bank) {}

  std::optional<LowerBound> run() {
    if (bank_.library().onnx_mappings(query_.description.op_type, query_.description.domain).empty())
      return std::nullopt;
    std::vector<std::int64_t> values(dynamic_dims_.size(), probe_size);
    std::vector<std::size_t> occurring;
    for (std::size_t i = 0; i < dynamic_dims_.size(); ++i) {
      if (dynamic_dims_[i].offset < probe_size && occurs(dynamic_dims_[i].atom)) occurring.push_back(i);
    }
    if (occurring.empty() || !is_resolvable(values)) return std::nullopt;
    for (const std::size_t i : occurring) {
      for (values[i] = 1; values[i] < probe_size && !is_resolvable(values);) ++values[i];
      // A size that only equals the others, as where tensors are concatenated, has no bound.
      if (values[i] > 1 && values[i] < probe_size)
        return LowerBound{dynamic_dims_[i].name, values[i] + dynamic_dims_[i].offset};
      values[i] = probe_size;
    }
    return std::nullopt;
  }

 private:
  bool occurs(algebra::Atom atom) const {
    return std::ranges::any_of(query_.inputs, [&](const std::optional<ValueId>& input) {
      if (!input || !bank_.value(*input).type) return false;
      return std::ranges::any_of(*bank_.value(*input).type,
                                 [&](const algebra::Poly& dim) { return bank_.symbols().contains(dim, atom); });
    });
  }

  bool is_resolvable(const std::vector<std::int64_t>& values) {
    algebra::Substitution at;
    for (std::size_t i = 0; i < dynamic_dims_.size(); ++i) at.emplace(dynamic_dims_[i].atom, algebra::Poly(values[i]));
    const auto set = [&](algebra::Poly& poly) { poly = bank_.symbols().substitute(poly, at); };
    NodeQuery instantiated = query_;
    for (auto& input : instantiated.inputs) {
      if (!input || !bank_.value(*input).type) continue;
      ValueType type = bank_.value(*input).type;
      std::ranges::for_each(*type, set);
      input = bank_.input(bank_.value(*input).name, type);
    }
    for (ValueType& type : instantiated.outputs) type = std::nullopt;  // declared types are symbolic, not numbers
    for (auto& literal : instantiated.description.constant_inputs) {
      if (literal) std::ranges::for_each(literal->integers, set);
    }
    return std::holds_alternative<LoweredNode>(resolve_node(instantiated, bank_));
  }

  const NodeQuery& query_;
  std::span<const DynamicDim> dynamic_dims_;
  GraphBank& bank_;
};

}  // namespace

std::optional<LowerBound> find_lower_bound(const NodeQuery& query, std::span<const DynamicDim> dynamic_dims,
                                           GraphBank& bank) {
  try {
    return SizeBoundSearch(query, dynamic_dims, bank).run();
  } catch (const algebra::Overflow&) {
    return std::nullopt;
  }
}

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
