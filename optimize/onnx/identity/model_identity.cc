#include "optimize/onnx/identity/model_identity.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/node_arguments.h"
#include "optimize/onnx/raised_opset.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {
namespace {

/// Describes the items that the other model lacks.
std::string describe_other_items(const std::vector<InterfaceItem>& items, const std::vector<InterfaceItem>& others) {
  std::vector<std::string> texts;
  for (const InterfaceItem& item : items) {
    if (std::ranges::find(others, item) == others.end())
      texts.push_back(item.name + ": " + item.type + (item.default_value.empty() ? "" : " with a default value"));
  }
  return texts.empty() ? "no other" : runtime::join_text(texts);
}

void require_same_items(const std::string& file, const std::string& kind, const std::vector<InterfaceItem>& before,
                        const std::vector<InterfaceItem>& after) {
  if (before == after) return;
  throw runtime::InputError(file, "the models have different " + kind + ": expected " +
                                      describe_other_items(before, after) + ", found " +
                                      describe_other_items(after, before));
}

/// Operators of other domains are not known, and may be random, too.
bool may_be_random(const onnx::NodeProto& node) {
  if (!has_subgraph(node)) return !is_repeatable(node);
  const auto is_random = [](const onnx::GraphProto& graph) { return std::ranges::any_of(graph.node(), may_be_random); };
  return !is_standard(node) || std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    return is_random(attribute.g()) || std::ranges::any_of(attribute.graphs(), is_random);
  });
}

std::string digest_of(std::string_view bytes) { return runtime::to_hex(runtime::hash128(runtime::bytes_of(bytes))); }

/// The elements as raw bytes: integers may be stored in typed fields, too.
std::string element_bytes(onnx::TensorProto tensor, std::optional<std::string_view> raw) {
  if (raw) return std::string(*raw);
  const int type = tensor.data_type();
  if (type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 || type == onnx::TensorProto::FLOAT ||
      type == onnx::TensorProto::DOUBLE)
    return encode_typed_fields(tensor);
  tensor.clear_name();
  tensor.clear_doc_string();
  return tensor.SerializeAsString();
}

std::string content_key(const onnx::TensorProto& tensor, std::optional<std::string_view> raw) {
  std::string key = "constant " + std::to_string(tensor.data_type());
  for (const std::int64_t dim : tensor.dims()) key += "," + std::to_string(dim);
  return key + " " + digest_of(element_bytes(tensor, raw));
}

std::string type_text(const onnx::TypeProto& type, bool with_shape) {
  if (!type.has_tensor_type()) return "type " + digest_of(type.SerializeAsString());
  const auto& tensor = type.tensor_type();
  std::string text = onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(tensor.elem_type()));
  if (!with_shape || !tensor.has_shape()) return text;
  text += '[';
  for (int d = 0; d < tensor.shape().dim_size(); ++d) {
    const auto& dim = tensor.shape().dim(d);
    text += d == 0 ? "" : ", ";
    text += dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param();
  }
  return text + "]";
}

/// Defaults of attributes in versions of ONNX that the library does not know: each the same in all operators.
constexpr std::pair<std::string_view, double> later_defaults[] = {
    {"antialias", 0},          {"block_size", 0},
    {"epsilon", 1e-5},         {"interleaved", 0},
    {"is_causal", 0},          {"left_window_size", -1},
    {"output_dtype", 0},       {"noop_with_empty_axes", 0},
    {"precision", 0},          {"qk_matmul_output_mode", 0},
    {"right_window_size", -1}, {"rotary_embedding_dim", 0},
    {"saturate", 1},           {"softcap", 0},
    {"stash_type", 1}};
constexpr std::pair<std::string_view, std::string_view> later_default_texts[] = {
    {"keep_aspect_ratio_policy", "stretch"}, {"round_mode", "up"}};

/// Keys of the nodes of a model. Equal nodes that may be random are numbered in order of appearance.
class NodeKeys {
 public:
  NodeKeys(const onnx::ModelProto& model, const algebra::Library& library) : library_(library) {
    for (const auto& set : model.opset_import()) versions_[domain_of(set.domain())] = set.version();
    for (const auto& [domain, version] : versions_) all_versions_ += domain + "=" + std::to_string(version) + ";";
    for (const auto& function : model.functions()) functions_ += digest_of(function.SerializeAsString());
  }

