#include "optimize/onnx/mapping/resolve_compound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "optimize/onnx/mapping/node_parts.h"
#include "optimize/onnx/mapping/resolve_einsum.h"
#include "optimize/onnx/mapping/resolve_normalization.h"

namespace rulemill::optimize {
namespace {

// Attention by several heads: of ONNX, and onnxruntime's MultiHeadAttention and Attention with packed weights. With a
// summand of the scores (a mask), earlier keys and values or without a scale, it is read as the nodes that compute it.

using Operand = NodeParts::Operand;
using Resolved = std::variant<LoweredNode, std::string>;
using algebra::Poly;

/// Attributes that are read or change nothing here; the others must be 0.
const std::set<std::string> known_attributes = {
    "num_heads",         "q_num_heads",       "kv_num_heads",         "scale",
    "mask_filter_value", "softmax_precision", "qk_matmul_output_mode"};

/// What the three kinds of nodes have in common. Values whose last dimension holds the columns of all heads have three
/// dimensions, others have the heads as second of four.
struct Attention {
  std::optional<Operand> query, key, value, summand, past_key, past_value;
  std::int64_t heads = 0;
};

/// The positions of inputs. A node with another one is not read.
struct Inputs {
  std::uint32_t summand, past_key, past_value;
};
constexpr Inputs onnx_inputs = {3, 4, 5}, multi_head_inputs = {5, 6, 7};
constexpr std::uint32_t packed_summand = 5;

class AttentionParts {
 public:
  AttentionParts(const NodeQuery& query, GraphBank& bank)
      : query_(query), bank_(bank), parts_(query, bank, "its sizes do not fit its heads") {}

  Resolved run() {
    const NodeDescription& given = query_.description;
    for (const auto& [name, value] : given.attributes) {
      const bool is_off = integer_of(given, name) == 0 || value.float_value == 0;
      if (!is_off && !known_attributes.contains(name)) return "attribute " + name + " is not supported";
    }
    if (given.domain.empty()) return onnx_attention();
    return given.op_type == "Attention" ? packed_attention() : multi_head_attention();
  }

 private:
  /// Queries, keys and values have as many heads.
  Resolved onnx_attention() {
    if (!has_only({0, 1, 2, 3, 4, 5})) return "it has an input that is not supported";
    if (given_scale() && !(*given_scale() > 0)) return "its scale is not above 0";
    Attention attention = unpacked(onnx_inputs);
    if (!attention.query || !attention.key || !attention.value) return parts_.reason();
    if (rank(*attention.query) == 4) {
      const auto heads = parts_.shape(*attention.query)[1].constant();
      if (!heads || parts_.shape(*attention.key)[1] != Poly(*heads)) return "keys have other heads than queries";
      attention.heads = *heads;
    } else {
      const auto heads = integer_of(query_.description, "q_num_heads");
      if (!heads || heads != integer_of(query_.description, "kv_num_heads"))
        return "keys have other heads than queries";
      attention.heads = *heads;
    }
    return computed(attention);
  }

  Resolved multi_head_attention() {
    if (!has_only({0, 1, 2, 5, 6, 7})) return "it has a bias, a mask of keys, or a buffer of keys";
    Attention attention = unpacked(multi_head_inputs);
    attention.heads = integer_of(query_.description, "num_heads").value_or(0);
    return computed(attention);
  }

  /// A projection whose columns are those of queries, keys and values.
  Resolved packed_attention() {
    const auto heads = integer_of(query_.description, "num_heads");
    if (!has_only({0, 1, 2, packed_summand})) return "it has a mask or earlier keys";
    const auto weights = input(1);
    if (!heads || *heads <= 0 || query_.outputs.size() != 1 || !weights || rank(*weights) != 2) return parts_.reason();
    const auto columns = parts_.shape(*weights)[1].constant();
    if (!columns || *columns % (3 * *heads) != 0) return parts_.reason();
    auto packed = parts_.add("MatMul", {input(0), weights});
    if (is_present(2)) packed = parts_.add("Add", {packed, input(2)});
    if (!packed) return parts_.reason();
    const std::vector<Operand> each = split_in_thirds(*packed, Poly(*columns / 3));
    if (each.size() != 3) return parts_.reason();
    if (is_present(packed_summand)) return computed({each[0], each[1], each[2], input(packed_summand), {}, {}, *heads});
    NodeDescription attention = node("MultiHeadAttention");  // for which there is an operator
    attention.domain = query_.description.domain;
    attention.attributes.emplace("num_heads", query_.description.attributes.at("num_heads"));
    attention.attributes.emplace("scale", attribute(scale(*columns / (3 * *heads))));
    const auto result = parts_.add(std::move(attention), each);
    if (!result) return parts_.reason();
    return parts_.finish({*result});
  }

