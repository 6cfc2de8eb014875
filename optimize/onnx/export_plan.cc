#include <algorithm>
#include <set>
#include <unordered_set>

#include "optimize/onnx/export.h"
#include "optimize/onnx/model_proto.h"
#include "optimize/onnx/run_time_sizes.h"

namespace rulemill::optimize {

namespace {

/// From here on ONNX has minima and maxima of sizes, too.
constexpr int first_opset_that_computes_sizes = 13;

class Planner {
 public:
  Planner(const Import& import, GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs, int opset,
          bool keeps_constants)
      : import_(import), bank_(bank), fusion_(fusion), opset_(opset), run_time_sizes_(bank, import) {
    plan_.keeps_constants = keeps_constants;
    auto nodes = bank.live(outputs);
    live_.insert(nodes.begin(), nodes.end());
    uses_ = count_uses(bank, nodes, outputs);
    for (ValueId output : outputs) open_.insert(bank.value(output).node);
  }

  /// Users before arguments, so that a unit takes in its inner nodes before they ask for a unit of their own.
  ExportPlan run() {
    while (!open_.empty() && plan_.refusal.empty()) {
      NodeId id = *open_.begin();
      open_.erase(open_.begin());
      if (absorbed_.contains(id)) continue;
      const Node& node = bank_.node(id);
      if (node.kind == Node::Kind::Opaque) {
        add_opaque(id);
      } else if (node.kind == Node::Kind::Algebra && (!node.constant || plan_.keeps_constants)) {
        if (!add_original(id) && !add_composite(id) && !add_fold(id)) {
          plan_.refusal = bank_.instance(node).name + " cannot be said in opset " + std::to_string(opset_);
        }
      }
    }
    std::ranges::reverse(plan_.units);
    return std::move(plan_);
  }

 private:
  void add(ExportUnit unit) {
    for (const auto& input : unit.inputs) {
      if (input) open_.insert(bank_.value(*input).node);
    }
    plan_.units.push_back(std::move(unit));
  }

  void add_opaque(NodeId id) {
    const Node& node = bank_.node(id);
    ExportUnit unit;
    unit.root = id;
    unit.outputs = node.outputs;
    unit.original = import_.opaque_nodes.at(node.source);
    const Import::NodeRecord& record = import_.nodes[*unit.original];
    std::size_t next = 0;
    for (const auto& input : record.inputs) {
      unit.inputs.push_back(input ? std::optional(node.arguments[next++]) : std::nullopt);
    }
    for (; next < node.arguments.size(); ++next) open_.insert(bank_.value(node.arguments[next]).node);
    add(std::move(unit));
  }

  bool used_once(const Node& node) const {
    return node.outputs.size() == 1 && uses_.contains(node.outputs[0]) && uses_.at(node.outputs[0]) == 1;
  }

  /// What is computed from constants alone each node that needs it may do by itself.
  bool serves_one(const Node& node) const { return (node.constant && node.outputs.size() == 1) || used_once(node); }

  /// The node that it stems from, if it still says the same.
  bool add_original(NodeId id) {
    std::uint32_t origin = bank_.node(id).origin;
    if (origin == Node::no_origin || origin >= import_.nodes.size()) return false;
    const Import::NodeRecord& record = import_.nodes[origin];
    if (record.recipe.opaque()) return false;
    std::vector<std::optional<ValueId>> bound(record.inputs.size());
    ExportUnit unit;
    if (!match_outputs(record, id, bound, unit)) return false;
    if (computes_sizes_elsewhere(record, id, bound)) return false;
    if (!written_.insert(origin).second) return false;  // its names are taken
    unit.original = origin;
    // Constant inputs, which no step reads, are as they were.
    for (std::size_t i = 0; i < bound.size(); ++i) unit.inputs.push_back(bound[i] ? bound[i] : record.inputs[i]);
    add(std::move(unit));
    return true;
  }

  /// Whether the original node takes its sizes from what the model computes, and that is not needed any more: though
  /// they are numbers and what it reads is not what it read, or from the shape of what is no more.
  bool computes_sizes_elsewhere(const Import::NodeRecord& record, NodeId id,
                                const std::vector<std::optional<ValueId>>& bound) {
    bool changed = false, computed = false, gone = false;
    for (std::size_t i = 0; i < bound.size(); ++i) {
      if (bound[i]) changed = changed || bound[i] != record.inputs[i];
      if (!bound[i] && record.inputs[i]) {
        const Node& from = bank_.node_of(*record.inputs[i]);
        computed = computed || (from.kind == Node::Kind::Opaque && !from.constant);
        gone = gone || stems_from_what_is_gone(*record.inputs[i]);
      }
    }
    const std::vector<algebra::Poly>& sizes = bank_.node(id).sizes;
    const auto is_number = [](const algebra::Poly& size) { return size.constant().has_value(); };
    if (changed && computed && std::ranges::all_of(sizes, is_number)) return true;
    return gone && std::ranges::all_of(sizes, [&](const algebra::Poly& size) { return is_known(size); });
  }

