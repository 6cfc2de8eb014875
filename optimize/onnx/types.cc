#include "optimize/onnx/types.h"

#include <algorithm>
#include <map>

#include "optimize/onnx/model_proto.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

bool has_rank(const onnx::TypeProto& type) { return type.has_tensor_type() && type.tensor_type().has_shape(); }

std::optional<Element> element_of(const onnx::TypeProto& type) {
  return type.has_tensor_type() ? optimize::element_of(type.tensor_type().elem_type()) : std::nullopt;
}

onnx::TypeProto type_of(const onnx::TensorProto& tensor) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(tensor.data_type());
  auto* shape = type.mutable_tensor_type()->mutable_shape();
  for (std::int64_t dim : tensor.dims()) shape->add_dim()->set_dim_value(dim);
  return type;
}

const char* name_of(Element element) {
  switch (element) {
    case Element::Float16:
      return "float16";
    case Element::BFloat16:
      return "bfloat16";
    case Element::Float64:
      return "float64";
    case Element::Truth:
      return "bool";
    case Element::Integer:
      return "int64";
    default:
      return "float32";
  }
}

}  // namespace

OnnxTypes::OnnxTypes(const OnnxModel& model, algebra::Symbols& symbols, NodeInference* inference,
                     const SizeBounds& bounds)
    : proto_(model.proto()), symbols_(symbols), inference_(inference), bounds_(bounds) {
  const onnx::GraphProto& graph = proto_.model.graph();
  for (const auto& tensor : graph.initializer()) declared_.emplace(tensor.name(), type_of(tensor));
  for (const auto& info : graph.input()) declare(info);
  for (const auto& info : graph.value_info()) declare(info);
  for (const auto& info : graph.output()) {
    declare(info);
    outputs_.emplace(info.name(), &info);
  }
}

/// The first that knows the rank is believed.
void OnnxTypes::declare(const onnx::ValueInfoProto& info) {
  if (!info.has_type()) return;
  auto [entry, fresh] = declared_.emplace(info.name(), info.type());
  if (!fresh && !has_rank(entry->second)) entry->second = info.type();
  type(info.name());  // sizes are numbered in order of appearance
}

ValueType OnnxTypes::read(const onnx::TypeProto& type, const std::string& name) {
  const auto element = element_of(type);
  ValueType result = element ? dims_of(type, name) : std::nullopt;
  if (element) result.element = *element;
  return result;
}

ValueType OnnxTypes::dims_of(const onnx::TypeProto& type, const std::string& name) {
  if (!has_rank(type)) return std::nullopt;
  algebra::Shape shape;
  const auto& dims = type.tensor_type().shape();
  for (int d = 0; d < dims.dim_size(); ++d) {
    const auto& dim = dims.dim(d);
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 1) return std::nullopt;  // sizes are at least 1 in the algebra
      shape.emplace_back(dim.dim_value());
      continue;
    }
    const bool named = dim.has_dim_param() && !dim.dim_param().empty();
    if (auto known = by_name_.find(dim.dim_param()); named && known != by_name_.end()) {
      shape.push_back(known->second);
      continue;
    }
    shape.push_back(open_size(named ? dim.dim_param() : name + "#" + std::to_string(d)));
  }
  return shape;
}

/// Sizes of the algebra are at least 1: one that must be larger is what it is above its least value, and a number.
algebra::Poly OnnxTypes::open_size(const std::string& name) {
  const auto least = bounds_.least.find(name);
  const std::int64_t above = least == bounds_.least.end() ? 0 : least->second - 1;
  const algebra::Atom size = symbols_.size("$" + name + (above == 0 ? "" : "-" + std::to_string(above)));
  if (std::ranges::find(sizes_, size, &OpenSize::atom) == sizes_.end()) {
    const auto most = bounds_.most.find(name);
    sizes_.push_back({name, size, above, most == bounds_.most.end() ? std::nullopt : std::optional(most->second)});
  }
  return algebra::Poly(size) + above;
}

ValueType OnnxTypes::type(const std::string& name) {
  if (auto found = computed_.find(name); found != computed_.end()) return found->second;
  auto found = declared_.find(name);
  return found == declared_.end() ? std::nullopt : read(found->second, name);
}

ValueType OnnxTypes::shape(const std::string& name) {
  if (auto found = computed_.find(name); found != computed_.end()) return found->second;
  auto found = declared_.find(name);
  return found == declared_.end() ? std::nullopt : dims_of(found->second, name);
}

bool OnnxTypes::is_no_float(const std::string& name) const {
  using Tensor = onnx::TensorProto;
  auto found = declared_.find(name);
  if (found == declared_.end() || !found->second.has_tensor_type()) return false;
  const auto type = found->second.tensor_type().elem_type();
  return type == Tensor::INT64 || type == Tensor::INT32 || type == Tensor::BOOL || type == Tensor::INT8 ||
         type == Tensor::UINT8 || type == Tensor::INT16 || type == Tensor::UINT16;
}

