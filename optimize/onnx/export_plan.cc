#include <algorithm>
#include <set>
#include <unordered_set>

#include "optimize/model/evaluate.h"
#include "optimize/model/numbers.h"
#include "optimize/onnx/export.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/raised_opset.h"
#include "optimize/onnx/shapes/runtime_sizes.h"

namespace rulemill::optimize {
namespace {

/// The first opset in which ONNX's Min and Max accept integers.
constexpr int min_runtime_size_opset = 13;

class Planner {
 public:
  Planner(const ImportedModel& import, GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs, int opset,
          bool keep_constants)
      : import_(import), bank_(bank), fusion_(fusion), opset_(opset), runtime_sizes_(bank, import.inputs) {
    plan_.keep_constants = keep_constants;
    plan_.opset = opset;
    auto nodes = bank.live_nodes(outputs);
    live_.insert(nodes.begin(), nodes.end());
    uses_ = count_uses(bank, nodes, outputs);
    for (ValueId output : outputs) pending_.insert(bank.value(output).node);
  }

  /// Visits users before arguments, so that a node absorbs its inner nodes before they are planned.
  ExportPlan run() {
    while (!pending_.empty() && plan_.error.empty()) {
      NodeId id = *pending_.begin();
      pending_.erase(pending_.begin());
      if (absorbed_.contains(id)) continue;
      const Node& node = bank_.node(id);
      if (node.kind == Node::Kind::Opaque) {
        add_opaque(id);
      } else if (node.kind == Node::Kind::Algebra && (!node.constant || plan_.keep_constants) &&
                 !is_named_constant(node)) {
        if (!add_original(id) && !add_whole(id) && !add_composite(id) && !add_instance(id)) {
          plan_.error = bank_.instance(node).name + " has no ONNX encoding in opset " + std::to_string(opset_);
        }
      }
    }
    std::ranges::reverse(plan_.nodes);
    return std::move(plan_);
  }

 private:
  void add(ExportNode planned) {
    for (const auto& input : planned.inputs) {
      if (input) pending_.insert(bank_.value(*input).node);
    }
    plan_.nodes.push_back(std::move(planned));
  }

  void add_opaque(NodeId id) {
    const Node& node = bank_.node(id);
    ExportNode planned;
    planned.root = id;
    planned.outputs = node.outputs;
    planned.original = import_.opaque_nodes.at(node.source);
    // Sizes are computed from a value that the graph has no more, while it has an equal one.
    if (!copied_.insert(*planned.original).second) plan_.error = "an opaque node is computed twice";
    const ImportedModel::NodeRecord& record = import_.nodes[*planned.original];
    std::size_t next = 0;
    for (const auto& input : record.inputs) {
      planned.inputs.push_back(input ? std::optional(node.arguments[next++]) : std::nullopt);
    }
    for (; next < node.arguments.size(); ++next) pending_.insert(bank_.value(node.arguments[next]).node);
    add(std::move(planned));
  }

  bool used_once(const Node& node) const {
    return node.outputs.size() == 1 && uses_.contains(node.outputs[0]) && uses_.at(node.outputs[0]) == 1;
  }

  /// Whether the node may be written as part of its user. Constant nodes may be duplicated.
  bool can_absorb(const Node& node) const { return (node.constant && node.outputs.size() == 1) || used_once(node); }

  /// Copies the original node if it still computes this value.
  bool add_original(NodeId id) {
    std::uint32_t origin = bank_.node(id).origin;
    if (origin == Node::no_origin || origin >= import_.nodes.size()) return false;
    const ImportedModel::NodeRecord& record = import_.nodes[origin];
    if (record.lowered.is_opaque() || record.lowered.replaces_node) return false;
    std::vector<std::optional<ValueId>> bound(record.inputs.size());
    ExportNode planned;
    if (!match_outputs(record, id, bound, planned)) return false;
    if (has_stale_sizes(record, id, bound)) return false;
    if (!copied_.insert(origin).second) return false;  // its name is used already
    planned.original = origin;
    // Constant inputs, which no step reads, are unchanged.
    for (std::size_t i = 0; i < bound.size(); ++i) planned.inputs.push_back(bound[i] ? bound[i] : record.inputs[i]);
    add(std::move(planned));
    return true;
  }

