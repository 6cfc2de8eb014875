#include "optimize/onnx/format/inline_functions.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>

#include "optimize/onnx/format/dimensions.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using google::protobuf::UnknownFieldSet;
using NameMap = std::map<std::string, std::string>;
using Versions = std::map<std::string, std::int64_t>;

/// Calls and nodes of all bodies, and calls within calls.
constexpr std::size_t max_nodes = 1 << 20, max_depth = 256;

/// Fields that the ONNX library may be too old to know.
constexpr int node_overload_field = 8, function_overload_field = 13, attribute_default_field = 11;

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

template <class Message>
std::vector<std::string> unknown_fields(const Message& message, int number) {
  UnknownFieldSet fields;
  fields.ParseFromString(message.SerializeAsString());
  std::vector<std::string> found;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) found.push_back(fields.field(i).length_delimited());
  }
  return found;
}

/// "domain:name:overload".
template <class Message>
std::string key_of(const Message& message, const std::string& name, int overload_field) {
  const auto overload = unknown_fields(message, overload_field);
  return domain_of(message.domain()) + ":" + name + ":" + (overload.empty() ? "" : overload[0]);
}

template <class Imports>
Versions versions_of(const Imports& imports) {
  Versions versions;
  for (const auto& each : imports) versions[domain_of(each.domain())] = each.version();
  return versions;
}

struct Function {
  const onnx::FunctionProto* proto = nullptr;
  std::map<std::string, onnx::AttributeProto> defaults;
  Versions versions;
};

class Inliner {
 public:
  explicit Inliner(OnnxModelProto& proto) : proto_(proto), versions_(versions_of(proto.model.opset_import())) {}

  void run() {
    const auto functions = proto_.model.functions();  // a copy: calls that stay need it
    for (const onnx::FunctionProto& function : functions) {
      Function read{&function, {}, versions_of(function.opset_import())};
      for (const std::string& bytes : unknown_fields(function, attribute_default_field)) {
        onnx::AttributeProto attribute;
        if (attribute.ParseFromString(bytes)) read.defaults[attribute.name()] = attribute;
      }
      op_types_.insert(function.name());
      if (!functions_.emplace(key_of(function, function.name(), function_overload_field), std::move(read)).second)
        fail("function " + printable(function.name()) + " is defined twice");
    }
    onnx::GraphProto& graph = *proto_.model.mutable_graph();
    collect_names(graph, names_);
    expand(graph, 0);
    if (!has_calls_) proto_.model.clear_functions();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw runtime::InputError(proto_.origin, what); }

  const Function* called(const onnx::NodeProto& node) const {
    if (!op_types_.contains(node.op_type())) return nullptr;
    const auto found = functions_.find(key_of(node, node.op_type(), node_overload_field));
    const std::string domain = domain_of(node.domain());
    const bool is_of_runtime = domain.empty() || domain.starts_with("ai.onnx.") || domain.starts_with("com.microsoft");
    return found == functions_.end() || is_of_runtime ? nullptr : &found->second;
  }

