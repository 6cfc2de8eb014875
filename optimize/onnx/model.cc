#include "optimize/onnx/model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>

#include "optimize/onnx/model_proto.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

using runtime::InputError;

/// Every tensor of the model that may hold external data: initializers and tensor attributes, at any depth.
void for_each_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& visit) {
  for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit(*attribute.mutable_t());
      for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
      if (attribute.has_g()) for_each_tensor(*attribute.mutable_g(), visit);
      for (auto& body : *attribute.mutable_graphs()) for_each_tensor(body, visit);
    }
  }
}

std::string external_entry(const onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

void load_external(onnx::TensorProto& tensor, const std::string& origin, const std::filesystem::path& folder) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  std::filesystem::path location = external_entry(tensor, "location");
  std::string place = origin + ": external data of " + tensor.name();
  if (location.empty() || location.is_absolute() || location.lexically_normal().string().starts_with("..")) {
    throw InputError(place, "expected a file beside the model, found '" + location.string() + "'");
  }
  std::ifstream file(folder / location, std::ios::binary | std::ios::ate);
  if (!file) throw InputError(place, "cannot read " + (folder / location).string());
  auto file_size = static_cast<std::uint64_t>(file.tellg());
  std::uint64_t offset = 0, length = 0;
  try {
    std::string text = external_entry(tensor, "offset");
    offset = text.empty() ? 0 : std::stoull(text);
    text = external_entry(tensor, "length");
    length = text.empty() ? file_size - std::min(offset, file_size) : std::stoull(text);
  } catch (const std::exception&) {
    throw InputError(place, "offset and length must be numbers");
  }
  if (offset > file_size || length > file_size - offset) {
    throw InputError(place, "expected " + std::to_string(length) + " bytes at " + std::to_string(offset) + ", found " +
                                std::to_string(file_size) + " bytes in the file");
  }
  std::string bytes(length, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(bytes.data(), static_cast<std::streamsize>(length))) throw InputError(place, "cannot read");
  tensor.set_raw_data(std::move(bytes));
  tensor.clear_external_data();
  tensor.clear_data_location();
}

int default_opset(const onnx::ModelProto& model, const std::string& origin) {
  for (const auto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") {
      const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
      int newest = known.at("").second;
      if (set.version() < 1 || set.version() > newest) {
        throw InputError(origin, "opset " + std::to_string(set.version()) + ": expected 1 to " +
                                     std::to_string(newest) + ", which this build's ONNX library knows");
      }
      return static_cast<int>(set.version());
    }
  }
  return 1;
}

}  // namespace

OnnxModel::OnnxModel() : proto_(std::make_unique<Proto>()) {}
OnnxModel::OnnxModel(const OnnxModel& other) : proto_(std::make_unique<Proto>(*other.proto_)) {}
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;
OnnxModel::~OnnxModel() = default;

OnnxModel OnnxModel::read(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) throw InputError(path.string(), "expected an ONNX model file");
  return parse(runtime::read_file(path), path.string(), path.parent_path());
}

OnnxModel OnnxModel::parse(std::string_view bytes, const std::string& origin, const std::filesystem::path& folder) {
  OnnxModel result;
  onnx::ModelProto& model = result.proto_->model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) || !model.ParseFromCodedStream(&coded) ||
      !coded.ConsumedEntireMessage()) {
    throw InputError(origin, "not an ONNX model, or a truncated one");
  }
  if (!model.has_ir_version() || !model.has_graph()) throw InputError(origin, "not an ONNX model: no graph in it");
  if (model.ir_version() > onnx::IR_VERSION) {
    throw InputError(origin, "IR version " + std::to_string(model.ir_version()) + ": expected at most " +
                                 std::to_string(onnx::IR_VERSION) + ", which this build's ONNX library knows");
  }
  result.proto_->origin = origin;
  result.proto_->opset = default_opset(model, origin);
  for_each_tensor(*model.mutable_graph(), [&](onnx::TensorProto& tensor) { load_external(tensor, origin, folder); });
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {
    std::string why = error.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    throw InputError(origin, "the ONNX checker refuses it: " + why);
  }
  return result;
}

int OnnxModel::opset() const { return proto_->opset; }
const std::string& OnnxModel::origin() const { return proto_->origin; }

std::uint64_t OnnxModel::weight_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& tensor : proto_->model.graph().initializer()) sum += data_bytes(tensor);
  return sum;
}

void OnnxModel::check() const {
  try {
    onnx::checker::check_model(proto_->model);
  } catch (const std::exception& error) {
    throw runtime::Error("optimized model", std::string("the ONNX checker refuses it: ") + error.what());
  }
}

std::string OnnxModel::serialize() const {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  RM_CHECK(proto_->model.SerializeToCodedStream(&coded), "the model does not serialize");
  coded.Trim();
  return bytes;
}

void OnnxModel::write(const std::filesystem::path& path, std::uint64_t inline_limit) const {
  std::error_code ignored;
  std::filesystem::path data = path;
  data += ".data";
  if (weight_bytes() <= inline_limit) {
    runtime::write_file(path, serialize());
    return;
  }
  constexpr std::uint64_t smallest = 1024, alignment = 4096;
  OnnxModel shell(*this);
  std::string bytes;
  for (auto& tensor : *shell.proto_->model.mutable_graph()->mutable_initializer()) {
    if (data_bytes(tensor) < smallest || !tensor.has_raw_data()) continue;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
    auto add = [&](const std::string& key, const std::string& value) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", data.filename().string());
    add("offset", std::to_string(bytes.size()));
    add("length", std::to_string(tensor.raw_data().size()));
    bytes += tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  }
  runtime::write_file(data, bytes);
  try {
    runtime::write_file(path, shell.serialize());
  } catch (...) {
    std::filesystem::remove(data, ignored);
    throw;
  }
}

}  // namespace rulemill::optimize
