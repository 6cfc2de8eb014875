#include "optimize/onnx/inputs/input_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "optimize/onnx/format/mapped_file.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/inputs/npz.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"
#include "runtime/text/printable.h"

namespace rulemill::optimize {
namespace {

using runtime::InputError;

std::string type_name(int onnx_type) {
  const std::string& name = onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type));
  return name.empty() ? "unknown type " + std::to_string(onnx_type) : name;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return "[" + runtime::join_text(shape, [](auto dim) { return std::to_string(dim); }) + "]";
}

std::string shape_text(const onnx::TensorShapeProto& shape) {
  const auto dim_text = [](const auto& dim) {
    return dim.has_dim_value() ? std::to_string(dim.dim_value())
                               : (dim.dim_param().empty() ? "?" : runtime::make_printable(dim.dim_param(), 50));
  };
  return "[" + runtime::join_text(shape.dim(), dim_text) + "]";
}

InputTensor tensor_of(const onnx::TensorProto& proto, std::optional<std::string_view> raw) {
  return {proto.data_type(),
          {proto.dims().begin(), proto.dims().end()},
          raw ? std::string(*raw) : encode_typed_fields(proto)};
}

/// The first IR version in which an initializer with an input's name is its default value, not a constant.
constexpr int first_version_with_defaults = 4;

/// The inputs of a model that are no constants, in order.
class DeclaredInputs {
 public:
  explicit DeclaredInputs(const OnnxModel& model) : model_(model.proto()) {
    const onnx::GraphProto& graph = model_.model.graph();
    std::set<std::string> constants;
    for (const auto& tensor : graph.initializer()) {
      defaults_.emplace(tensor.name(), &tensor);
      if (model_.model.ir_version() < first_version_with_defaults) constants.insert(tensor.name());
    }
    for (const auto& tensor : graph.sparse_initializer()) constants.insert(tensor.values().name());
    for (const auto& input : graph.input()) {
      if (!constants.contains(input.name())) inputs_.push_back(&input);
    }
  }

  /// Returns the name of the input; empty if there are fewer.
  std::string name(std::size_t number) const { return number < inputs_.size() ? inputs_[number]->name() : ""; }
  bool contains(const std::string& name) const {
    return std::ranges::any_of(inputs_, [&](const auto* input) { return input->name() == name; });
  }

  /// Adds default values of inputs. Throws InputError unless the set then has tensors that fit, for the inputs only.
  void complete(InputSet& set) const {
    for (const auto& [name, tensor] : set.tensors) {
      if (!contains(name))
        throw InputError(set.origin, fmt::format("the model has no input '{}', expected {}",
                                                 runtime::make_printable(name, 100), names()));
    }
    std::map<std::string, std::int64_t> sizes;
    for (const auto* input : inputs_) {
      if (const auto value = defaults_.find(input->name()); value != defaults_.end())
        set.tensors.try_emplace(input->name(), tensor_of(*value->second, model_.raw(*value->second)));
      const auto found = set.tensors.find(input->name());
      const std::string place = set.origin + ": input " + runtime::make_printable(input->name(), 100);
      if (found == set.tensors.end())
        throw InputError(set.origin, "it has no values of " + input->name() + ", expected " + names());
      check_type(found->second, *input, place);
      check_shape(found->second, *input, sizes, place);
    }
  }

 private:
  std::string names() const {
    return runtime::join_text(inputs_, [](const auto* input) { return runtime::make_printable(input->name(), 100); });
  }

  static void check_type(const InputTensor& tensor, const onnx::ValueInfoProto& input, const std::string& place) {
    if (!input.type().has_tensor_type())
      throw InputError(place, "it is not a tensor in the model, which --inputs does not support");
    const int expected = input.type().tensor_type().elem_type();
    if (tensor.onnx_type != expected)
      throw InputError(place, fmt::format("expected {}, found {}", type_name(expected), type_name(tensor.onnx_type)));
  }

  /// `sizes` are those of named dimensions so far.
  static void check_shape(const InputTensor& tensor, const onnx::ValueInfoProto& input,
                          std::map<std::string, std::int64_t>& sizes, const std::string& place) {
    if (!input.type().tensor_type().has_shape()) return;
    const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
    bool fits = shape.dim_size() == static_cast<int>(tensor.shape.size());
    for (int d = 0; fits && d < shape.dim_size(); ++d) {
      const std::int64_t size = tensor.shape[static_cast<std::size_t>(d)];
      if (shape.dim(d).has_dim_value()) {
        fits = size == shape.dim(d).dim_value();
      } else if (const std::string& name = shape.dim(d).dim_param(); !name.empty() && name != "?") {
        const std::int64_t known = sizes.emplace(name, size).first->second;
        if (known != size)
          throw InputError(place, fmt::format("dimension {} is {} here and {} in another input",
                                              runtime::make_printable(name, 50), size, known));
      }
    }
    if (!fits)
      throw InputError(place, fmt::format("expected shape {}, found {}", shape_text(shape), shape_text(tensor.shape)));
  }