  std::string key(const onnx::NodeProto& node) {
    std::string key = constant_node_key(node);
    if (!key.empty()) return key;
    key = function_key(node);
    if (may_be_random(node)) key += " #" + std::to_string(occurrences_[key]++);
    return key;
  }

  /// Returns the key of the node without its subgraphs; empty if these are not all that defines it.
  std::string frame_key(onnx::NodeProto node) const {
    constexpr std::string_view operators[] = {"If", "Loop", "Scan"};
    if (!is_standard(node) || std::ranges::find(operators, node.op_type()) == std::end(operators) ||
        may_be_random(node))
      return {};
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) attribute.clear_g();
    return function_key(node);
  }

 private:
  std::string function_key(const onnx::NodeProto& node) const {
    std::string key = operator_bytes(node) + "\n" + domain_of(node.domain()) + "\n" + version_of(node) + "\n";
    const auto shape_of = [](const auto& names) {
      std::string present;
      for (const std::string& name : names) present += name.empty() ? '-' : 'x';
      present.erase(present.find_last_not_of('-') + 1);
      return present;
    };
    key += shape_of(node.input()) + ">" + std::to_string(shape_of(node.output()).size()) + "\n";
    std::map<std::string, std::string> attributes;
    for (onnx::AttributeProto attribute : node.attribute()) {
      attribute.clear_doc_string();
      std::string bytes = attribute.SerializeAsString();
      if (!is_default(node, attribute, bytes)) attributes[attribute.name()] = std::move(bytes);
    }
    for (const auto& [name, bytes] : attributes) key += std::to_string(bytes.size()) + bytes;
    return "node " + node.op_type() + " " + digest_of(key);
  }

  static std::string domain_of(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

  /// Returns the operator, and fields that this version of ONNX may not know, but for notes on the node.
  static std::string operator_bytes(onnx::NodeProto node) {
    node.clear_name();
    node.clear_doc_string();
    node.clear_input();
    node.clear_output();
    node.clear_attribute();
    node.clear_domain();
    google::protobuf::UnknownFieldSet fields;
    fields.ParseFromString(node.SerializeAsString());
    constexpr int metadata_field = 9;
    fields.DeleteByNumber(metadata_field);
    std::string bytes;
    fields.SerializeToString(&bytes);
    return bytes;
  }

  /// A Constant node has the key of an initializer of the same content.
  static std::string constant_node_key(const onnx::NodeProto& node) {
    if (!is_standard(node) || node.op_type() != "Constant" || node.attribute_size() != 1) return {};
    const onnx::AttributeProto& attribute = node.attribute(0);
    if (attribute.has_t()) return content_key(attribute.t(), inline_raw_data(attribute.t()));
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::INT64);
    if (attribute.name() == "value_int") {
      tensor.add_int64_data(attribute.i());
    } else if (attribute.name() == "value_ints") {
      tensor.add_dims(attribute.ints_size());
      for (const std::int64_t each : attribute.ints()) tensor.add_int64_data(each);
    } else {
      return {};
    }
    return content_key(tensor, std::nullopt);
  }

  /// Whether an absent attribute has the same meaning: by the ONNX library, by a mapping, or by later versions of ONNX.
  bool is_default(const onnx::NodeProto& node, const onnx::AttributeProto& attribute, const std::string& bytes) const {
    const auto version = versions_.find(domain_of(node.domain()));
    const int opset = version == versions_.end() ? 0 : static_cast<int>(version->second);
    const auto is_number = [&](double number) {
      return attribute.type() == onnx::AttributeProto::INT
                 ? static_cast<double>(attribute.i()) == number
                 : attribute.type() == onnx::AttributeProto::FLOAT && attribute.f() == static_cast<float>(number);
    };
    if (is_standard(node) && opset > 0) {
      // onnxruntime writes some operators into models of versions that do not have them yet.
      const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
      if (schema == nullptr) schema = onnx::OpSchemaRegistry::Schema(node.op_type(), "");
      if (schema != nullptr) {
        const auto stated = schema->attributes().find(attribute.name());
        if (stated != schema->attributes().end()) return bytes == stated->second.default_value.SerializeAsString();
      }
    }
    for (const auto& mapping : library_.onnx_mappings(node.op_type(), is_standard(node) ? "" : node.domain())) {
      const auto stated = mapping.defaults.find(attribute.name());
      const bool holds = !is_standard(node) || (mapping.since <= opset && opset < mapping.until);
      if (holds && stated != mapping.defaults.end()) return is_number(stated->second);
    }
    if (!is_standard(node) || opset <= latest_known_version()) return false;
    return std::ranges::any_of(
               later_defaults,
               [&](const auto& each) { return each.first == attribute.name() && is_number(each.second); }) ||
           std::ranges::any_of(later_default_texts, [&](const auto& each) {
             return each.first == attribute.name() && attribute.type() == onnx::AttributeProto::STRING &&
                    attribute.s() == each.second;
           });
  }

  /// The version that defined the operator as it is, if it is known. What a name inside of a
  /// subgraph or function means depends on all versions and functions.
  std::string version_of(const onnx::NodeProto& node) const {
    const auto found = versions_.find(domain_of(node.domain()));
    std::int64_t version = found == versions_.end() ? 0 : found->second;
    if (is_standard(node)) version = equivalent_opset(node.op_type(), version);
    const auto* schema = is_standard(node) && version <= latest_known_version()
                             ? onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), "")
                             : nullptr;
    if (schema != nullptr) version = schema->since_version();
    std::string text = std::to_string(version);
    if (has_subgraph(node) || !functions_.empty()) text += " " + all_versions_ + functions_;
    return text;
  }

  static int latest_known_version() {
    return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
  }

  const algebra::Library& library_;
  std::map<std::string, std::int64_t> versions_;
  std::string all_versions_, functions_;
  std::unordered_map<std::string, std::uint32_t> occurrences_;
};

}  // namespace

