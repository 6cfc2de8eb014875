#include "optimize/onnx/unified_interface.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "optimize/onnx/format/dimensions.h"
#include "optimize/onnx/subgraphs.h"

namespace rulemill::optimize {
namespace {

using ValueInfos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;
using DimNames = std::map<std::string, std::string>;  // in the first model, by those in the second one

/// Orders values as those of the first model if both have the same names. Returns whether they do.
bool have_equal_names(const ValueInfos& before, ValueInfos& after) {
  ValueInfos ordered;
  for (const onnx::ValueInfoProto& value : before) {
    const auto same = std::ranges::find(after, value.name(), &onnx::ValueInfoProto::name);
    if (same == after.end() || before.size() != after.size()) return false;
    *ordered.Add() = *same;
  }
  after.Swap(&ordered);
  return true;
}

/// Compares types up to the names of dimensions, which it adds; those of outputs may be less precise.
bool match_types(onnx::TypeProto before, onnx::TypeProto after, bool is_input, DimNames& names) {
  auto &first = *before.mutable_tensor_type()->mutable_shape(), &second = *after.mutable_tensor_type()->mutable_shape();
  for (int d = 0; d < std::min(first.dim_size(), second.dim_size()); ++d) {
    auto &a = *first.mutable_dim(d), &b = *second.mutable_dim(d);
    if (a.has_dim_value() && b.has_dim_value()) continue;
    if (is_input && a.dim_param().empty() != b.dim_param().empty()) return false;
    const bool is_named = is_input && !b.dim_param().empty();
    if (is_named && names.emplace(b.dim_param(), a.dim_param()).first->second != a.dim_param()) return false;
    a = b;
  }
  return before.SerializeAsString() == after.SerializeAsString();
}

/// Returns false, and renames nothing, if two dimensions would have one name.
bool rename_dims(onnx::GraphProto& graph, const DimNames& names) {
  std::set<std::string> given;
  if (!std::ranges::all_of(names, [&](const auto& pair) { return given.insert(pair.second).second; })) return false;
  std::vector<std::string*> params;
  bool is_taken = false;
  for_each_dimension(graph, [&](onnx::TensorShapeProto::Dimension& dim) {
    if (names.contains(dim.dim_param()))
      params.push_back(dim.mutable_dim_param());
    else
      is_taken = is_taken || given.contains(dim.dim_param());
  });
  if (is_taken) return false;
  for (std::string* name : params) *name = names.at(*name);
  return true;
}

/// What exporters write for a size that they do not know is no name.
void clear_unknown(onnx::TensorShapeProto::Dimension& dim) {
  if (dim.dim_param() == "?") dim.clear_dim_param();
}

}  // namespace

bool unify_interfaces(OnnxModel& before, OnnxModel& after) {
  onnx::GraphProto &a = *before.proto().model.mutable_graph(), &b = *after.proto().model.mutable_graph();
  for (onnx::GraphProto* graph : {&a, &b}) for_each_dimension(*graph, clear_unknown);
  const bool has_names = have_equal_names(a.input(), *b.mutable_input()),
             has_output_names = have_equal_names(a.output(), *b.mutable_output());
  DimNames dims, ignored;
  const auto matches = [&](bool is_input) {
    DimNames& names = is_input ? dims : ignored;
    return [&, is_input](const auto& x, const auto& y) { return match_types(x.type(), y.type(), is_input, names); };
  };
  const bool match = std::ranges::equal(a.input(), b.input(), matches(true)) &&
                     std::ranges::equal(a.output(), b.output(), matches(false));
  if (!match || !rename_dims(b, dims) || (has_names && has_output_names)) return false;
  for (const onnx::GraphProto* graph : {&a, &b}) {  // an initializer is an input's default
    for (const auto& input : graph->input())
      if (std::ranges::find(graph->initializer(), input.name(), &onnx::TensorProto::name) != graph->initializer().end())
        return false;
  }
  return rename_interface(before, {}, "") && rename_interface(after, {}, "");
}

}  // namespace rulemill::optimize