  const OnnxModelProto& model_;
  std::vector<const onnx::ValueInfoProto*> inputs_;
  std::map<std::string, const onnx::TensorProto*> defaults_;
};

constexpr std::string_view protobuf_prefix = "input_", protobuf_suffix = ".pb", set_prefix = "test_data_set_";

/// Returns N of "input_N.pb".
std::optional<std::size_t> input_number(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(protobuf_prefix) || !name.ends_with(protobuf_suffix)) return std::nullopt;
  const char* end = name.data() + name.size() - protobuf_suffix.size();
  std::size_t number = 0;
  const auto [next, error] = std::from_chars(name.data() + protobuf_prefix.size(), end, number);
  return error == std::errc() && next == end ? std::optional(number) : std::nullopt;
}

/// Reads a serialized tensor. Returns its name, too, which may be empty.
std::pair<std::string, InputTensor> read_tensor_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path, path.string());
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size())))
    throw InputError(path.string(), "not a serialized ONNX tensor");
  const auto count = element_count(proto);
  const auto bytes = count ? raw_bytes(proto.data_type(), *count) : std::nullopt;
  if (!bytes)
    throw InputError(path.string(), "expected a tensor of numbers or Booleans, found " + type_name(proto.data_type()));
  InputTensor tensor = tensor_of(proto, inline_raw_data(proto));
  if (tensor.raw.size() != *bytes)
    throw InputError(path.string(), fmt::format("expected {} bytes of elements, found {}", *bytes, tensor.raw.size()));
  return {proto.name(), std::move(tensor)};
}

/// Returns the entries of a folder in the order of their names.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error) throw InputError(folder.string(), "cannot read the folder: " + error.message());
  std::ranges::sort(entries);
  return entries;
}

/// Reads input_N.pb of a folder. A tensor belongs to the input of its name, or else to input N.
InputSet read_tensor_folder(const std::filesystem::path& folder, const DeclaredInputs& declared) {
  InputSet set{folder.string(), {}};
  for (const auto& path : sorted_entries(folder)) {
    const auto number = input_number(path);
    if (!number) continue;
    auto [name, tensor] = read_tensor_file(path);
    if (!declared.contains(name)) name = declared.name(*number);
    if (name.empty()) throw InputError(path.string(), "the model has no input of this number");
    if (!set.tensors.emplace(name, std::move(tensor)).second)
      throw InputError(path.string(), "a second tensor for input " + runtime::make_printable(name, 100));
  }
  return set;
}

std::vector<InputSet> read_folder(const std::filesystem::path& folder, const DeclaredInputs& declared) {
  std::vector<InputSet> sets;
  for (const auto& path : sorted_entries(folder)) {
    if (path.filename().string().starts_with(set_prefix)) sets.push_back(read_tensor_folder(path, declared));
  }
  if (sets.empty()) sets.push_back(read_tensor_folder(folder, declared));
  if (sets.size() == 1 && sets[0].tensors.empty())
    throw InputError(folder.string(), "expected input_0.pb, or folders test_data_set_* with it");
  return sets;
}

}  // namespace

std::vector<InputSet> read_input_sets(const std::filesystem::path& path, const OnnxModel& model) {
  const DeclaredInputs declared(model);
  std::vector<InputSet> sets;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    sets = read_folder(path, declared);
  } else {
    const auto file = MappedFile::open(path, path.string());
    sets.push_back({path.string(), parse_npz(file->bytes(), path.string())});
  }
  for (InputSet& set : sets) declared.complete(set);
  return sets;
}

GivenInputs to_given_inputs(const InputSet& set, const ImportedModel& import, const GraphBank& bank) {
  GivenInputs given{set.origin, {}, {}};
  for (const ValueId id : import.inputs) {
    const Value& value = bank.value(id);
    if (!value.type) continue;  // of a type that the algebra lacks
    const InputTensor& tensor = set.tensors.at(value.name);
    given.tensors.emplace(bank.node_of(id).source, std::make_shared<algebra::Tensor>(algebra::Tensor{
                                                       tensor.shape, decode_elements(tensor.onnx_type, tensor.raw)}));
    if (!add_sizes(given.sizes, *value.type, tensor.shape))
      throw InputError(set.origin + ": input " + value.name,
                       fmt::format("the model has no values at the shape {}", shape_text(tensor.shape)));
  }
  return given;
}

std::map<std::string, std::string> write_numpy_files(const InputSet& set, const std::filesystem::path& folder) {
  std::map<std::string, std::string> paths;
  for (const auto& [name, tensor] : set.tensors) {
    const auto path = std::filesystem::absolute(folder / ("input" + std::to_string(paths.size()) + ".npy"));
    runtime::write_file(path, runtime::bytes_of(std::string_view(serialize_npy(tensor))));
    paths.emplace(name, path.string());
  }
  return paths;
}

}  // namespace rulemill::optimize