  /// Whether the original node reads its sizes from computed values that are no longer needed: the sizes are
  /// replacement numbers and its inputs changed, or the computation reads the shape of a removed value.
  bool has_stale_sizes(const ImportedModel::NodeRecord& record, NodeId id,
                       const std::vector<std::optional<ValueId>>& bound) {
    bool changed = false, opaque_input = false, removed = false;
    for (std::size_t i = 0; i < bound.size(); ++i) {
      if (bound[i]) changed = changed || bound[i] != record.inputs[i];
      if (!bound[i] && record.inputs[i]) {
        const Node& from = bank_.node_of(*record.inputs[i]);
        opaque_input = opaque_input || (from.kind == Node::Kind::Opaque && !from.constant);
        removed = removed || depends_on_removed_node(*record.inputs[i]);
      }
    }
    const std::vector<algebra::Poly>& sizes = bank_.node(id).sizes;
    const auto is_number = [](const algebra::Poly& size) { return size.constant().has_value(); };
    if (changed && opaque_input && std::ranges::all_of(sizes, is_number)) return true;
    return removed && std::ranges::all_of(sizes, [&](const algebra::Poly& size) { return is_available(size); });
  }

  bool is_available(const algebra::Poly& size) const {
    return size.constant() || (opset_ >= min_runtime_size_opset && runtime_sizes_.is_computable(size));
  }

  /// Whether an opaque value depends on a node that the graph no longer contains.
  bool depends_on_removed_node(ValueId value) {
    const NodeId id = bank_.value(value).node;
    const Node& node = bank_.node(id);
    if (node.constant) return false;
    if (node.kind == Node::Kind::Algebra) return !live_.contains(id);
    if (node.kind != Node::Kind::Opaque) return false;
    if (const auto found = depends_on_removed_.find(id); found != depends_on_removed_.end()) return found->second;
    const bool removed =
        std::ranges::any_of(node.arguments, [&](ValueId from) { return depends_on_removed_node(from); });
    return depends_on_removed_[id] = removed;
  }

  /// Matches all steps of the original node up to `id`. Those that do not produce its outputs have no other users.
  bool match_outputs(const ImportedModel::NodeRecord& record, NodeId id, std::vector<std::optional<ValueId>>& bound,
                     ExportNode& planned) {
    matched_.assign(record.lowered.steps.size(), std::nullopt);
    if (!match_step(record, record.lowered.steps.size() - 1, id, bound)) return false;
    planned.root = id;
    std::set<NodeId> inner;
    for (const LoweredNode::Reference& from : record.lowered.outputs) {
      const auto& step = matched_[from.number];
      if (!step) return false;
      planned.outputs.push_back(bank_.node(*step).outputs[from.output]);
      // Users of this output must follow the last step.
      if (*step != id && index(id) - index(*step) >= matched_.size()) return false;
      if (*step != id) inner.insert(*step);
    }
    absorbed_.insert(inner.begin(), inner.end());
    return true;
  }

  bool match_step(const ImportedModel::NodeRecord& record, std::size_t number, NodeId id,
                  std::vector<std::optional<ValueId>>& bound) {
    const LoweredNode::Step& step = record.lowered.steps[number];
    const Node& node = bank_.node(id);
    if (node.kind != Node::Kind::Algebra || node.instance != step.instance || node.sizes != step.sizes) return false;
    matched_[number] = id;
    auto before = bound;
    std::vector<ValueId> arguments = node.arguments;
    bool commutative = bank_.instance(node).commutative;
    if (commutative && keeps_argument_order(record, step, arguments[1], arguments[0]))
      std::swap(arguments[0], arguments[1]);
    if (match_arguments(record, step, arguments, bound)) return true;
    bound = before;
    if (!commutative) return false;
    std::swap(arguments[0], arguments[1]);
    if (match_arguments(record, step, arguments, bound)) return true;
    bound = before;
    return false;
  }

