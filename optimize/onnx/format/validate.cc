#include "optimize/onnx/format/validate.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using runtime::InputError;

/// No memory holds more elements.
constexpr std::uint64_t max_elements = std::uint64_t{1} << 40;
/// The newest opset of ONNX (1.23). A later one may give operators another meaning.
constexpr std::int64_t newest_opset = 28;

/// Returns the number of elements in the typed fields; nullopt for unknown types.
std::optional<std::uint64_t> typed_element_count(const onnx::TensorProto& tensor) {
  auto count = [](int size) { return static_cast<std::uint64_t>(size); };
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return count(tensor.float_data_size());
    case onnx::TensorProto::COMPLEX64:
      return count(tensor.float_data_size()) / 2;
    case onnx::TensorProto::DOUBLE:
      return count(tensor.double_data_size());
    case onnx::TensorProto::COMPLEX128:
      return count(tensor.double_data_size()) / 2;
    case onnx::TensorProto::INT64:
      return count(tensor.int64_data_size());
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
      return count(tensor.uint64_data_size());
    case onnx::TensorProto::STRING:
      return count(tensor.string_data_size());
    default:
      return raw_bytes(tensor.data_type(), 2) >= 2 ? std::optional(count(tensor.int32_data_size())) : std::nullopt;
  }
}

class ModelValidator {
 public:
  explicit ModelValidator(const OnnxModelProto& proto) : proto_(proto) {}

  void run() {
    const onnx::ModelProto& model = proto_.model;
    check_opsets();
    const onnx::GraphProto& graph = model.graph();
    if (graph.output_size() == 0) fail("it has no outputs");
    check_graph(graph, {}, "", true);
  }

 private:
  using Names = std::unordered_set<std::string>;

  [[noreturn]] void fail(const std::string& what) const { throw InputError(proto_.origin, what); }

  void check_opsets() const {
    std::map<std::string, std::int64_t> versions;
    for (const auto& set : proto_.model.opset_import()) {
      const std::string domain = set.domain() == "ai.onnx" ? "" : set.domain();
      if (versions.emplace(domain, set.version()).first->second != set.version())
        fail("domain '" + printable(domain) + "' has two opsets");
      if (set.version() < 1 || (domain.empty() && set.version() > newest_opset))
        fail("opset " + std::to_string(set.version()) +
             (domain.empty() ? "" : " of domain '" + printable(domain) + "'") + ": expected " +
             (domain.empty() ? "1 to " + std::to_string(newest_opset) : "at least 1"));
    }
  }

  /// `outer`: names defined in the enclosing graphs.
  void check_graph(const onnx::GraphProto& graph, const std::vector<const Names*>& outer, const std::string& where,
                   bool outermost) const {
    Names names;
    std::vector<const Names*> scopes(outer);
    scopes.push_back(&names);
    for (const auto& input : graph.input()) {
      if (!names.insert(input.name()).second) fail(where + "input " + printable(input.name()) + " is defined twice");
      check_type(input, where + "input ");
    }
    Names weights;
    auto add_weight = [&](const std::string& name) {
      if (!weights.insert(name).second) fail(where + "initializer " + printable(name) + " is defined twice");
      names.insert(name);  // may be the default of an input
    };
    for (const auto& tensor : graph.initializer()) {
      add_weight(tensor.name());
      validate_tensor(tensor, outermost ? proto_.raw(tensor) : inline_raw_data(tensor),
                      proto_.origin + ": " + where + "initializer " + printable(tensor.name()));
    }
    for (const auto& tensor : graph.sparse_initializer()) add_weight(tensor.values().name());
    for (int i = 0; i < graph.node_size(); ++i) check_node(graph.node(i), i, scopes, where, names);
    for (const auto& info : graph.value_info()) check_type(info, where + "value ");
    for (const auto& output : graph.output()) {
      if (!is_defined(output.name(), scopes)) fail(where + "output " + printable(output.name()) + " is not computed");
      check_type(output, where + "output ");
    }
  }

  static bool is_defined(const std::string& name, const std::vector<const Names*>& scopes) {
    return std::ranges::any_of(scopes, [&](const Names* scope) { return scope->contains(name); });
  }

