#include "optimize/onnx/inference.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>

#include "runtime/error.h"
#include "runtime/subprocess.h"

namespace rulemill::optimize {

namespace {

constexpr std::uint64_t helper_memory = std::uint64_t{2} << 30;
constexpr std::chrono::seconds patience{20};
constexpr int most_failures = 20;  // helpers that one model may cost

/// A schema of an older opset must not speak for a newer node: one with inputs or attributes that it does not know, or
/// a pool that rounds up, whose sizes later opsets define otherwise.
bool known_wholly(const onnx::NodeProto& node, int opset) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, node.domain());
  if (schema == nullptr || node.input_size() > schema->max_input() || node.output_size() > schema->max_output()) {
    return false;
  }
  return std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    return schema->attributes().contains(attribute.name()) && !(attribute.name() == "ceil_mode" && attribute.i() != 0);
  });
}

/// The library numbers the sizes that it makes up from 0 for every question: only names that the question has mean
/// anything outside.
void forget_made_up_sizes(const onnx::GraphProto& question, onnx::GraphProto& types) {
  std::set<std::string> given;
  for (const auto& input : question.input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) given.insert(dim.dim_param());
  }
  for (auto& output : *types.mutable_output()) {
    if (!output.type().tensor_type().has_shape()) continue;
    for (auto& dim : *output.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (dim.has_dim_param() && !given.contains(dim.dim_param())) dim.clear_dim_param();
    }
  }
}

onnx::GraphProto inferred(onnx::ModelProto question) {
  onnx::GraphProto types;
  const onnx::NodeProto& node = question.graph().node(0);
  int opset = 1;
  for (const auto& set : question.opset_import()) {
    if (set.domain() == node.domain()) opset = static_cast<int>(set.version());
  }
  if (!known_wholly(node, opset)) return types;
  try {
    const onnx::ShapeInferenceOptions options(false, 0, true);
    std::unordered_map<std::string, onnx::TensorShapeProto> propagated;
    onnx::shape_inference::InferShapes(question, onnx::OpSchemaRegistry::Instance(), options, &propagated);
  } catch (const std::exception&) {
    return types;  // it does not type
  }
  *types.mutable_output() = question.graph().value_info();
  forget_made_up_sizes(question.graph(), types);
  return types;
}

}  // namespace

NodeInference::NodeInference(std::vector<std::string> command) : command_(std::move(command)) {}
NodeInference::~NodeInference() = default;

const NodeInference::Answer& NodeInference::infer(const onnx::ModelProto& question) {
  std::string key = question.SerializeAsString();
  auto found = answers_.find(key);
  if (found != answers_.end()) return found->second;
  Answer answer;
  if (command_.empty()) {
    answer.types = inferred(question);
  } else {
    answer = ask(key);
  }
  return answers_.emplace(std::move(key), std::move(answer)).first->second;
}

NodeInference::Answer NodeInference::ask(const std::string& question) {
  Answer answer;
  if (failures_ >= most_failures) {
    answer.failure = "not asked any more";
    return answer;
  }
  if (!helper_ || !helper_->alive()) helper_ = std::make_unique<runtime::Subprocess>(command_, helper_memory);
  helper_->send(runtime::bytes_of(std::string_view(question)));
  if (auto frame = helper_->receive(patience)) {
    answer.types.ParseFromArray(frame->data(), static_cast<int>(frame->size()));
  } else {
    ++failures_;
    answer.failure = helper_->end_reason();
  }
  return answer;
}

void serve_node_inference() {
  runtime::serve_frames([](runtime::ByteView frame) {
    onnx::ModelProto question;
    onnx::GraphProto types;
    if (question.ParseFromArray(frame.data(), static_cast<int>(frame.size())) && question.graph().node_size() == 1) {
      types = inferred(std::move(question));
    }
    return runtime::copy_bytes(runtime::bytes_of(std::string_view(types.SerializeAsString())));
  });
}

}  // namespace rulemill::optimize