  /// Whether one of the two arguments is at the input position where the original node had it. This keeps the input
  /// order of commutative operators.
  bool keeps_argument_order(const ImportedModel::NodeRecord& record, const LoweredNode::Step& step, ValueId first,
                            ValueId second) const {
    auto in_place = [&](std::size_t argument, ValueId replacement) {
      const LoweredNode::Reference& from = step.arguments[argument];
      if (from.source != LoweredNode::Reference::Source::Input || !record.inputs[from.number]) return false;
      ValueId original = *record.inputs[from.number];
      return original == replacement || bank_.value(original).name == bank_.value(replacement).name;
    };
    return in_place(0, first) || in_place(1, second);
  }

  /// Whether the value passed between two steps has no other user. Other outputs of its step are the node's outputs.
  bool is_internal(const ImportedModel::NodeRecord& record, const LoweredNode::Reference& from, ValueId value) const {
    const Node& node = bank_.node_of(value);
    if (node.outputs.size() == 1) return can_absorb(node);
    const auto uses = uses_.find(value);
    if (uses == uses_.end() || uses->second != 1) return false;
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const bool is_output = std::ranges::any_of(record.lowered.outputs, [&](const LoweredNode::Reference& produced) {
        return produced.number == from.number && produced.output == output;
      });
      if (output != from.output && !is_output) return false;
    }
    return true;
  }