  void check_node(const onnx::NodeProto& node, int position, const std::vector<const Names*>& scopes,
                  const std::string& where, Names& names) const {
    auto place = [&] {
      const std::string name = node.name().empty() ? "" : " '" + printable(node.name()) + "'";
      return where + "node " + std::to_string(position) + " (" + printable(node.op_type()) + name + ")";
    };
    for (const auto& name : node.input()) {
      if (!name.empty() && !is_defined(name, scopes)) {
        fail(place() + ": input " + printable(name) + " is not defined before it, or nodes form a cycle");
      }
    }
    std::set<std::string> attributes;
    for (const auto& attribute : node.attribute()) {
      if (!attributes.insert(attribute.name()).second) {
        fail(place() + ": attribute " + printable(attribute.name()) + " is given twice");
      }
      const std::string inner = place() + ": attribute " + printable(attribute.name());
      if (attribute.has_t())
        validate_tensor(attribute.t(), inline_raw_data(attribute.t()), proto_.origin + ": " + inner);
      for (const auto& tensor : attribute.tensors())
        validate_tensor(tensor, inline_raw_data(tensor), proto_.origin + ": " + inner);
      if (attribute.has_g()) check_graph(attribute.g(), scopes, inner + ": ", false);
      for (const auto& subgraph : attribute.graphs()) check_graph(subgraph, scopes, inner + ": ", false);
    }
    check_branches(node, place());
    for (const auto& name : node.output()) {
      if (!name.empty() && !names.insert(name).second)
        fail(place() + ": output " + printable(name) + " is defined twice");
    }
  }

  /// Rejects subgraphs of one node with different outputs, because one of them runs.
  void check_branches(const onnx::NodeProto& node, const std::string& place) const {
    const onnx::GraphProto* first = nullptr;
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      const onnx::GraphProto& branch = attribute.g();
      if (first == nullptr) {
        first = &branch;
        continue;
      }
      if (branch.output_size() != first->output_size()) {
        fail(place + ": its branches disagree: " + std::to_string(first->output_size()) + " and " +
             std::to_string(branch.output_size()) + " outputs");
      }
      for (int i = 0; i < branch.output_size(); ++i) {
        const int a = first->output(i).type().tensor_type().elem_type();
        const int b = branch.output(i).type().tensor_type().elem_type();
        if (a != 0 && b != 0 && a != b)
          fail(place + ": its branches disagree: output " + std::to_string(i) + " has two element types");
      }
    }
  }

  void check_type(const onnx::ValueInfoProto& info, const std::string& kind) const {
    if (!info.type().has_tensor_type()) return;
    std::uint64_t elements = 1;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      if (!dim.has_dim_value()) continue;
      if (dim.dim_value() < 0) {
        fail(kind + printable(info.name()) + ": dimension " + std::to_string(dim.dim_value()) +
             ", expected at least 0");
      }
      const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(1, dim.dim_value()));
      if (size > max_elements / elements) fail(kind + printable(info.name()) + ": its dimensions are too large");
      elements *= size;
    }
  }

  const OnnxModelProto& proto_;
};

}  // namespace

void validate_tensor(const onnx::TensorProto& tensor, std::optional<std::string_view> raw, const std::string& place) {
  for (std::int64_t dim : tensor.dims()) {
    if (dim < 0) throw InputError(place, "dimension " + std::to_string(dim) + ", expected at least 0");
  }
  const auto count = element_count(tensor);
  if (!count || *count > max_elements) throw InputError(place, "its dimensions are too large");
  if (tensor.has_segment()) return;
  const auto expected = raw ? raw_bytes(tensor.data_type(), *count) : count;
  const auto found = raw ? std::optional<std::uint64_t>(raw->size()) : typed_element_count(tensor);
  if (expected && found && *expected != *found) {
    throw InputError(place, "expected " + std::to_string(*expected) + (raw ? " bytes" : " elements") +
                                " by its dimensions, found " + std::to_string(*found));
  }
}

void validate_model(const OnnxModelProto& proto) { ModelValidator(proto).run(); }

}  // namespace rulemill::optimize
