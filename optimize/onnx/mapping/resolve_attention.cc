#include "optimize/onnx/mapping/resolve_attention.h"

#include <cmath>
#include <set>

#include "optimize/onnx/mapping/node_parts.h"

namespace rulemill::optimize {

namespace {

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
      key = parts_.add("Concat", {given.past_key, key}, {{"axis", integer(2)}});
      value = parts_.add("Concat", {given.past_value, value}, {{"axis", integer(2)}});
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
    auto result = parts_.add("MatMul", {parts_.add("Softmax", {scores}, {{"axis", integer(-1)}}), value});
    if (has_columns) result = columns_of(result);
    if (!result || !key || !value) return parts_.reason();
    std::vector<Operand> outputs = {*result, *key, *value};
    if (query_.outputs.size() > outputs.size()) return "its scores are an output";
    outputs.resize(query_.outputs.size());
    return parts_.finish(outputs);
  }

  std::vector<Operand> split_in_thirds(const Operand& packed, const Poly& third) {
    NodeDescription split = node("Split");
    split.attributes.emplace("axis", integer(-1));
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

  static OnnxLiteral integer(std::int64_t value) {
    OnnxLiteral literal;
    literal.integers = {Poly(value)};
    return literal;
  }

  const NodeQuery& query_;
  GraphBank& bank_;
  NodeParts parts_;
};

}  // namespace

bool is_attention(const NodeDescription& node) {
  if (node.op_type == "Attention") return node.domain.empty() || node.domain == "com.microsoft";
  return node.op_type == "MultiHeadAttention" && node.domain == "com.microsoft";
}

Resolved resolve_attention(const NodeQuery& query, GraphBank& bank) { return AttentionParts(query, bank).run(); }

}  // namespace rulemill::optimize