  bool is_known(const algebra::Poly& size) const {
    return size.constant() || (opset_ >= first_opset_that_computes_sizes && run_time_sizes_.computable(size));
  }

  /// Whether an opaque value is computed from nodes that the graph does not have any more.
  bool stems_from_what_is_gone(ValueId value) {
    const NodeId id = bank_.value(value).node;
    const Node& node = bank_.node(id);
    if (node.constant) return false;
    if (node.kind == Node::Kind::Algebra) return !live_.contains(id);
    if (node.kind != Node::Kind::Opaque) return false;
    if (const auto found = gone_.find(id); found != gone_.end()) return found->second;
    const bool gone = std::ranges::any_of(node.arguments, [&](ValueId from) { return stems_from_what_is_gone(from); });
    return gone_[id] = gone;
  }

  /// All steps of the original node, `id` the last of them: some may give outputs of it, the others serve it alone.
  bool match_outputs(const Import::NodeRecord& record, NodeId id, std::vector<std::optional<ValueId>>& bound,
                     ExportUnit& unit) {
    matched_.assign(record.recipe.steps.size(), std::nullopt);
    if (!match_step(record, record.recipe.steps.size() - 1, id, bound)) return false;
    unit.root = id;
    std::set<NodeId> inner;
    for (const Recipe::Reference& from : record.recipe.outputs) {
      const auto& step = matched_[from.number];
      if (!step) return false;
      unit.outputs.push_back(bank_.node(*step).outputs[from.output]);
      // What uses this output must come after the last step.
      if (*step != id && index(id) - index(*step) >= matched_.size()) return false;
      if (*step != id) inner.insert(*step);
    }
    absorbed_.insert(inner.begin(), inner.end());
    return true;
  }

  bool match_step(const Import::NodeRecord& record, std::size_t number, NodeId id,
                  std::vector<std::optional<ValueId>>& bound) {
    const Recipe::Step& step = record.recipe.steps[number];
    const Node& node = bank_.node(id);
    if (node.kind != Node::Kind::Algebra || node.instance != step.instance || node.sizes != step.sizes) return false;
    matched_[number] = id;
    auto before = bound;
    std::vector<ValueId> arguments = node.arguments;
    bool commutative = bank_.instance(node).commutative;
    if (commutative && reads_as(record, step, arguments[1], arguments[0])) std::swap(arguments[0], arguments[1]);
    if (match_arguments(record, step, arguments, bound)) return true;
    bound = before;
    if (!commutative) return false;
    std::swap(arguments[0], arguments[1]);
    if (match_arguments(record, step, arguments, bound)) return true;
    bound = before;
    return false;
  }

  /// Whether the two arguments, in this order, have a name in the place where the original node had it: so that the
  /// order of a commutative operator's inputs stays.
  bool reads_as(const Import::NodeRecord& record, const Recipe::Step& step, ValueId first, ValueId second) const {
    auto in_place = [&](std::size_t argument, ValueId now) {
      const Recipe::Reference& from = step.arguments[argument];
      if (from.from != Recipe::Reference::From::Input || !record.inputs[from.number]) return false;
      ValueId was = *record.inputs[from.number];
      return was == now || bank_.value(was).name == bank_.value(now).name;
    };
    return in_place(0, first) || in_place(1, second);
  }

  /// The value that one step hands to another is used there alone; other outputs of it are the original node's.
  bool serves_alone(const Import::NodeRecord& record, const Recipe::Reference& from, ValueId value) const {
    const Node& node = bank_.node_of(value);
    if (node.outputs.size() == 1) return serves_one(node);
    const auto uses = uses_.find(value);
    if (uses == uses_.end() || uses->second != 1) return false;
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const bool given = std::ranges::any_of(record.recipe.outputs, [&](const Recipe::Reference& said) {
        return said.number == from.number && said.output == output;
      });
      if (output != from.output && !given) return false;
    }
    return true;
  }

