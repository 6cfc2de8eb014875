#include "optimize/onnx/format/model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/common/version.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <map>

#include "optimize/onnx/format/inline_functions.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/format/split_protobuf.h"
#include "optimize/onnx/format/validate.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/destination.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {

std::string onnx_library_version() { return onnx::LAST_RELEASE_VERSION; }

namespace {

using runtime::InputError;

std::string external_data_value(const onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

/// External data files of one model, each mapped once.
class ExternalFiles {
 public:
  ExternalFiles(OnnxModel::Proto& proto, std::filesystem::path folder) : proto_(proto), folder_(std::move(folder)) {}

  /// Returns an external tensor's bytes. Throws InputError if the file is missing, too short, or not in the folder.
  std::string_view data(const onnx::TensorProto& tensor) {
    const std::string place = proto_.origin + ": external data of " + printable(tensor.name());
    const std::string_view bytes = file(external_data_value(tensor, "location"), place);
    const std::uint64_t offset = number(external_data_value(tensor, "offset"), place + ": offset").value_or(0);
    const std::uint64_t rest = bytes.size() - std::min<std::uint64_t>(offset, bytes.size());
    auto length = number(external_data_value(tensor, "length"), place + ": length");
    if (!length) {
      const auto count = element_count(tensor);
      const auto expected = count ? raw_bytes(tensor.data_type(), *count) : std::nullopt;
      length = std::min(expected.value_or(rest), rest);
    }
    if (offset > bytes.size() || *length > rest) {
      throw InputError(place, "expected " + std::to_string(*length) + " bytes at " + std::to_string(offset) +
                                  ", found " + std::to_string(bytes.size()) + " bytes in the file");
    }
    return bytes.substr(offset, *length);
  }

 private:
  static std::optional<std::uint64_t> number(const std::string& text, const std::string& place) {
    if (text.empty()) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw InputError(place, "expected a number of bytes, found '" + printable(text) + "'");
    }
    return value;
  }

  std::string_view file(const std::string& location, const std::string& place) {
    auto [entry, added] = files_.try_emplace(location);
    if (added) {
      entry->second = open(location, place);
      proto_.owners.push_back(entry->second);
      proto_.external_files.push_back(entry->second->path());
    }
    return entry->second->bytes();
  }

  std::shared_ptr<const MappedFile> open(const std::filesystem::path& location, const std::string& place) const {
    const auto outside = [&] {
      throw InputError(place, "expected a file in the model's folder, found '" + printable(location.string()) + "'");
    };
    if (location.empty() || location.is_absolute()) outside();
    const std::filesystem::path folder = folder_.empty() ? "." : folder_;
    std::error_code error;
    const auto home = std::filesystem::canonical(folder, error);
    const auto target = std::filesystem::weakly_canonical(folder / location, error);
    if (!error && *target.lexically_relative(home).begin() == "..") outside();
    return MappedFile::open(folder / location, place);
  }

  OnnxModel::Proto& proto_;
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

/// External data of initializers stay mapped; those of other tensors, which are small, are copied.
void load_external_data(OnnxModel::Proto& proto, const std::filesystem::path& folder) {
  ExternalFiles files(proto, folder);
  auto resolve = [&](onnx::TensorProto& tensor, bool initializer) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const std::string_view bytes = files.data(tensor);
    tensor.clear_external_data();
    tensor.clear_data_location();
    if (initializer) {
      proto.detached_data.insert_or_assign(tensor.name(), DetachedData(bytes));
    } else {
      tensor.set_raw_data(bytes.data(), bytes.size());
    }
  };
  onnx::GraphProto& graph = *proto.model.mutable_graph();
  for (auto& tensor : *graph.mutable_initializer()) resolve(tensor, true);
  for_each_nested_tensor(graph, [&](onnx::TensorProto& tensor) { resolve(tensor, false); });
}

bool parse_message(std::string_view bytes, onnx::ModelProto& model) {
  constexpr auto max_bytes = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (bytes.size() > max_bytes) return false;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  return model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

/// Runtimes read a dimension of -1 as one that is not known.
void forget_negative_dimensions(onnx::GraphProto& graph) {
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& value : *values) {
      if (!value.type().tensor_type().has_shape()) continue;
      for (auto& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
        if (dim.dim_value() == -1) dim.clear_value();
    }
  }
}

/// Parses and validates a model. `owner` keeps `bytes` alive.
void load_model(OnnxModel::Proto& proto, std::string_view bytes, std::shared_ptr<const void> owner,
                const std::filesystem::path& folder) {
  const auto split = split_model(bytes);
  onnx::ModelProto& model = proto.model;
  if (!parse_message(split ? std::string_view(split->message) : bytes, model)) {
    throw InputError(proto.origin, "not an ONNX model, or a truncated one");
  }
  if (!model.has_ir_version() || !model.has_graph())
    throw InputError(proto.origin, "not an ONNX model: it has no graph");
  proto.bytes = bytes;
  proto.owners.push_back(std::move(owner));
  for (const auto& data : split ? split->data : std::vector<SplitModel::Data>()) {
    const onnx::TensorProto& tensor = model.graph().initializer(static_cast<int>(data.initializer));
    if (tensor.has_raw_data() || tensor.data_location() == onnx::TensorProto::EXTERNAL ||
        !proto.detached_data.emplace(tensor.name(), data.bytes).second) {
      throw InputError(proto.origin, "initializer " + printable(tensor.name()) + " is defined twice");
    }
  }
  proto.opset = 1;
  for (const auto& set : model.opset_import()) {
    const bool standard = set.domain().empty() || set.domain() == "ai.onnx";
    if (standard) proto.opset = static_cast<int>(std::clamp<std::int64_t>(set.version(), 0, 1 << 20));
  }
  inline_functions(proto);
  forget_negative_dimensions(*model.mutable_graph());
  load_external_data(proto, folder);
  validate_model(proto);
}

std::uint64_t weight_bytes_of(const OnnxModel::Proto& proto) {
  std::uint64_t sum = 0;
  for (const auto& tensor : proto.model.graph().initializer()) sum += stored_bytes(proto, tensor);
  return sum;
}

template <typename Message>
std::string serialize_message(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  RM_CHECK(message.SerializeToCodedStream(&coded), "the model does not serialize");
  coded.Trim();
  return bytes;
}

/// The content of a file as chunks in order; mapped memory is not copied.
struct ByteChunks {
  std::deque<std::string> owned;  // memory of views; a deque keeps addresses stable
  std::vector<runtime::ByteView> views;
  std::uint64_t size = 0;