  Attention unpacked(const Inputs& at) const {
    return {input(0), input(1), input(2), input(at.summand), input(at.past_key), input(at.past_value), 0};
  }

  /// The product of queries and keys, its softmax, and the product with the values.
  Resolved computed(const Attention& given) {
    if (is_present_but_unknown()) return "the type of an input is not known";
    if (!given.query || !given.key || !given.value || given.heads <= 0) return parts_.reason();
    if (given.past_key.has_value() != given.past_value.has_value())
      return "it has earlier keys or values, but not both";
    const bool has_columns = rank(*given.query) == 3;
    const auto query = by_heads(given.query, given.heads);
    auto key = by_heads(given.key, given.heads), value = by_heads(given.value, given.heads);
    if (!query || !key || !value) return parts_.reason();
    if (given.past_key) {
      key = parts_.add("Concat", {given.past_key, key}, {{"axis", attribute(std::int64_t{2})}});
      value = parts_.add("Concat", {given.past_value, value}, {{"axis", attribute(std::int64_t{2})}});
    }
    const auto head_size = parts_.shape(*query)[3].constant();
    if (!head_size) return parts_.reason();
    auto scores = parts_.add("MatMul", {query, parts_.add("Transpose", {key}, {{"perm", attribute({0, 1, 3, 2})}})});
    scores = parts_.add("Mul", {scores, parts_.number(scale(*head_size))});
    if (given.summand) {
      if (!is_float(bank_.value(*given.summand->value).type.data_type)) return "its mask has truth values";
      const algebra::Shape shape = parts_.shape(*given.summand);
      if (!key || shape.empty() || shape.back() != parts_.shape(*key)[2]) return "its mask is shorter than the keys";
      scores = parts_.add("Add", {scores, given.summand});
    }
    auto result =
        parts_.add("MatMul", {parts_.add("Softmax", {scores}, {{"axis", attribute(std::int64_t{-1})}}), value});
    if (has_columns) result = columns_of(result);
    if (!result || !key || !value) return parts_.reason();
    std::vector<Operand> outputs = {*result, *key, *value};
    if (query_.outputs.size() > outputs.size()) return "its scores are an output";
    outputs.resize(query_.outputs.size());
    return parts_.finish(outputs);
  }

  std::vector<Operand> split_in_thirds(const Operand& packed, const Poly& third) {
    NodeDescription split = node("Split");
    split.attributes.emplace("axis", attribute(std::int64_t{-1}));
    constexpr int split_input_opset = 13;
    if (query_.opset >= split_input_opset)
      return parts_.add(std::move(split), {packed, NodeParts::integers({third, third, third})}, 3);
    split.attributes.emplace("split", attribute({third, third, third}));
    return parts_.add(std::move(split), {packed}, 3);
  }

  /// [b, s, h * d] as [b, h, s, d].
  std::optional<Operand> by_heads(const std::optional<Operand>& value, std::int64_t heads) {
    if (!value || rank(*value) == 4) return value;
    const algebra::Shape shape = parts_.shape(*value);
    const auto columns = shape.size() == 3 ? shape[2].constant() : std::nullopt;
    if (!columns || *columns % heads != 0) return std::nullopt;
    const auto split =
        parts_.add("Reshape", {value, NodeParts::integers({shape[0], shape[1], Poly(heads), Poly(*columns / heads)})});
    return parts_.add("Transpose", {split}, {{"perm", attribute({0, 2, 1, 3})}});
  }

  std::optional<Operand> columns_of(const std::optional<Operand>& value) {
    const auto moved = parts_.add("Transpose", {value}, {{"perm", attribute({0, 2, 1, 3})}});
    if (!moved) return std::nullopt;
    const algebra::Shape shape = parts_.shape(*moved);
    return parts_.add("Reshape", {moved, NodeParts::integers({shape[0], shape[1], shape[2] * shape[3]})});
  }

  std::optional<double> given_scale() const {
    const auto found = query_.description.attributes.find("scale");
    return found == query_.description.attributes.end() ? std::nullopt : found->second.float_value;
  }
  double scale(std::int64_t head_size) const {
    return given_scale().value_or(1 / std::sqrt(static_cast<double>(head_size)));
  }