ModelIdentity::ModelIdentity(const OnnxModel& model, const algebra::Library& library) {
  const OnnxModel::Proto& proto = model.proto();
  const onnx::GraphProto& graph = proto.model.graph();
  for (const auto& tensor : graph.initializer()) {
    initializer_keys_[tensor.name()] = content_key(tensor, proto.raw(tensor));
    constant_types_[tensor.name()] = tensor.data_type();
  }
  for (const auto& tensor : graph.sparse_initializer())
    initializer_keys_[tensor.values().name()] = "sparse " + digest_of(tensor.SerializeAsString());
  // Before IR version 4 every initializer had to be an input.
  for (const auto& input : graph.input()) {
    const std::optional<std::string> initial = initializer_key(input.name());
    if (initial && proto.model.ir_version() < 4) continue;
    inputs_.push_back({input.name(), type_text(input.type(), true), initial.value_or("")});
  }
  for (const auto& output : graph.output()) outputs_.push_back({output.name(), type_text(output.type(), false), ""});
  std::ranges::sort(inputs_, {}, &InterfaceItem::name);
  std::ranges::sort(outputs_, {}, &InterfaceItem::name);
  NodeKeys keys(proto.model, library);
  for (const auto& node : graph.node()) {
    node_keys_.push_back(keys.key(node));
    frame_keys_.push_back(keys.frame_key(node));
    if (node.op_type() != "Constant" || node.attribute_size() != 1 || node.output_size() != 1) continue;
    const onnx::AttributeProto& value = node.attribute(0);
    constant_types_[node.output(0)] = value.has_t() ? value.t().data_type()
                                      : value.name().starts_with("value_int")
                                          ? static_cast<int>(onnx::TensorProto::INT64)
                                          : static_cast<int>(onnx::TensorProto::FLOAT);
  }
}

std::optional<std::string> ModelIdentity::initializer_key(const std::string& name) const {
  const auto found = initializer_keys_.find(name);
  return found == initializer_keys_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int> ModelIdentity::constant_type(const std::string& name) const {
  const auto found = constant_types_.find(name);
  return found == constant_types_.end() ? std::nullopt : std::optional(found->second);
}

void require_same_interface(const ModelIdentity& before, const ModelIdentity& after, const std::string& file) {
  require_same_items(file, "inputs", before.inputs(), after.inputs());
  require_same_items(file, "outputs", before.outputs(), after.outputs());
}

}  // namespace rulemill::optimize