  void add(std::string text) { add_view(owned.emplace_back(std::move(text))); }
  void add_front(std::string text) {
    views.insert(views.begin(), runtime::bytes_of(std::string_view(owned.emplace_front(std::move(text)))));
    size += owned.front().size();
  }
  void add_view(std::string_view bytes) {
    views.push_back(runtime::bytes_of(bytes));
    size += bytes.size();
  }
};

constexpr std::uint64_t min_external_bytes = 1024, alignment = 4096;

/// Serializes the model. Initializers above a size go to `external`, if given, and refer to the file `external_name`.
ByteChunks serialize_model(const OnnxModel::Proto& proto, ByteChunks* external, const std::string& external_name) {
  onnx::ModelProto header = proto.model;
  onnx::GraphProto graph;
  graph.Swap(header.mutable_graph());
  header.clear_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> initializers;
  initializers.Swap(graph.mutable_initializer());
  ByteChunks chunks;
  for (auto& tensor : initializers) {
    auto raw = proto.raw(tensor);
    std::string inline_data;
    if (external && raw && raw->size() >= min_external_bytes) {
      external->add(std::string((alignment - external->size % alignment) % alignment, '\0'));
      auto add = [&](const std::string& key, const std::string& value) {
        auto* entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      add("location", external_name);
      add("offset", std::to_string(external->size));
      add("length", std::to_string(raw->size()));
      if (tensor.has_raw_data()) {
        external->add(tensor.raw_data());
      } else {
        external->add_view(*raw);
      }
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      raw.reset();
    }
    const std::string header_bytes = serialize_message(tensor);
    const bool is_detached = raw && !tensor.has_raw_data();
    const std::string data_header = is_detached ? field_header(raw_data_field, raw->size()) : "";
    const std::uint64_t size = header_bytes.size() + data_header.size() + (is_detached ? raw->size() : 0);
    chunks.add(field_header(initializer_field, size) + header_bytes + data_header);
    if (is_detached) chunks.add_view(*raw);
  }
  const std::string rest = serialize_message(graph);
  chunks.add_front(serialize_message(header) + field_header(graph_field, rest.size() + chunks.size) + rest);
  return chunks;
}

}  // namespace

OnnxModel::OnnxModel() : proto_(std::make_unique<Proto>()) {}
OnnxModel::OnnxModel(const OnnxModel& other) : proto_(std::make_unique<Proto>(*other.proto_)) {}
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;
OnnxModel::~OnnxModel() = default;

OnnxModel OnnxModel::read(const std::filesystem::path& path) {
  OnnxModel result;
  result.proto_->origin = path.string();
  auto file = MappedFile::open(path, path.string());
  load_model(*result.proto_, file->bytes(), file, path.parent_path());
  return result;
}

OnnxModel OnnxModel::parse(std::string_view bytes, const std::string& origin, const std::filesystem::path& folder) {
  OnnxModel result;
  result.proto_->origin = origin;
  auto copy = std::make_shared<const std::string>(bytes);
  load_model(*result.proto_, *copy, copy, folder);
  return result;
}

int OnnxModel::opset() const { return proto_->opset; }

std::vector<std::string> OnnxModel::input_names() const {
  std::vector<std::string> names;
  for (const auto& input : proto_->model.graph().input()) names.push_back(input.name());
  return names;
}

std::set<std::string> OnnxModel::domains() const {
  std::set<std::string> domains;
  for (const auto& set : proto_->model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") domains.insert(set.domain());
  }
  return domains;
}

void OnnxModel::require_domain(const std::string& domain) {
  if (domain.empty() || domains().contains(domain)) return;
  onnx::OperatorSetIdProto& added = *proto_->model.add_opset_import();
  added.set_domain(domain);
  added.set_version(1);
}

const std::string& OnnxModel::origin() const { return proto_->origin; }
const std::vector<std::filesystem::path>& OnnxModel::external_files() const { return proto_->external_files; }
std::uint64_t OnnxModel::weight_bytes() const { return weight_bytes_of(*proto_); }

std::string OnnxModel::digest() const {
  return "xxh3-128:" + runtime::to_hex(runtime::hash128(runtime::bytes_of(proto_->bytes)));
}

void OnnxModel::set_metadata(const std::string& key, const std::string& value) {
  auto& entries = *proto_->model.mutable_metadata_props();
  const auto found = std::ranges::find(entries, key, &onnx::StringStringEntryProto::key);
  onnx::StringStringEntryProto& entry = found == entries.end() ? *entries.Add() : *found;
  entry.set_key(key);
  entry.set_value(value);
}

void OnnxModel::check() const { validate_model(*proto_); }

std::string OnnxModel::serialize() const {
  std::string bytes;
  for (runtime::ByteView view : serialize_model(*proto_, nullptr, {}).views) bytes += runtime::text_of(view);
  return bytes;
}

void OnnxModel::write(const std::filesystem::path& path, std::uint64_t inline_limit) const {
  std::filesystem::path data = path;
  data += ".data";
  const bool is_file = runtime::destination_of(path).kind == runtime::Destination::Kind::File;
  if ((proto_->external_files.empty() || !is_file) && weight_bytes() <= inline_limit) {
    runtime::write_file(path, serialize_model(*proto_, nullptr, {}).views);
    return;
  }
  if (!is_file) throw runtime::UsageError("--out", "the weights need a file of their own; choose a file, not a stream");
  std::error_code ignored;
  for (const auto& source : proto_->external_files) {
    if (std::filesystem::equivalent(source, data, ignored)) {
      throw runtime::UsageError("--out", data.string() + " holds the model's own weights; choose another name");
    }
  }
  ByteChunks external;
  const ByteChunks model = serialize_model(*proto_, &external, data.filename().string());
  runtime::write_file(data, external.views);
  try {
    runtime::write_file(path, model.views);
  } catch (...) {
    std::filesystem::remove(data, ignored);
    throw;
  }
}

void OnnxModel::write_as_read(const std::filesystem::path& path) const {
  if (!proto_->external_files.empty()) return write(path);
  runtime::write_file(path, runtime::bytes_of(proto_->bytes));
}

}  // namespace rulemill::optimize