  bool has_only(const std::set<std::uint32_t>& numbers) const {
    for (std::uint32_t i = 0; i < query_.inputs.size(); ++i)
      if (is_present(i) && !numbers.contains(i)) return false;
    return true;
  }
  bool is_present(std::uint32_t number) const {
    return number < query_.inputs.size() && !query_.description.absent_inputs[number];
  }
  std::optional<Operand> input(std::uint32_t number) const { return parts_.typed_input(number); }
  bool is_present_but_unknown() const {
    for (std::uint32_t i = 0; i < query_.inputs.size(); ++i)
      if (is_present(i) && !input(i)) return true;
    return false;
  }
  std::size_t rank(const Operand& operand) const { return parts_.shape(operand).size(); }

  const NodeQuery& query_;
  GraphBank& bank_;
  NodeParts parts_;
};

bool is_attention(const NodeDescription& node) {
  if (node.op_type == "Attention") return node.domain.empty() || node.domain == "com.microsoft";
  return node.op_type == "MultiHeadAttention" && node.domain == "com.microsoft";
}

/// Returns the nodes, or why there are none.
Resolved resolve_attention(const NodeQuery& query, GraphBank& bank) { return AttentionParts(query, bank).run(); }

/// The activations that onnxruntime fuses, with the attributes of their ONNX nodes that hold numbers.
const std::map<std::string, std::vector<std::string>> activations = {{"Relu", {}},
                                                                     {"Sigmoid", {}},
                                                                     {"Tanh", {}},
                                                                     {"Softplus", {}},
                                                                     {"Softsign", {}},
                                                                     {"Clip", {}},
                                                                     {"LeakyRelu", {"alpha"}},
                                                                     {"HardSigmoid", {"alpha", "beta"}}};

std::optional<std::string> text_of(const NodeDescription& description, const std::string& attribute) {
  const auto found = description.attributes.find(attribute);
  return found == description.attributes.end() ? std::nullopt : found->second.string_value;
}

/// Returns the inputs from `first` to before `end` that are present; nullopt if the type of one is not known.
std::optional<std::vector<Operand>> inputs_of(const NodeQuery& query, const NodeParts& parts, const GraphBank& bank,
                                              std::size_t first, std::size_t end) {
  std::vector<Operand> operands;
  for (std::size_t i = first; i < std::min(end, query.inputs.size()); ++i) {
    if (query.description.absent_inputs[i]) continue;
    if (!query.inputs[i] || !bank.value(*query.inputs[i]).type) return std::nullopt;
    operands.push_back(parts.input(static_cast<std::uint32_t>(i)));
  }
  return operands;
}

std::optional<Operand> add_activation(NodeParts& parts, const std::string& name, const std::vector<double>& numbers,
                                      const Operand& operand) {
  const auto known = activations.find(name);
  if (known == activations.end()) return std::nullopt;
  NodeDescription description = node(name);
  if (name == "Clip") {
    if (numbers.size() != 2) return std::nullopt;
    return parts.add(std::move(description), {operand, parts.number(numbers[0]), parts.number(numbers[1])});
  }
  if (numbers.size() != known->second.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    description.attributes.emplace(known->second[i], attribute(numbers[i]));
  return parts.add(std::move(description), {operand});
}

/// A convolution, a sum with a fourth input, and an activation.
Resolved resolve_fused_conv(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its activation is not known");
  NodeDescription conv = query.description;
  conv.op_type = "Conv";
  conv.domain.clear();
  const auto name = text_of(conv, "activation");
  const auto params = conv.attributes.find("activation_params");
  const std::vector<double> numbers = params == conv.attributes.end() ? std::vector<double>() : params->second.floats;
  conv.attributes.erase("activation");
  conv.attributes.erase("activation_params");
  const auto operands = inputs_of(query, parts, bank, 0, 3), sums = inputs_of(query, parts, bank, 3, 4);
  if (!operands || !sums) return "the type of an input is not known";
  auto result = parts.add(std::move(conv), *operands);
  if (result && !sums->empty()) result = parts.add(node("Add"), {*result, sums->at(0)});
  if (result && name) result = add_activation(parts, *name, numbers, *result);
  if (!result) return parts.reason();
  return parts.finish(*result);
}

/// A product of matrices, each of which may be transposed, times a number; plus a third input times a number, if there
/// is one. Rules know the parts.
std::optional<Operand> add_product(NodeParts& parts, const NodeQuery& query, const GraphBank& bank) {
  const auto operands = inputs_of(query, parts, bank, 0, 3);
  if (!operands || operands->size() < 2) return std::nullopt;
  const auto turned = [&](const Operand& operand, const char* is_turned) {
    const std::size_t rank = parts.shape(operand).size();
    if (rank < 2 || integer_of(query.description, is_turned).value_or(0) == 0) return std::optional(operand);
    std::vector<algebra::Poly> order;
    for (std::size_t i = 0; i < rank; ++i) order.emplace_back(static_cast<std::int64_t>(i));
    std::swap(order[rank - 1], order[rank - 2]);
    return parts.add("Transpose", {operand}, {{"perm", attribute(std::move(order))}});
  };
  const auto times = [&](const std::optional<Operand>& operand, const char* name) {
    if (!query.description.attributes.contains(name)) return operand;
    const auto factor = parts.number_of(name);
    if (factor == 1) return operand;
    return factor ? parts.add("Mul", {operand, parts.number(*factor)}) : std::nullopt;
  };
  const auto product =
      times(parts.add("MatMul", {turned(operands->at(0), "transA"), turned(operands->at(1), "transB")}), "alpha");
  if (!product || operands->size() == 2) return product;
  auto sum = parts.add("Add", {product, times(operands->at(2), "beta")});
  return sum && parts.shape(*sum) == parts.shape(*product) ? sum : std::nullopt;
}

/// A product of matrices, and an activation whose numbers are attributes of the node.
Resolved resolve_fused_gemm(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its activation is not known");
  const auto name = text_of(query.description, "activation");
  std::vector<double> numbers;
  for (const std::string attribute : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    const auto found = query.description.attributes.find(attribute);
    if (found != query.description.attributes.end() && found->second.float_value)
      numbers.push_back(*found->second.float_value);
  }
  auto result = add_product(parts, query, bank);
  if (result && name && *name != "Clip") result = add_activation(parts, *name, numbers, *result);
  if (!result || !name || *name == "Clip") return parts.reason();
  return parts.finish(*result);
}

Resolved resolve_product(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "it transposes batches");
  for (const char* batches : {"transBatchA", "transBatchB"})
    if (integer_of(query.description, batches).value_or(0) != 0) return parts.reason();
  const auto result = add_product(parts, query, bank);
  return result ? Resolved(parts.finish(*result)) : parts.reason();
}

/// The shape of ONNX's Expand may have a 1, or no dimension, where the input's stays; that of its operator is whole.
Resolved resolve_expand(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its shape does not fit its input");
  const auto input = parts.typed_input(0);
  const auto& given = query.description.constant_inputs;
  if (!input || given.size() < 2 || !given[1]) return parts.reason();
  algebra::Shape shape = parts.shape(*input), sizes = given[1]->integers;
  for (algebra::Shape* each : {&shape, &sizes})
    each->insert(each->begin(), std::max(shape.size(), sizes.size()) - each->size(), Poly(1));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != Poly(1) && sizes[d] != Poly(1) && shape[d] != sizes[d]) return parts.reason();
    if (shape[d] == Poly(1)) shape[d] = sizes[d];
  }
  const auto result = parts.add("Expand", {input, NodeParts::integers(shape)});
  return result ? Resolved(parts.finish(*result)) : parts.reason();
}

}  // namespace

