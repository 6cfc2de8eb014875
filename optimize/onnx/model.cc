#include "optimize/onnx/model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <map>

#include "optimize/onnx/model_proto.h"
#include "optimize/onnx/structure.h"
#include "optimize/onnx/wire.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

using runtime::InputError;

std::string external_entry(const onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

/// Side files of one model, each mapped once.
class SideFiles {
 public:
  SideFiles(OnnxModel::Proto& proto, std::filesystem::path folder) : proto_(proto), folder_(std::move(folder)) {}

  /// The bytes that an external tensor means. Throws InputError: outside the model's folder, too short, no such file.
  std::string_view data(const onnx::TensorProto& tensor) {
    const std::string place = proto_.origin + ": external data of " + shown(tensor.name());
    const std::string_view bytes = file(external_entry(tensor, "location"), place);
    const std::uint64_t offset = number(external_entry(tensor, "offset"), place + ": offset").value_or(0);
    const std::uint64_t rest = bytes.size() - std::min<std::uint64_t>(offset, bytes.size());
    auto length = number(external_entry(tensor, "length"), place + ": length");
    if (!length) {
      const auto count = element_count(tensor);
      const auto wanted = count ? raw_bytes(tensor.data_type(), *count) : std::nullopt;
      length = std::min(wanted.value_or(rest), rest);
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
      throw InputError(place, "expected a number of bytes, found '" + shown(text) + "'");
    }
    return value;
  }

  std::string_view file(const std::string& location, const std::string& place) {
    auto [entry, fresh] = files_.try_emplace(location);
    if (fresh) {
      entry->second = open(location, place);
      proto_.owners.push_back(entry->second);
      proto_.side_files.push_back(entry->second->path());
    }
    return entry->second->bytes();
  }

  std::shared_ptr<const MappedFile> open(const std::filesystem::path& location, const std::string& place) const {
    const auto outside = [&] {
      throw InputError(place, "expected a file in the model's folder, found '" + shown(location.string()) + "'");
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

/// External data stay mapped where an initializer has them, and are copied where they are small: elsewhere.
void load_external(OnnxModel::Proto& proto, const std::filesystem::path& folder) {
  SideFiles files(proto, folder);
  auto settle = [&](onnx::TensorProto& tensor, bool initializer) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const std::string_view bytes = files.data(tensor);
    tensor.clear_external_data();
    tensor.clear_data_location();
    if (initializer) {
      proto.elsewhere[tensor.name()] = bytes;
    } else {
      tensor.set_raw_data(bytes.data(), bytes.size());
    }
  };
  onnx::GraphProto& graph = *proto.model.mutable_graph();
  for (auto& tensor : *graph.mutable_initializer()) settle(tensor, true);
  for_each_inner_tensor(graph, [&](onnx::TensorProto& tensor) { settle(tensor, false); });
}

bool parse_message(std::string_view bytes, onnx::ModelProto& model) {
  constexpr auto largest = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (bytes.size() > largest) return false;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  return model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

/// `bytes` live as long as their owner, which the model keeps.
void assemble(OnnxModel::Proto& proto, std::string_view bytes, std::shared_ptr<const void> owner,
              const std::filesystem::path& folder) {
  const auto split = split_model(bytes);
  onnx::ModelProto& model = proto.model;
  if (!parse_message(split ? std::string_view(split->message) : bytes, model)) {
    throw InputError(proto.origin, "not an ONNX model, or a truncated one");
  }
  if (!model.has_ir_version() || !model.has_graph())
    throw InputError(proto.origin, "not an ONNX model: no graph in it");
  proto.bytes = bytes;
  proto.owners.push_back(std::move(owner));
  for (const auto& data : split ? split->data : std::vector<SplitModel::Data>()) {
    const onnx::TensorProto& tensor = model.graph().initializer(static_cast<int>(data.initializer));
    if (tensor.has_raw_data() || tensor.data_location() == onnx::TensorProto::EXTERNAL ||
        !proto.elsewhere.emplace(tensor.name(), data.bytes).second) {
      throw InputError(proto.origin, "initializer " + shown(tensor.name()) + " is defined twice");
    }
  }
  proto.opset = 1;
  for (const auto& set : model.opset_import()) {
    const bool standard = set.domain().empty() || set.domain() == "ai.onnx";
    if (standard) proto.opset = static_cast<int>(std::clamp<std::int64_t>(set.version(), 0, 1 << 20));
  }
  load_external(proto, folder);
  check_structure(proto);
}

std::uint64_t weight_bytes_of(const OnnxModel::Proto& proto) {
  std::uint64_t sum = 0;
  for (const auto& tensor : proto.model.graph().initializer()) sum += data_bytes(proto, tensor);
  return sum;
}

template <typename Message>
std::string serialized(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  RM_CHECK(message.SerializeToCodedStream(&coded), "the model does not serialize");
  coded.Trim();
  return bytes;
}

/// A file as pieces in order: what is mapped is never copied.
struct Pieces {
  std::deque<std::string> texts;  // that views look at; they do not move
  std::vector<runtime::ByteView> views;
  std::uint64_t size = 0;

  void add(std::string text) { add_view(texts.emplace_back(std::move(text))); }
  void add_front(std::string text) {
    views.insert(views.begin(), runtime::bytes_of(std::string_view(texts.emplace_front(std::move(text)))));
    size += texts.front().size();
  }
  void add_view(std::string_view bytes) {
    views.push_back(runtime::bytes_of(bytes));
    size += bytes.size();
  }
};

constexpr std::uint64_t smallest_external = 1024, alignment = 4096;

/// Initializers with their data inside, or those above a size in `side`, which will be called `side_name`.
Pieces model_pieces(const OnnxModel::Proto& proto, Pieces* side, const std::string& side_name) {
  onnx::ModelProto shell = proto.model;
  onnx::GraphProto graph;
  graph.Swap(shell.mutable_graph());
  shell.clear_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> initializers;
  initializers.Swap(graph.mutable_initializer());
  Pieces inner;
  for (auto& tensor : initializers) {
    auto raw = proto.raw(tensor);
    std::string inside;
    if (side && raw && raw->size() >= smallest_external) {
      side->add(std::string((alignment - side->size % alignment) % alignment, '\0'));
      auto add = [&](const std::string& key, const std::string& value) {
        auto* entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      add("location", side_name);
      add("offset", std::to_string(side->size));
      add("length", std::to_string(raw->size()));
      if (tensor.has_raw_data()) {
        side->add(tensor.raw_data());
      } else {
        side->add_view(*raw);
      }
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      raw.reset();
    }
    const std::string head = serialized(tensor);
    const bool apart = raw && !tensor.has_raw_data();
    const std::string data_head = apart ? field_head(raw_data_field, raw->size()) : "";
    const std::uint64_t size = head.size() + data_head.size() + (apart ? raw->size() : 0);
    inner.add(field_head(initializer_field, size) + head + data_head);
    if (apart) inner.add_view(*raw);
  }
  const std::string rest = serialized(graph);
  inner.add_front(serialized(shell) + field_head(graph_field, rest.size() + inner.size) + rest);
  return inner;
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
  assemble(*result.proto_, file->bytes(), file, path.parent_path());
  return result;
}

OnnxModel OnnxModel::parse(std::string_view bytes, const std::string& origin, const std::filesystem::path& folder) {
  OnnxModel result;
  result.proto_->origin = origin;
  auto copy = std::make_shared<const std::string>(bytes);
  assemble(*result.proto_, *copy, copy, folder);
  return result;
}

int OnnxModel::opset() const { return proto_->opset; }
const std::string& OnnxModel::origin() const { return proto_->origin; }
std::uint64_t OnnxModel::weight_bytes() const { return weight_bytes_of(*proto_); }
void OnnxModel::check() const { check_structure(*proto_); }

std::string OnnxModel::serialize() const {
  std::string bytes;
  for (runtime::ByteView view : model_pieces(*proto_, nullptr, {}).views) bytes += runtime::text_of(view);
  return bytes;
}

void OnnxModel::write(const std::filesystem::path& path, std::uint64_t inline_limit) const {
  std::filesystem::path data = path;
  data += ".data";
  if (proto_->side_files.empty() && weight_bytes() <= inline_limit) {
    runtime::write_file(path, model_pieces(*proto_, nullptr, {}).views);
    return;
  }
  std::error_code ignored;
  for (const auto& used : proto_->side_files) {
    if (std::filesystem::equivalent(used, data, ignored)) {
      throw runtime::UsageError("--out", data.string() + " holds the model's own weights; choose another name");
    }
  }
  Pieces side;
  const Pieces model = model_pieces(*proto_, &side, data.filename().string());
  runtime::write_file(data, side.views);
  try {
    runtime::write_file(path, model.views);
  } catch (...) {
    std::filesystem::remove(data, ignored);
    throw;
  }
}

void OnnxModel::write_as_read(const std::filesystem::path& path) const {
  if (!proto_->side_files.empty()) return write(path);
  runtime::write_file(path, runtime::bytes_of(proto_->bytes));
}

}  // namespace rulemill::optimize