  bool match_arguments(const Import::NodeRecord& record, const Recipe::Step& step, std::vector<ValueId> arguments,
                       std::vector<std::optional<ValueId>>& bound) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Recipe::Reference& from = step.arguments[i];
      if (from.from == Recipe::Reference::From::Literal) {
        if (record.literals[from.number] != arguments[i]) return false;
      } else if (from.from == Recipe::Reference::From::Input) {
        auto& slot = bound[from.number];
        if (slot && *slot != arguments[i]) return false;
        // Its attributes may follow from the types of its inputs: a kernel's shape, padding, groups.
        const std::optional<ValueId>& was = record.inputs[from.number];
        if (!was || bank_.value(*was).type != bank_.value(arguments[i]).type) return false;
        slot = arguments[i];
      } else {
        const Value& value = bank_.value(arguments[i]);
        if (value.output != from.output || !serves_alone(record, from, arguments[i])) return false;
        if (!match_step(record, from.number, value.node, bound)) return false;
      }
    }
    return true;
  }

  std::optional<OnnxNodeText> text(algebra::InstanceId instance_id, const std::vector<ValueId>& arguments,
                                   const std::vector<algebra::Poly>& sizes) {
    const algebra::Instance& instance = bank_.library().instance(instance_id);
    std::vector<algebra::Shape> shapes;
    for (ValueId argument : arguments) shapes.push_back(*bank_.value(argument).type);
    std::vector<algebra::Poly> slots;
    if (!algebra::infer(instance, shapes, sizes, bank_.symbols(), {}, &slots)) return std::nullopt;
    const int kind = arguments.empty() ? 1 : data_type_of(bank_.value(arguments[0]).type.element);
    const auto known = [&](const algebra::Poly& size) { return is_known(size); };
    auto said = emit(instance, slots, opset_, bank_.symbols(), {kind, shapes.empty() ? nullptr : &shapes[0], known});
    // An attribute cannot be computed when the model runs.
    for (const auto& [name, argument] : said ? said->attribute_arguments : std::map<std::string, std::uint32_t>()) {
      if (!bank_.node_of(arguments[argument]).constant) return std::nullopt;
    }
    return said;
  }

  void add_text(NodeId id, OnnxNodeText said, const std::vector<ValueId>& arguments) {
    ExportUnit unit;
    unit.root = id;
    unit.outputs = bank_.node(id).outputs;
    for (const auto& [name, argument] : said.attribute_arguments) unit.attributes.emplace(name, arguments[argument]);
    for (const auto& argument : said.arguments) {
      unit.inputs.push_back(argument ? std::optional(arguments[*argument]) : std::nullopt);
    }
    unit.text = std::move(said);
    add(std::move(unit));
  }

  bool add_composite(NodeId id) {
    const auto& match = fusion_.composite(id);
    if (!match) return false;
    for (NodeId inner : match->inner) {
      if (!serves_one(bank_.node(inner))) return false;
    }
    auto said = text(match->composite, match->inputs, match->sizes);
    if (!said) return false;
    add_text(id, std::move(*said), match->inputs);
    return true;
  }

  /// The node alone, or with the left-hand nodes of the same operator that a variadic ONNX node takes in.
  bool add_fold(NodeId id) {
    const Node& node = bank_.node(id);
    auto said = text(node.instance, node.arguments, node.sizes);
    if (!said) return false;
    if (!said->variadic) {
      add_text(id, std::move(*said), node.arguments);
      return true;
    }
    std::vector<ValueId> arguments{node.arguments[1]};
    ValueId left = node.arguments[0];
    while (true) {
      const Node& inner = bank_.node_of(left);
      bool same = inner.kind == Node::Kind::Algebra && used_once(inner) &&
                  bank_.instance(inner).operator_name == bank_.instance(node).operator_name;
      auto inner_said = same ? text(inner.instance, inner.arguments, inner.sizes) : std::nullopt;
      if (!inner_said || !same_literals(inner_said->attributes, said->attributes)) break;
      arguments.push_back(inner.arguments[1]);
      left = inner.arguments[0];
    }
    arguments.push_back(left);
    std::ranges::reverse(arguments);
    said->arguments.clear();
    for (std::uint32_t i = 0; i < arguments.size(); ++i) said->arguments.push_back(i);
    said->constants.assign(arguments.size(), {});
    add_text(id, std::move(*said), arguments);
    return true;
  }

  static bool same_literals(const std::map<std::string, OnnxLiteral>& a, const std::map<std::string, OnnxLiteral>& b) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
      return x.first == y.first && x.second.integers == y.second.integers && x.second.word == y.second.word &&
             x.second.number == y.second.number;
    });
  }

  const Import& import_;
  GraphBank& bank_;
  Fusion& fusion_;
  int opset_;
  RunTimeSizes run_time_sizes_;
  std::unordered_map<ValueId, std::uint32_t> uses_;
  std::unordered_set<NodeId> live_;
  std::unordered_map<NodeId, bool> gone_;  // by opaque node: see stems_from_what_is_gone
  std::set<NodeId, std::greater<>> open_;
  std::set<std::uint32_t> written_;
  std::set<NodeId> absorbed_;                   // written with another node
  std::vector<std::optional<NodeId>> matched_;  // by step of the recipe that is being matched
  ExportPlan plan_;
};

}  // namespace

ExportPlan plan_export(const Import& import, GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs,
                       int opset, bool keeps_constants) {
  return Planner(import, bank, fusion, outputs, opset, keeps_constants).run();
}

}  // namespace rulemill::optimize