Resolved resolve_node_or_parts(const NodeQuery& query, GraphBank& bank) {
  const NodeDescription& given = query.description;
  const auto scale = given.attributes.find("scale");
  if (is_attention(given) && !given.domain.empty() && scale != given.attributes.end() &&
      scale->second.float_value == 0) {
    NodeQuery without_scale = query;  // onnxruntime reads 0 as absent
    without_scale.description.attributes.erase("scale");
    return resolve_node_or_parts(without_scale, bank);
  }
  const bool is_fused_matmul = given.domain == "com.microsoft" && given.op_type == "FusedMatMul";
  const bool is_opened_norm = query.normalizations == Normalizations::Parts && is_normalization(given);
  if (is_fused_matmul || is_opened_norm) {  // both have operators, too, of which rules know less
    auto parts = is_fused_matmul ? resolve_product(query, bank) : resolve_normalization(query, bank);
    if (std::holds_alternative<LoweredNode>(parts)) return parts;
  }
  auto resolved = resolve_node(query, bank);
  if (std::holds_alternative<LoweredNode>(resolved)) return resolved;
  if (is_attention(given)) return resolve_attention(query, bank);
  if (given.domain.empty()) {
    if (given.op_type == "Einsum") {
      auto product = resolve_einsum(query, bank);
      const bool is_opened = query.normalizations == Normalizations::Parts && product.index() == 1;
      return is_opened ? resolve_sum_of_products(query, bank) : std::move(product);
    }
    if (given.op_type == "Gemm") return resolve_product(query, bank);
    return given.op_type == "Expand" ? resolve_expand(query, bank) : std::move(resolved);
  }
  if (given.domain != "com.microsoft") return resolved;
  if (given.op_type == "FusedConv") return resolve_fused_conv(query, bank);
  if (given.op_type == "FusedGemm") return resolve_fused_gemm(query, bank);
  return resolved;
}

}  // namespace rulemill::optimize