  bool match_arguments(const ImportedModel::NodeRecord& record, const LoweredNode::Step& step,
                       std::vector<ValueId> arguments, std::vector<std::optional<ValueId>>& bound) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const LoweredNode::Reference& from = step.arguments[i];
      if (from.source == LoweredNode::Reference::Source::Literal) {
        if (!is_literal(arguments[i], record.literals[from.number])) return false;
      } else if (from.source == LoweredNode::Reference::Source::Input) {
        auto& slot = bound[from.number];
        if (slot && *slot != arguments[i]) return false;
        // Attributes may depend on the input types: kernel shape, padding, groups.
        const std::optional<ValueId>& original = record.inputs[from.number];
        if (!original || bank_.value(*original).type != bank_.value(arguments[i]).type) return false;
        slot = arguments[i];
      } else {
        const Value& value = bank_.value(arguments[i]);
        if (value.output != from.output || !is_internal(record, from, arguments[i])) return false;
        if (!match_step(record, from.number, value.node, bound)) return false;
      }
    }
    return true;
  }

  /// Whether the value is the literal, which the search may know by the name of a number.
  bool is_literal(ValueId value, ValueId literal) {
    if (is_number(bank_.node_of(value))) value = ConstantFolder(bank_).fold(value);
    const double number = bank_.tensor(bank_.node_of(literal).source)->values.at(0);
    return bank_.value(value).type == bank_.value(literal).type && is_constant_of(bank_, value, number);
  }

  std::optional<OnnxNodeSpec> make_spec(algebra::InstanceId instance_id, const std::vector<ValueId>& arguments,
                                        const std::vector<algebra::Poly>& sizes) {
    const algebra::OperatorInstance& instance = bank_.library().instance(instance_id);
    std::vector<algebra::Shape> shapes;
    for (ValueId argument : arguments) shapes.push_back(*bank_.value(argument).type);
    std::vector<algebra::Poly> slots;
    if (!algebra::infer(instance, shapes, sizes, bank_.symbols(), {}, &slots)) return std::nullopt;
    const int onnx_type = arguments.empty() ? 1 : to_onnx_type(bank_.value(arguments[0]).type.data_type);
    const auto is_runtime_size = [&](const algebra::Poly& size) { return is_available(size); };
    auto spec = emit(instance, slots, opset_, bank_.symbols(),
                     {onnx_type, shapes.empty() ? nullptr : &shapes[0], is_runtime_size});
    // Attributes must be constant at export.
    for (const auto& [name, argument] : spec ? spec->attribute_arguments : std::map<std::string, std::uint32_t>()) {
      if (!bank_.node_of(arguments[argument]).constant) return std::nullopt;
    }
    return spec;
  }

  void add_new_node(NodeId id, OnnxNodeSpec spec, const std::vector<ValueId>& arguments) {
    ExportNode planned;
    planned.root = id;
    planned.outputs = bank_.node(id).outputs;
    for (const auto& [name, argument] : spec.attribute_arguments) planned.attributes.emplace(name, arguments[argument]);
    for (const auto& argument : spec.arguments) {
      planned.inputs.push_back(argument ? std::optional(arguments[*argument]) : std::nullopt);
    }
    planned.spec = std::move(spec);
    add(std::move(planned));
  }

  /// Writes the composite that a node was read as, if it has an encoding.
  bool add_whole(NodeId id) {
    const std::uint32_t origin = bank_.node(id).origin;
    if (origin == Node::no_origin || origin >= import_.nodes.size()) return false;
    const ImportedModel::NodeRecord& record = import_.nodes[origin];
    if (!record.lowered.replaces_node || !record.lowered.whole || record.node != id) return false;
    std::vector<ValueId> arguments;
    for (const LoweredNode::Reference& from : record.lowered.whole->arguments)
      arguments.push_back(from.source == LoweredNode::Reference::Source::Literal ? record.literals[from.number]
                                                                                 : *record.inputs[from.number]);
    auto spec = make_spec(record.lowered.whole->instance, arguments, record.lowered.whole->sizes);
    if (spec) add_new_node(id, std::move(*spec), arguments);
    return spec.has_value();
  }

  bool add_composite(NodeId id) {
    const auto& match = fusion_.composite(id);
    if (!match) return false;
    for (NodeId inner : match->inner) {
      if (!can_absorb(bank_.node(inner))) return false;
    }
    auto spec = make_spec(match->composite, match->inputs, match->sizes);
    if (!spec) return false;
    add_new_node(id, std::move(*spec), match->inputs);
    return true;
  }

  /// Writes the node alone, or a variadic ONNX node that absorbs its chain of left arguments of the same operator.
  bool add_instance(NodeId id) {
    const Node& node = bank_.node(id);
    auto spec = make_spec(node.instance, node.arguments, node.sizes);
    if (!spec) return false;
    if (!spec->variadic) {
      add_new_node(id, std::move(*spec), node.arguments);
      return true;
    }
    std::vector<ValueId> arguments{node.arguments[1]};
    ValueId left = node.arguments[0];
    while (true) {
      const Node& inner = bank_.node_of(left);
      bool same = inner.kind == Node::Kind::Algebra && used_once(inner) &&
                  bank_.instance(inner).operator_name == bank_.instance(node).operator_name;
      auto inner_spec = same ? make_spec(inner.instance, inner.arguments, inner.sizes) : std::nullopt;
      if (!inner_spec || inner_spec->attributes != spec->attributes) break;
      arguments.push_back(inner.arguments[1]);
      left = inner.arguments[0];
    }
    arguments.push_back(left);
    std::ranges::reverse(arguments);
    spec->arguments.clear();
    for (std::uint32_t i = 0; i < arguments.size(); ++i) spec->arguments.push_back(i);
    spec->constants.assign(arguments.size(), {});
    add_new_node(id, std::move(*spec), arguments);
    return true;
  }

  const ImportedModel& import_;
  GraphBank& bank_;
  Fusion& fusion_;
  int opset_;
  RuntimeSizes runtime_sizes_;
  std::unordered_map<ValueId, std::uint32_t> uses_;
  std::unordered_set<NodeId> live_;
  std::unordered_map<NodeId, bool> depends_on_removed_;  // memo of depends_on_removed_node()
  std::set<NodeId, std::greater<>> pending_;
  std::set<std::uint32_t> copied_;
  std::set<NodeId> absorbed_;                   // written as part of another node
  std::vector<std::optional<NodeId>> matched_;  // by step of the original node being matched
  ExportPlan plan_;
};

}  // namespace

ExportPlan plan_export(const ImportedModel& import, GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs,
                       int opset, bool keep_constants) {
  return Planner(import, bank, fusion, outputs, opset, keep_constants).run();
}

ExportPlan plan_export(const OnnxModel& model, const ImportedModel& import, GraphBank& bank, Fusion& fusion,
                       std::span<const ValueId> outputs) {
  ExportPlan plan = plan_export(import, bank, fusion, outputs, model.opset());
  if (plan.error.empty()) return plan;
  const int raised = raised_opset(model);
  if (raised == model.opset()) return plan;
  ExportPlan raised_plan = plan_export(import, bank, fusion, outputs, raised);
  return raised_plan.error.empty() ? raised_plan : plan;
}

}  // namespace rulemill::optimize
