#include "optimize/onnx/structure.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

using runtime::InputError;

/// Values beyond this have no place in any memory.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 40;

/// Elements that the typed fields hold, by element type; nothing for a type that is not known here.
std::optional<std::uint64_t> typed_elements(const onnx::TensorProto& tensor) {
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

class StructureCheck {
 public:
  explicit StructureCheck(const OnnxModel::Proto& proto) : proto_(proto) {}

  void run() {
    const onnx::ModelProto& model = proto_.model;
    check_opsets();
    check_functions();
    const onnx::GraphProto& graph = model.graph();
    if (graph.output_size() == 0) refuse("it has no outputs");
    check_graph(graph, {}, "", true);
  }

 private:
  using Names = std::unordered_set<std::string>;

  [[noreturn]] void refuse(const std::string& what) const { throw InputError(proto_.origin, what); }

  void check_opsets() const {
    std::set<std::string> domains;
    for (const auto& set : proto_.model.opset_import()) {
      const std::string domain = set.domain() == "ai.onnx" ? "" : set.domain();
      if (!domains.insert(domain).second) refuse("the opset of domain '" + shown(domain) + "' is given twice");
      if (set.version() < 1) refuse("opset " + std::to_string(set.version()) + ": expected at least 1");
    }
  }

  /// A function that reaches itself has no end.
  void check_functions() const {
    using Key = std::pair<std::string, std::string>;
    std::map<Key, std::set<Key>> calls;
    for (const auto& function : proto_.model.functions()) {
      auto [entry, fresh] = calls.try_emplace({function.domain(), function.name()});
      if (!fresh) refuse("function " + shown(function.name()) + " is defined twice");
      for (const auto& node : function.node()) collect_calls(node, entry->second);
    }
    std::map<Key, int> state;  // 1: being visited, 2: done
    std::vector<std::pair<Key, bool>> open;
    for (const auto& [key, called] : calls) open.push_back({key, false});
    while (!open.empty()) {
      auto [key, left] = open.back();
      open.pop_back();
      if (left) {
        state[key] = 2;
        continue;
      }
      if (state[key] == 2) continue;
      state[key] = 1;
      open.push_back({key, true});
      for (const Key& next : calls.at(key)) {
        if (!calls.contains(next)) continue;
        if (state[next] == 1) refuse("function " + shown(next.second) + " calls itself");
        open.push_back({next, false});
      }
    }
  }

  static void collect_calls(const onnx::NodeProto& node, std::set<std::pair<std::string, std::string>>& calls) {
    calls.emplace(node.domain(), node.op_type());
    for (const auto& attribute : node.attribute()) {
      for (const auto& inner : attribute.g().node()) collect_calls(inner, calls);
      for (const auto& body : attribute.graphs()) {
        for (const auto& inner : body.node()) collect_calls(inner, calls);
      }
    }
  }

  /// `outer` are the names that the graph may use from outside.
  void check_graph(const onnx::GraphProto& graph, const std::vector<const Names*>& outer, const std::string& where,
                   bool outermost) const {
    Names names;
    std::vector<const Names*> scopes(outer);
    scopes.push_back(&names);
    for (const auto& input : graph.input()) {
      if (!names.insert(input.name()).second) refuse(where + "input " + shown(input.name()) + " is defined twice");
      check_type(input, where + "input ");
    }
    Names weights;
    auto add_weight = [&](const std::string& name) {
      if (!weights.insert(name).second) refuse(where + "initializer " + shown(name) + " is defined twice");
      names.insert(name);  // it may be an input's default
    };
    for (const auto& tensor : graph.initializer()) {
      add_weight(tensor.name());
      check_tensor(tensor, outermost ? proto_.raw(tensor) : raw_inside(tensor),
                   proto_.origin + ": " + where + "initializer " + shown(tensor.name()));
    }
    for (const auto& tensor : graph.sparse_initializer()) add_weight(tensor.values().name());
    for (int i = 0; i < graph.node_size(); ++i) check_node(graph.node(i), i, scopes, where, names);
    for (const auto& info : graph.value_info()) check_type(info, where + "value ");
    for (const auto& output : graph.output()) {
      if (!known(output.name(), scopes)) refuse(where + "output " + shown(output.name()) + " is not computed");
      check_type(output, where + "output ");
    }
  }

  static bool known(const std::string& name, const std::vector<const Names*>& scopes) {
    return std::ranges::any_of(scopes, [&](const Names* scope) { return scope->contains(name); });
  }

  void check_node(const onnx::NodeProto& node, int position, const std::vector<const Names*>& scopes,
                  const std::string& where, Names& names) const {
    auto place = [&] {
      const std::string name = node.name().empty() ? "" : " '" + shown(node.name()) + "'";
      return where + "node " + std::to_string(position) + " (" + shown(node.op_type()) + name + ")";
    };
    for (const auto& name : node.input()) {
      if (!name.empty() && !known(name, scopes)) {
        refuse(place() + ": input " + shown(name) + " is not defined before it, or nodes form a cycle");
      }
    }
    std::set<std::string> attributes;
    for (const auto& attribute : node.attribute()) {
      if (!attributes.insert(attribute.name()).second) {
        refuse(place() + ": attribute " + shown(attribute.name()) + " is given twice");
      }
      const std::string inner = place() + ": attribute " + shown(attribute.name());
      if (attribute.has_t()) check_tensor(attribute.t(), raw_inside(attribute.t()), proto_.origin + ": " + inner);
      for (const auto& tensor : attribute.tensors())
        check_tensor(tensor, raw_inside(tensor), proto_.origin + ": " + inner);
      if (attribute.has_g()) check_graph(attribute.g(), scopes, inner + ": ", false);
      for (const auto& body : attribute.graphs()) check_graph(body, scopes, inner + ": ", false);
    }
    check_branches(node, place());
    for (const auto& name : node.output()) {
      if (!name.empty() && !names.insert(name).second)
        refuse(place() + ": output " + shown(name) + " is defined twice");
    }
  }

  /// Of two graphs of a node one runs: they must give the same outputs.
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
        refuse(place + ": its branches disagree: " + std::to_string(first->output_size()) + " and " +
               std::to_string(branch.output_size()) + " outputs");
      }
      for (int i = 0; i < branch.output_size(); ++i) {
        const int a = first->output(i).type().tensor_type().elem_type();
        const int b = branch.output(i).type().tensor_type().elem_type();
        if (a != 0 && b != 0 && a != b)
          refuse(place + ": its branches disagree: output " + std::to_string(i) + " has two element types");
      }
    }
  }

  void check_type(const onnx::ValueInfoProto& info, const std::string& kind) const {
    if (!info.type().has_tensor_type()) return;
    std::uint64_t elements = 1;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      if (!dim.has_dim_value()) continue;
      if (dim.dim_value() < 0) {
        refuse(kind + shown(info.name()) + ": dimension " + std::to_string(dim.dim_value()) + ", expected at least 0");
      }
      const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(1, dim.dim_value()));
      if (size > most_elements / elements) refuse(kind + shown(info.name()) + ": its dimensions are too large");
      elements *= size;
    }
  }

  const OnnxModel::Proto& proto_;
};

}  // namespace

void check_tensor(const onnx::TensorProto& tensor, std::optional<std::string_view> raw, const std::string& place) {
  for (std::int64_t dim : tensor.dims()) {
    if (dim < 0) throw InputError(place, "dimension " + std::to_string(dim) + ", expected at least 0");
  }
  const auto count = element_count(tensor);
  if (!count || *count > most_elements) throw InputError(place, "its dimensions are too large");
  if (tensor.has_segment()) return;
  const auto expected = raw ? raw_bytes(tensor.data_type(), *count) : count;
  const auto found = raw ? std::optional<std::uint64_t>(raw->size()) : typed_elements(tensor);
  if (expected && found && *expected != *found) {
    throw InputError(place, "expected " + std::to_string(*expected) + (raw ? " bytes" : " elements") +
                                " by its dimensions, found " + std::to_string(*found));
  }
}

void check_structure(const OnnxModel::Proto& proto) { StructureCheck(proto).run(); }

}  // namespace rulemill::optimize