void OnnxTypes::computed(const std::string& name, const ValueType& type) {
  const algebra::Shape& shape = *type;
  if (auto said = declared_.find(name); said != declared_.end() && element_of(said->second) != type.element) {
    throw runtime::InputError(proto_.origin, "value " + shown(name) + " is a " + std::string(name_of(type.element)) +
                                                 " tensor, but declared otherwise");
  }
  if (auto output = outputs_.find(name); output != outputs_.end() && has_rank(output->second->type())) {
    const auto& dims = output->second->type().tensor_type().shape();
    bool agrees = static_cast<std::size_t>(dims.dim_size()) == shape.size();
    for (int d = 0; agrees && d < dims.dim_size(); ++d) {
      const auto number = shape[static_cast<std::size_t>(d)].constant();
      agrees = !dims.dim(d).has_dim_value() || !number || dims.dim(d).dim_value() == *number;
    }
    if (!agrees) {
      throw runtime::InputError(proto_.origin, "output " + shown(name) + " has shape " + symbols_.to_string(shape) +
                                                   ", but is declared with another one");
    }
  }
  computed_.insert_or_assign(name, type);
}

int OnnxTypes::element_type(const std::string& name) const {
  const auto declared = declared_.find(name);
  if (const auto known = computed_.find(name); known != computed_.end() && known->second) {
    const int element = data_type_of(known->second.element);
    const bool agrees = declared != declared_.end() && element_of(declared->second) == known->second.element;
    return agrees ? declared->second.tensor_type().elem_type() : element;
  }
  return declared == declared_.end() ? 0 : declared->second.tensor_type().elem_type();
}

void OnnxTypes::follows(const std::string& name, int element, const algebra::Shape& shape) {
  if (element == 0) return;
  declared_.insert_or_assign(name, written(shape, element));
}

/// Sizes go out under names of their own, so that they are known again when they come back.
onnx::TypeProto OnnxTypes::written(const algebra::Shape& shape, int element) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element);
  auto* dims = type.mutable_tensor_type()->mutable_shape();
  for (const algebra::Poly& dim : shape) {
    if (auto number = dim.constant()) {
      dims->add_dim()->set_dim_value(*number);
    } else {
      const std::string name = symbols_.to_string(dim);
      by_name_.insert_or_assign(name, dim);
      dims->add_dim()->set_dim_param(name);
    }
  }
  return type;
}

std::string OnnxTypes::infer(const onnx::NodeProto& node, const std::vector<std::string>& captured,
                             const std::unordered_map<std::string, const onnx::TensorProto*>& integers) {
  auto unknown = [&](const std::string& name) {
    auto found = declared_.find(name);
    return !name.empty() && !computed_.contains(name) && (found == declared_.end() || !has_rank(found->second));
  };
  if (inference_ == nullptr || std::ranges::none_of(node.output(), unknown)) return {};
  onnx::ModelProto question;
  question.set_ir_version(proto_.model.ir_version());
  *question.mutable_opset_import() = proto_.model.opset_import();
  auto& graph = *question.mutable_graph();
  std::map<std::string, std::string> names;
  auto ask_about = [&](const std::string& name, const std::string& called) {
    if (!names.emplace(name, called).second) return;
    auto& input = *graph.add_input();
    input.set_name(called);
    auto known = type(name);
    auto other = declared_.find(name);
    if (auto value = integers.find(name); value != integers.end()) {
      *input.mutable_type() = type_of(*value->second);  // of which the library wants the very type, an int32's for one
      *graph.add_initializer() = *value->second;
      graph.mutable_initializer(graph.initializer_size() - 1)->set_name(called);
    } else if (known) {
      *input.mutable_type() = written(*known, element_type(name));  // an int32 stays one
    } else if (other != declared_.end()) {
      *input.mutable_type() = other->second;
    }
  };
  onnx::NodeProto& asked = *graph.add_node();
  asked = node;
  asked.clear_name();
  asked.clear_doc_string();
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    ask_about(node.input(i), "i" + std::to_string(i));
    asked.set_input(i, names.at(node.input(i)));
  }
  for (const std::string& name : captured) ask_about(name, name);
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) asked.set_output(i, "o" + std::to_string(i));
  }
  const NodeInference::Answer& answer = inference_->infer(question);
  for (const auto& found : answer.types.output()) {
    for (int i = 0; i < node.output_size(); ++i) {
      if (found.name() != "o" + std::to_string(i)) continue;
      onnx::ValueInfoProto info = found;
      info.set_name(node.output(i));
      declare(info);
    }
  }
  return answer.failure;
}

}  // namespace rulemill::optimize
