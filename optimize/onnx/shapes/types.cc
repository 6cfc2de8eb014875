#include "optimize/onnx/shapes/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "optimize/onnx/format/dimensions.h"
#include "optimize/onnx/format/model_proto.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {
namespace {

/// What separates the parts of a size's name from each other: doubled in a name of the model.
constexpr std::string_view separators = "#+-";

std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) text.append(separators.find(c) == std::string_view::npos ? 1 : 2, c);
  return text;
}

std::string unescaped(const std::string& text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    name += text[i];
    if (separators.find(text[i]) != std::string_view::npos && i + 1 < text.size() && text[i + 1] == text[i]) ++i;
  }
  return name;
}

bool has_rank(const onnx::TypeProto& type) { return type.has_tensor_type() && type.tensor_type().has_shape(); }

std::optional<DataType> data_type_of(const onnx::TypeProto& type) {
  return type.has_tensor_type() ? to_data_type(type.tensor_type().elem_type()) : std::nullopt;
}

/// Names with '$' are of sizes in queries to the ONNX library. A model's own are left out, so that these sizes differ;
/// so are "?", which exporters write for any size that they do not know.
void clear_query_name(onnx::TensorShapeProto::Dimension& dim) {
  if (dim.dim_param().find('$') != std::string::npos || dim.dim_param() == "?") dim.clear_dim_param();
}

onnx::TypeProto type_of(const onnx::TensorProto& tensor) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(tensor.data_type());
  auto* shape = type.mutable_tensor_type()->mutable_shape();
  for (std::int64_t dim : tensor.dims()) shape->add_dim()->set_dim_value(dim);
  return type;
}

}  // namespace

OnnxTypes::OnnxTypes(const OnnxModel& model, algebra::Symbols& symbols, NodeInference* inference,
                     const SizeBounds& bounds)
    : proto_(model.proto()), symbols_(symbols), inference_(inference), bounds_(bounds) {
  const onnx::GraphProto& graph = proto_.model.graph();
  for (const auto& tensor : graph.initializer()) declared_.emplace(tensor.name(), type_of(tensor));
  const auto declare_own = [&](onnx::ValueInfoProto info) {
    for_each_dimension(*info.mutable_type(), clear_query_name);
    declare(info);
  };
  for (const auto& info : graph.input()) declare_own(info);
  for (const auto& info : graph.value_info()) declare_own(info);
  for (const auto& info : graph.output()) {
    declare_own(info);
    outputs_.emplace(info.name(), &info);
  }
}

/// The first declaration with a known rank counts.
void OnnxTypes::declare(const onnx::ValueInfoProto& info) {
  if (!info.has_type()) return;
  auto [entry, added] = declared_.emplace(info.name(), info.type());
  if (!added && !has_rank(entry->second)) entry->second = info.type();
  type(info.name());  // numbers the sizes in order of appearance
}

ValueType OnnxTypes::to_value_type(const onnx::TypeProto& type, const std::string& name) {
  const auto data_type = data_type_of(type);
  ValueType result = data_type ? dims_of(type, name) : std::nullopt;
  if (data_type) result.data_type = *data_type;
  return result;
}

ValueType OnnxTypes::dims_of(const onnx::TypeProto& type, const std::string& name) {
  if (!has_rank(type)) return std::nullopt;
  algebra::Shape shape;
  const auto& dims = type.tensor_type().shape();
  for (int d = 0; d < dims.dim_size(); ++d) {
    const auto& dim = dims.dim(d);
    if (dim.has_dim_value()) {
      if (dim.dim_value() < bounds_.smallest) return std::nullopt;
      shape.emplace_back(dim.dim_value());
      continue;
    }
    const bool named = dim.has_dim_param() && !dim.dim_param().empty();
    if (auto known = dims_by_name_.find(dim.dim_param()); named && known != dims_by_name_.end()) {
      shape.push_back(known->second);
      continue;
    }
    const std::string number = "#" + std::to_string(d);
    shape.push_back(named ? dynamic_dim(dim.dim_param(), escaped(dim.dim_param()))
                          : dynamic_dim(name + number, escaped(name) + number));
  }
  return shape;
}

