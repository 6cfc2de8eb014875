#include "optimize/onnx/shapes/inference.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>

#include "optimize/onnx/format/dimensions.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

constexpr std::uint64_t helper_memory = std::uint64_t{2} << 30;
constexpr std::chrono::seconds timeout{20};
constexpr int max_failures = 20;  // helper crashes per model

/// Since then ONNX has no experimental operators, which some runtimes still have.
constexpr int min_complete_opset = 10;

/// Returns why no version of ONNX up to the library's has the operator; empty if one does, or if it is unknown.
std::string reason_of_absence(const onnx::NodeProto& node, int opset) {
  const onnx::OpSchema* any = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
  const int newest = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN).second;
  const bool is_known = node.domain().empty() && opset >= min_complete_opset && opset <= newest;
  return is_known && any == nullptr ? "ONNX has no operator " + node.op_type() : "";
}

/// Returns why the shapes of a node do not fit, without the places that the library puts before it. Empty for other
/// errors, whose cause may be an unknown type of an input.
std::string reason_of(const onnx::InferenceError& error) {
  constexpr std::string_view kind = "[ShapeInferenceError] ";
  const std::string_view text = error.what();
  const auto last = text.rfind("Error] "), found = text.rfind(kind);
  if (last == text.npos || found == text.npos || found + kind.size() != last + 7) return {};
  return std::string(text.substr(found + kind.size(), text.find('\n', found) - found - kind.size()));
}

/// Whether the schema is valid for the node. A schema of an older opset is not if the node has inputs or attributes
/// that it lacks, or is a pool that rounds up, whose sizes later opsets define differently.
bool schema_covers(const onnx::NodeProto& node, const onnx::OpSchema* schema) {
  if (schema == nullptr || node.input_size() > schema->max_input() || node.output_size() > schema->max_output()) {
    return false;
  }
  return std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    return schema->attributes().contains(attribute.name()) && !(attribute.name() == "ceil_mode" && attribute.i() != 0);
  });
}

/// Removes dimension names that the library generated: it numbers them from 0 in every query.
void remove_generated_dims(const onnx::GraphProto& query, onnx::GraphProto& types) {
  std::set<std::string> named;
  for (onnx::ValueInfoProto input : query.input())
    for_each_dimension(*input.mutable_type(), [&](const auto& dim) { named.insert(dim.dim_param()); });
  for (auto& output : *types.mutable_output())
    for_each_dimension(*output.mutable_type(), [&](auto& dim) {
      if (dim.has_dim_param() && !named.contains(dim.dim_param())) dim.clear_dim_param();
    });
}

onnx::GraphProto infer_types(onnx::ModelProto query) {
  onnx::GraphProto types;
  const onnx::NodeProto& node = query.graph().node(0);
  int opset = 1;
  for (const auto& set : query.opset_import()) {
    if (set.domain() == node.domain()) opset = static_cast<int>(set.version());
  }
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, node.domain());
  if (schema == nullptr) types.set_doc_string(reason_of_absence(node, opset));
  if (!schema_covers(node, schema)) return types;
  try {
    const onnx::ShapeInferenceOptions options(false, 1, true);
    std::unordered_map<std::string, onnx::TensorShapeProto> propagated;
    onnx::shape_inference::InferShapes(query, onnx::OpSchemaRegistry::Instance(), options, &propagated);
  } catch (const onnx::InferenceError& error) {
    const auto has_graph = [](const onnx::AttributeProto& attribute) { return attribute.has_g(); };
    if (std::ranges::none_of(node.attribute(), has_graph)) types.set_doc_string(reason_of(error));
  } catch (const std::exception&) {
    return types;  // the node does not type
  }
  *types.mutable_output() = query.graph().value_info();
  remove_generated_dims(query.graph(), types);
  return types;
}

}  // namespace

NodeInference::NodeInference(std::vector<std::string> command) : command_(std::move(command)) {}
NodeInference::~NodeInference() = default;

const NodeInference::InferredTypes& NodeInference::infer(const onnx::ModelProto& query) {
  std::string key = query.SerializeAsString();
  auto found = cache_.find(key);
  if (found != cache_.end()) return found->second;
  InferredTypes result;
  if (command_.empty()) {
    result.types = infer_types(query);
  } else {
    result = query_helper(key);
  }
  return cache_.emplace(std::move(key), std::move(result)).first->second;
}

NodeInference::InferredTypes NodeInference::query_helper(const std::string& query) {
  InferredTypes result;
  if (failures_ >= max_failures) {
    result.failure = "disabled after too many crashes";
    return result;
  }
  if (!helper_ || !helper_->is_alive()) helper_ = std::make_unique<runtime::Subprocess>(command_, helper_memory);
  helper_->send(runtime::bytes_of(std::string_view(query)));
  if (auto frame = helper_->receive(timeout)) {
    result.types.ParseFromArray(frame->data(), static_cast<int>(frame->size()));
  } else {
    ++failures_;
    result.failure = helper_->end_reason();
  }
  return result;
}

void serve_node_inference() {
  runtime::serve_frames([](runtime::ByteView frame) {
    onnx::ModelProto query;
    onnx::GraphProto types;
    if (query.ParseFromArray(frame.data(), static_cast<int>(frame.size())) && query.graph().node_size() == 1) {
      types = infer_types(std::move(query));
    }
    return runtime::copy_bytes(runtime::bytes_of(std::string_view(types.SerializeAsString())));
  });
}

}  // namespace rulemill::optimize