  void expand(onnx::GraphProto& graph, std::size_t depth) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (onnx::NodeProto& node : nodes) add(node, graph, depth);
  }

  /// Adds the node, or what it calls, to the graph.
  void add(onnx::NodeProto& node, onnx::GraphProto& graph, std::size_t depth) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) expand(*attribute.mutable_g(), depth);
      for (onnx::GraphProto& inner : *attribute.mutable_graphs()) expand(inner, depth);
    }
    if (++nodes_ > max_nodes) fail("its functions expand to more than " + std::to_string(max_nodes) + " nodes");
    const Function* function = called(node);
    if (function != nullptr && depth == std::min(functions_.size(), max_depth))
      fail("function " + printable(node.op_type()) + " calls itself");
    if (function != nullptr && has_same_operators(*function, function->proto->node()))
      return inline_call(node, *function, graph, depth + 1);
    has_calls_ = has_calls_ || function != nullptr;
    graph.add_node()->Swap(&node);
  }

  /// Returns whether each operator of a body means the same in the versions that the function and the model declare.
  /// Domains that only the function declares are added to the model.
  bool has_same_operators(const Function& function, const google::protobuf::RepeatedPtrField<onnx::NodeProto>& body) {
    return std::ranges::all_of(body, [&](const onnx::NodeProto& node) {
      const bool has_same_inside = std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
        return has_same_operators(function, attribute.g().node()) &&
               std::ranges::all_of(attribute.graphs(),
                                   [&](const auto& graph) { return has_same_operators(function, graph.node()); });
      });
      return has_same_inside && (called(node) != nullptr || has_same_meaning(function, node));
    });
  }

  bool has_same_meaning(const Function& function, const onnx::NodeProto& node) {
    const std::string domain = domain_of(node.domain());
    const auto own = function.versions.find(domain);
    if (own == function.versions.end()) return false;
    const auto [models, is_new] = versions_.emplace(domain, own->second);
    if (is_new) {
      onnx::OperatorSetIdProto& added = *proto_.model.add_opset_import();
      added.set_domain(domain);
      added.set_version(own->second);
    }
    if (models->second == own->second) return true;
    const auto known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    const auto range = known.find(domain);
    if (range == known.end() || std::max(models->second, own->second) > range->second.second) return false;
    const auto schema = [&](std::int64_t version) {
      return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), domain);
    };
    return schema(own->second) != nullptr && schema(own->second) == schema(models->second);
  }

  void inline_call(const onnx::NodeProto& call, const Function& function, onnx::GraphProto& graph, std::size_t depth) {
    const onnx::FunctionProto& proto = *function.proto;
    if (call.input_size() > proto.input_size() || call.output_size() > proto.output_size())
      fail("a call of function " + printable(proto.name()) + " has too many inputs or outputs");
    NameMap names = {{"", ""}};
    for (int i = 0; i < proto.input_size(); ++i) names[proto.input(i)] = i < call.input_size() ? call.input(i) : "";
    std::vector<std::pair<std::string, std::string>> copies;  // outputs that are inputs or other outputs
    for (int i = 0; i < std::min(proto.output_size(), call.output_size()); ++i) {
      if (!call.output(i).empty() && !names.emplace(proto.output(i), call.output(i)).second)
        copies.emplace_back(names[proto.output(i)], call.output(i));
    }
    const std::string prefix = (call.name().empty() ? proto.name() : call.name()) + "/";
    for (const onnx::NodeProto& node : proto.node()) {
      onnx::NodeProto copy = node;
      rename(copy, call, function, prefix, names);
      add(copy, graph, depth);
    }
    for (const auto& [from, to] : copies) {
      if (from.empty()) fail("function " + printable(proto.name()) + " returns an input that a call does not give");
      onnx::NodeProto& copy = *graph.add_node();
      copy.set_op_type("Identity");
      copy.add_input(from);
      copy.add_output(to);
    }
  }

  void rename(onnx::NodeProto& node, const onnx::NodeProto& call, const Function& function, const std::string& prefix,
              NameMap& names) {
    const auto rename_value = [&](std::string& name) {
      const auto [known, is_new] = names.try_emplace(name);
      if (is_new) {
        known->second = prefix + name;
        while (!names_.insert(known->second).second) known->second += "_";
      }
      name = known->second;
    };
    std::ranges::for_each(*node.mutable_input(), rename_value);
    std::ranges::for_each(*node.mutable_output(), rename_value);
    if (!node.name().empty()) node.set_name(prefix + node.name());
    for_each_dimension(node, [](auto& dim) { dim.clear_dim_param(); });  // names of the function's own sizes
    const auto rename_graph = [&](onnx::GraphProto& graph) {
      for (auto& input : *graph.mutable_input()) rename_value(*input.mutable_name());
      for (auto& tensor : *graph.mutable_initializer()) rename_value(*tensor.mutable_name());
      for (auto& tensor : *graph.mutable_sparse_initializer()) rename_value(*tensor.mutable_values()->mutable_name());
      for (auto& inner : *graph.mutable_node()) rename(inner, call, function, prefix, names);
      for (auto& info : *graph.mutable_value_info()) rename_value(*info.mutable_name());
      for (auto& output : *graph.mutable_output()) rename_value(*output.mutable_name());
      graph.clear_quantization_annotation();
    };
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    attributes.Swap(node.mutable_attribute());
    for (onnx::AttributeProto& attribute : attributes) {
      if (attribute.has_g()) rename_graph(*attribute.mutable_g());
      std::ranges::for_each(*attribute.mutable_graphs(), rename_graph);
      if (attribute.ref_attr_name().empty()) {
        node.add_attribute()->Swap(&attribute);
      } else if (const onnx::AttributeProto* given = referenced(attribute.ref_attr_name(), call, function)) {
        onnx::AttributeProto& added = *node.add_attribute();
        added = *given;
        added.set_name(attribute.name());
      }
    }
  }

  /// Returns the attribute of the call, or the function's default; nullptr if there is neither.
  static const onnx::AttributeProto* referenced(const std::string& name, const onnx::NodeProto& call,
                                                const Function& function) {
    const auto given = std::ranges::find(call.attribute(), name, &onnx::AttributeProto::name);
    if (given != call.attribute().end()) return &*given;
    const auto standard = function.defaults.find(name);
    return standard == function.defaults.end() ? nullptr : &standard->second;
  }

  OnnxModelProto& proto_;
  Versions versions_;
  std::map<std::string, Function> functions_;
  std::set<std::string> op_types_, names_;
  std::size_t nodes_ = 0;
  bool has_calls_ = false;
};

}  // namespace

void inline_functions(OnnxModelProto& proto) {
  if (proto.model.functions_size() > 0) Inliner(proto).run();
}

}  // namespace rulemill::optimize