/// Sizes of the algebra are at least 1. A dimension with a lower bound is such a size plus an offset.
algebra::Poly OnnxTypes::dynamic_dim(const std::string& name, const std::string& escaped_name) {
  const auto lower = bounds_.lower.find(name);
  const std::int64_t offset = (lower == bounds_.lower.end() ? bounds_.smallest : lower->second) - 1;
  const std::string sign = offset < 0 ? "+" : "-";
  const algebra::Atom size =
      symbols_.size("$" + escaped_name + (offset == 0 ? "" : sign + std::to_string(std::abs(offset))));
  if (std::ranges::find(dynamic_dims_, size, &DynamicDim::atom) == dynamic_dims_.end()) {
    const auto upper = bounds_.upper.find(name);
    dynamic_dims_.push_back(
        {name, size, offset, upper == bounds_.upper.end() ? std::nullopt : std::optional(upper->second)});
  }
  return algebra::Poly(size) + offset;
}

std::string size_text(const algebra::Poly& size, const algebra::Symbols& symbols) {
  std::string text = symbols.to_string(size);
  const std::int64_t offset = size.constant_term();
  if (const auto atom = (size - offset).atom(); atom && offset != 0) {
    const std::string name = symbols.to_string(algebra::Poly(*atom)), end = fmt::format("{:+}", -offset);
    if (name.ends_with(end)) text = name.substr(0, name.size() - end.size());
  }
  std::erase(text, '$');
  return unescaped(text);
}

std::string shape_text(const algebra::Shape& shape, const algebra::Symbols& symbols) {
  return "[" + runtime::join_text(shape, [&](const algebra::Poly& size) { return size_text(size, symbols); }) + "]";
}

ValueType OnnxTypes::type(const std::string& name) {
  if (auto found = computed_.find(name); found != computed_.end()) return found->second;
  auto found = declared_.find(name);
  return found == declared_.end() ? std::nullopt : to_value_type(found->second, name);
}

ValueType OnnxTypes::shape(const std::string& name) {
  if (auto found = computed_.find(name); found != computed_.end()) return found->second;
  auto found = declared_.find(name);
  return found == declared_.end() ? std::nullopt : dims_of(found->second, name);
}

bool OnnxTypes::is_non_float(const std::string& name) const {
  using Tensor = onnx::TensorProto;
  auto found = declared_.find(name);
  if (found == declared_.end() || !found->second.has_tensor_type()) return false;
  const auto type = found->second.tensor_type().elem_type();
  return type == Tensor::INT64 || type == Tensor::INT32 || type == Tensor::BOOL || type == Tensor::INT8 ||
         type == Tensor::UINT8 || type == Tensor::INT16 || type == Tensor::UINT16;
}

void OnnxTypes::check_data_type(const std::string& name, DataType data_type) const {
  const auto declared = declared_.find(name);
  if (declared == declared_.end() || declared->second.value_case() == onnx::TypeProto::VALUE_NOT_SET ||
      data_type_of(declared->second) == data_type)
    return;
  throw runtime::InputError(proto_.origin, "value " + printable(name) + " is a tensor of " +
                                               onnx::TensorProto::DataType_Name(to_onnx_type(data_type)) +
                                               ", but declared otherwise");
}

void OnnxTypes::set_type(const std::string& name, const ValueType& type) {
  const algebra::Shape& shape = *type;
  check_data_type(name, type.data_type);
  if (auto output = outputs_.find(name); output != outputs_.end() && has_rank(output->second->type())) {
    const auto& dims = output->second->type().tensor_type().shape();
    // Runtimes accept another rank.
    const bool is_compared = static_cast<std::size_t>(dims.dim_size()) == shape.size();
    bool agrees = true;
    for (int d = 0; is_compared && agrees && d < dims.dim_size(); ++d) {
      const auto number = shape[static_cast<std::size_t>(d)].constant();
      agrees = !dims.dim(d).has_dim_value() || !number || dims.dim(d).dim_value() == *number;
    }
    if (!agrees) {
      throw runtime::InputError(proto_.origin, "output " + printable(name) + " has shape " +
                                                   shape_text(shape, symbols_) + ", but is declared with another one");
    }
  }
  computed_.insert_or_assign(name, type);
}

int OnnxTypes::onnx_type(const std::string& name) const {
  const auto declared = declared_.find(name);
  if (const auto known = computed_.find(name); known != computed_.end() && known->second) {
    const int computed_type = to_onnx_type(known->second.data_type);
    const bool agrees = declared != declared_.end() && data_type_of(declared->second) == known->second.data_type;
    return agrees ? declared->second.tensor_type().elem_type() : computed_type;
  }
  return declared == declared_.end() ? 0 : declared->second.tensor_type().elem_type();
}

void OnnxTypes::set_derived_shape(const std::string& name, int onnx_type, const Dimensions& shape) {
  if (const auto data_type = to_data_type(onnx_type)) check_data_type(name, *data_type);
  declared_.insert_or_assign(name, to_type_proto(shape, onnx_type));
}

/// Names symbolic dimensions, so that they are recognized in the result.
onnx::TypeProto OnnxTypes::to_type_proto(const Dimensions& shape, int onnx_type) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(onnx_type);
  auto* dims = type.mutable_tensor_type()->mutable_shape();
  for (const Dimension& dim : shape) {
    auto& added = *dims->add_dim();
    if (!dim) continue;
    if (const auto number = dim->constant()) {
      added.set_dim_value(*number);
    } else {
      const std::string name = symbols_.to_string(*dim);
      dims_by_name_.insert_or_assign(name, *dim);
      added.set_dim_param(name);
    }
  }
  return type;
}

std::string OnnxTypes::infer(const onnx::NodeProto& node, const std::vector<std::string>& captured,
                             const std::unordered_map<std::string, const onnx::TensorProto*>& known_tensors) {
  auto unknown = [&](const std::string& name) {
    auto found = declared_.find(name);
    return !name.empty() && !computed_.contains(name) && (found == declared_.end() || !has_rank(found->second));
  };
  if (inference_ == nullptr || std::ranges::none_of(node.output(), unknown)) return {};
  onnx::ModelProto query;
  query.set_ir_version(proto_.model.ir_version());
  *query.mutable_opset_import() = proto_.model.opset_import();
  auto& graph = *query.mutable_graph();
  std::map<std::string, std::string> names;
  auto add_input = [&](const std::string& name, const std::string& query_name) {
    if (!names.emplace(name, query_name).second) return;
    auto& input = *graph.add_input();
    input.set_name(query_name);
    auto known = type(name);
    auto declared = declared_.find(name);
    if (auto value = known_tensors.find(name); value != known_tensors.end()) {
      *input.mutable_type() = type_of(*value->second);  // the library requires the exact type, such as int32
      *graph.add_initializer() = *value->second;
      graph.mutable_initializer(graph.initializer_size() - 1)->set_name(query_name);
    } else if (known) {
      *input.mutable_type() = to_type_proto({known->begin(), known->end()}, onnx_type(name));  // keeps int32
    } else if (declared != declared_.end()) {
      *input.mutable_type() = declared->second;
    }
  };
  onnx::NodeProto& query_node = *graph.add_node();
  query_node = node;
  query_node.clear_name();
  query_node.clear_doc_string();
  for_each_dimension(query_node, clear_query_name);
  std::set<std::string> inner(captured.begin(), captured.end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_names(attribute.g(), inner);
    for (const auto& subgraph : attribute.graphs()) collect_names(subgraph, inner);
  }
  std::string prefix = "i";  // of no name in a subgraph
  while (std::ranges::any_of(inner, [&](const std::string& name) { return name.starts_with(prefix); })) prefix += 'i';
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    add_input(node.input(i), prefix + std::to_string(i));
    query_node.set_input(i, names.at(node.input(i)));
  }
  for (const std::string& name : captured) add_input(name, name);
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) query_node.set_output(i, prefix + "o" + std::to_string(i));
  }
  const NodeInference::InferredTypes& inferred = inference_->infer(query);
  if (invalid_node_.empty() && !inferred.types.doc_string().empty())
    invalid_node_ = printable(node.op_type()) + (node.name().empty() ? "" : " '" + printable(node.name()) + "'") +
                    ": " + inferred.types.doc_string();
  for (const auto& found : inferred.types.output()) {
    for (int i = 0; i < node.output_size(); ++i) {
      if (found.name() != prefix + "o" + std::to_string(i)) continue;
      onnx::ValueInfoProto info = found;
      info.set_name(node.output(i));
      declare(info);
    }
  }
  return inferred.failure;
}

}  // namespace rulemill::optimize
