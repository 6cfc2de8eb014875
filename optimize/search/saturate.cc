#include "optimize/search/saturate.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "egraph/explain.h"
#include "optimize/search/extraction.h"
#include "optimize/search/region_egraph.h"
#include "optimize/search/search_options.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

using egraph::ENodeId;
using egraph::no_id;
using StopReason = egraph::Saturation::StopReason;

namespace {

/// Added to the cost of a node that ONNX cannot express.
constexpr double unexportable_penalty_seconds = 1;

/// The graph that an extraction prices, with the nodes and canonical classes of its e-graph.
class SelectedGraph final : public PatternGraph {
 public:
  SelectedGraph(const egraph::EGraph& egraph, const Extraction& extraction)
      : egraph_(egraph), extraction_(extraction) {}

  std::optional<Node> node_of(std::uint32_t value) const override {
    if (extraction_.variable(value) != no_id || egraph_.is_constant_class(value)) return std::nullopt;
    const ENodeId node = extraction_.node(value);
    if (node == no_id || egraph_.output_count(node) != 1) return std::nullopt;
    Node found{node, &egraph_.library().instance(egraph_.instance(node)), {}};
    for (const egraph::EClassId argument : egraph_.arguments(node)) found.arguments.push_back(egraph_.find(argument));
    return found;
  }

  bool is_number(std::uint32_t value, const std::string& operator_name) const override {
    egraph::EClassId id = value;
    do {
      const ENodeId node = egraph_.node_of(id);
      if (node != no_id && egraph_.arguments(node).empty() &&
          egraph_.library().instance(egraph_.instance(node)).operator_name == operator_name)
        return true;
      id = egraph_.next_in_class(id);
    } while (id != value);
    return false;
  }

 private:
  const egraph::EGraph& egraph_;
  const Extraction& extraction_;
};

}  // namespace

struct Saturator::Impl : RegionEGraph {
  Impl(GraphBank& graph_bank, const CostModel& cost_model, SaturationOptions all_options)
      : RegionEGraph(graph_bank), cost(cost_model), fusion(cost_model.fusion()), options(all_options) {}

  void add_graph(std::span<const RegionLeaf> leaves, const RegionGraph& graph);
  Solution solve(const Region& region);
  CostModel::IsolatedNode isolated(ENodeId node) const;
  double price(ENodeId node) const;
  double price_in_graph(const Extraction::NodeContext& context, double isolated_price) const;
  std::optional<CostModel::IsolatedNode> fused_producer(const Extraction::NodeContext& context) const;
  std::optional<double> one_pass_price(const Extraction::NodeContext& context) const;
  bool is_fused_with(ENodeId last, ENodeId inner) const;
  bool is_absorbed_by(ENodeId user, ENodeId node) const;
  bool has_onnx_operator(ENodeId node) const;
  bool is_exportable(ENodeId node) const;
  bool improve(std::span<const RegionLeaf> leaves, Solution& solution, const egraph::Limits& limits);
  RegionGraph extracted_graph(const Extraction& extraction, std::uint32_t leaves) const;
  void explain_steps(const Extraction& extraction, double before, double after, Solution& solution) const;

  const CostModel& cost;
  Fusion& fusion;
  SaturationOptions options;
  std::vector<egraph::EClassId> roots;
  std::set<std::pair<ENodeId, ENodeId>> fused_pairs;     // last and inner nodes
  std::unordered_map<ENodeId, std::uint32_t> originals;  // the region's own nodes, by e-node
  std::unordered_map<std::string, Solution> solved;
  bool has_selected_rules = false;
};

void Saturator::Impl::add_graph(std::span<const RegionLeaf> leaves, const RegionGraph& graph) {
  egraph.clear();
  values.clear();
  roots.clear();
  fused_pairs.clear();
  originals.clear();
  std::vector<ENodeId> nodes;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) values.push_back(add_leaf(leaves[i], i));
  for (const RegionNode& node : graph.nodes) {
    const ENodeId created = add_node(node, values);
    nodes.push_back(created);
    if (node.original != RegionNode::not_original) originals.emplace(created, node.original);
    for (std::uint32_t o = 0; o < node.outputs; ++o) values.push_back(egraph.output(created, o));
  }
  for (const std::uint32_t output : graph.outputs) roots.push_back(values[output]);
  for (const RegionGraph::FusedPair& pair : graph.fused_pairs) fused_pairs.emplace(nodes[pair.last], nodes[pair.inner]);
}

CostModel::IsolatedNode Saturator::Impl::isolated(ENodeId node) const {
  CostModel::IsolatedNode result{egraph.instance(node), {}, {}, {}};
  for (const egraph::EClassId argument : egraph.arguments(node)) {
    result.arguments.push_back(sizes.polys(egraph.shape(argument)));
    result.constant.push_back(egraph.is_constant_class(argument));
  }
  for (const egraph::SizeId size : egraph.sizes(node)) result.sizes.push_back(sizes.poly(size));
  return result;
}

double Saturator::Impl::price(ENodeId node) const {
  if (marks_positive_leaf(node)) return 0;
  const double seconds = cost.isolated_seconds(isolated(node));
  return is_exportable(node) ? seconds : seconds + unexportable_penalty_seconds;
}

/// Returns the price of the last node of a runtime fusion: of all its nodes, less the prices that its inner nodes have.
/// These have no neighbors that make them cheaper, because their arguments are read several times or are inner nodes.
std::optional<double> Saturator::Impl::one_pass_price(const Extraction::NodeContext& context) const {
  const ENodeId last = context.node;
  if (!fusion.runtime().can_end_one_pass(bank.library().instance(egraph.instance(last)))) return std::nullopt;
  const SelectedGraph graph(egraph, context.graph);
  const auto group = fusion.runtime().one_pass(graph, egraph.find(egraph.output(last, 0)));
  const auto is_used_once = [&](ENodeId inner) { return context.graph.uses(egraph.output(inner, 0)) == 1; };
  if (!group || !std::ranges::all_of(group->inner, is_used_once)) return std::nullopt;
  double seconds = cost.one_pass_seconds(group->name, isolated(last));
  for (const ENodeId inner : group->inner) seconds -= cost.isolated_seconds(isolated(inner));
  return seconds;
}

bool Saturator::Impl::is_fused_with(ENodeId last, ENodeId inner) const {
  return last != no_id && inner != no_id &&
         (fused_pairs.contains({last, inner}) || fusion.composite_of(egraph.instance(inner), egraph.instance(last)));
}

bool Saturator::Impl::has_onnx_operator(ENodeId node) const {
  return std::ranges::any_of(bank.library().instance(egraph.instance(node)).onnx, [&](const auto& mapping) {
    const auto holds_in = [&](int opset) { return mapping.since <= opset && opset < mapping.until; };
    return !mapping.domain.empty() || options.opsets.empty() || std::ranges::any_of(options.opsets, holds_in);
  });
}

/// Returns true if an ONNX operator encodes the node, or a composite encodes it with a neighbor.
bool Saturator::Impl::is_exportable(ENodeId node) const {
  if (has_onnx_operator(node)) return true;
  if (std::ranges::any_of(fused_pairs, [&](const auto& pair) { return pair.second == node; })) return true;
  if (egraph.arguments(node).empty()) return false;
  const egraph::EClassId first = egraph.arguments(node)[0];
  egraph::EClassId value = first;
  do {
    const ENodeId inner = egraph.node_of(value);
    if (inner != no_id && !egraph.is_duplicate(inner) && is_fused_with(node, inner)) return true;
    value = egraph.next_in_class(value);
  } while (value != first);
  return false;
}

/// Returns true if the user reads the arguments of the node instead of its result, and has the price of both.
bool Saturator::Impl::is_absorbed_by(ENodeId user, ENodeId node) const {
  if (user == no_id) return false;
  const auto arguments = egraph.arguments(user);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!egraph.are_equal(arguments[i], egraph.output(node, 0))) continue;
    if (fusion.absorbs_operand(egraph.instance(user), i, egraph.instance(node))) return true;
  }
  return false;
}

/// Returns the node into which an activation is fused: its argument, or the composite of its argument and the node
/// before it (a convolution with its bias). Prices must agree with CostModel::fused_seconds(); otherwise extraction
/// would move an activation away from its convolution.
std::optional<CostModel::IsolatedNode> Saturator::Impl::fused_producer(const Extraction::NodeContext& context) const {
  const algebra::InstanceId activation = egraph.instance(context.node);
  if (context.argument == no_id || bank.library().instance(activation).inputs.size() != 1) return std::nullopt;
  const algebra::InstanceId last = egraph.instance(context.argument);
  if (fusion.has_fused_activation(last, activation)) return isolated(context.argument);
  if (!is_fused_with(context.argument, context.before)) return std::nullopt;
  const algebra::InstanceId producer = egraph.instance(context.before);
  if (!fusion.has_fused_activation(producer, activation)) return std::nullopt;
  CostModel::IsolatedNode whole = isolated(context.before);
  if (const auto composite = fusion.composite_of(producer, last); composite && whole.sizes.empty()) {
    const CostModel::IsolatedNode rest = isolated(context.argument);
    whole.instance = *composite;
    whole.arguments.insert(whole.arguments.end(), rest.arguments.begin() + 1, rest.arguments.end());
    whole.constant.insert(whole.constant.end(), rest.constant.begin() + 1, rest.constant.end());
  }
  return whole;
}

/// Nodes that are fused into their producer or absorbed by their user are free, except for a measured difference. The
/// last node of a runtime fusion has the price of all of it. Nodes that ONNX cannot express get a penalty, unless a
/// composite encodes them with a neighbor.
double Saturator::Impl::price_in_graph(const Extraction::NodeContext& context, double isolated_price) const {
  const ENodeId node = context.node, argument = context.argument, user = context.user;
  if (const auto price = one_pass_price(context)) return *price;
  if (is_absorbed_by(user, node)) return 0;
  if (is_fused_with(node, argument) && !is_absorbed_by(node, argument)) return 0;
  if (argument != no_id) {
    if (const auto slower = cost.slower_pair_seconds(isolated(node), isolated(argument))) return *slower;
  }
  if (const auto producer = fused_producer(context))
    return cost.fused_activation_seconds(*producer, egraph.instance(node));
  const bool is_encoded_here = has_onnx_operator(node) || is_fused_with(user, node);
  const bool is_penalized = !is_exportable(node);  // in isolated_price
  return is_encoded_here || is_penalized ? isolated_price : isolated_price + unexportable_penalty_seconds;
}

/// Saturates and extracts, and repeats that with the result while it becomes cheaper: a restart drops merged and folded
/// nodes, so that limits are reached later. Core rules come first, because they are few enough for a deep search; then
/// all rules are applied to the result.
Solution Saturator::Impl::solve(const Region& region) {
  Solution solution{.graph = region.graph, .steps = {}, .limits_reached = {}};
  const auto improve_within = [&](const egraph::Limits& limits) {
    while (solution.restarts < options.max_restarts && improve(region.leaves, solution, limits)) ++solution.restarts;
  };
  if (has_selected_rules) {
    improve_within(options.core_limits);
    return solution;
  }
  select_rules(/*core_only=*/true);
  improve_within(options.core_limits);
  select_rules(/*core_only=*/false);
  improve_within(options.limits);
  return solution;
}

bool Saturator::Impl::improve(std::span<const RegionLeaf> leaves, Solution& solution, const egraph::Limits& limits) {
  add_graph(leaves, solution.graph);
  const Extraction::NodePrices prices = {[&](ENodeId node) { return price(node); },
                                         [&](const Extraction::NodeContext& context, double isolated_price) {
                                           return price_in_graph(context, isolated_price);
                                         }};
  Extraction original(egraph, prices);
  original.extract(roots, egraph.node_count(), 0);
  const ENodeId original_end = egraph.node_count();
  const auto positive_leaves =
      std::ranges::count_if(leaves, [&](const RegionLeaf& leaf) { return is_positive_leaf(leaf); });
  const auto operators = solution.graph.nodes.size() + static_cast<std::size_t>(positive_leaves);
  const auto max_operators = static_cast<std::uint32_t>(operators) + limits.max_growth_over_goal;
  const auto stop_reason = saturation.run({}, max_operators, limits);
  solution.saturated = stop_reason == StopReason::Saturated;
  solution.limits_reached.iterations += stop_reason == StopReason::IterationLimit;
  solution.limits_reached.nodes += stop_reason == StopReason::NodeLimit;
  solution.limits_reached.matches += stop_reason == StopReason::MatchLimit;
  solution.egraph_nodes += egraph.node_count();
  Extraction extraction(egraph, prices);
  extraction.extract(roots, original_end, options.passes);
  ++solution.extractions;
  if (options.ilp.nodes > 0 && extraction.extract_with_ilp(roots, options.ilp, options.passes))
    ++solution.ilp_extractions;
  if (extraction.seconds() >= original.seconds() * (1 - cost_rounding)) return false;
  explain_steps(extraction, original.seconds(), extraction.seconds(), solution);
  solution.graph = extracted_graph(extraction, solution.graph.leaves);
  return true;
}

RegionGraph Saturator::Impl::extracted_graph(const Extraction& extraction, std::uint32_t leaves) const {
  RegionGraph graph;
  graph.leaves = leaves;
  std::uint32_t next = leaves;
  std::unordered_map<egraph::EClassId, std::uint32_t> numbers;  // by class
  const auto number = [&](egraph::EClassId value) {
    const egraph::EClassId variable = extraction.variable(value);
    return variable != no_id ? egraph.tag_of(variable) : numbers.at(egraph.find(value));
  };
  std::vector<ENodeId> order = extraction.order(roots);
  for (const ENodeId node : order) {
    if (marks_positive_leaf(node))
      numbers.emplace(egraph.find(egraph.output(node, 0)), number(egraph.arguments(node)[0]));
  }
  std::erase_if(order, [&](ENodeId node) { return marks_positive_leaf(node); });
  for (const ENodeId node : order) {
    const auto original = originals.find(node);
    RegionNode created{egraph.instance(node),
                       {},
                       {},
                       next,
                       egraph.output_count(node),
                       original == originals.end() ? RegionNode::not_original : original->second};
    for (const egraph::EClassId argument : egraph.arguments(node)) created.arguments.push_back(number(argument));
    for (const egraph::SizeId size : egraph.sizes(node)) created.sizes.push_back(sizes.poly(size));
    for (std::uint32_t o = 0; o < created.outputs; ++o, ++next)
      numbers.emplace(egraph.find(egraph.output(node, o)), next);
    graph.nodes.push_back(std::move(created));
  }
  for (const egraph::EClassId root : roots) graph.outputs.push_back(number(root));
  const auto place = [&](ENodeId node) { return std::ranges::find(order, node) - order.begin(); };
  for (const auto& [last, inner] : fused_pairs) {
    const auto l = place(last), i = place(inner), end = std::ssize(order);
    if (l >= end || i >= end) continue;
    graph.fused_pairs.push_back({static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(i)});
  }
  return graph;
}

/// Adds the rewrites that make each root equal to its selected node, and each argument of a selected node to the node
/// selected for it.
void Saturator::Impl::explain_steps(const Extraction& extraction, double before, double after,
                                    Solution& solution) const {
  egraph::Explainer explainer(saturation, egraph);
  const auto selected = [&](egraph::EClassId value) {
    if (const egraph::EClassId variable = extraction.variable(value); variable != no_id) return variable;
    const ENodeId node = extraction.node(value);
    for (std::uint32_t o = 0; o < egraph.output_count(node); ++o) {
      if (egraph.are_equal(egraph.output(node, o), value)) return egraph.output(node, o);
    }
    RM_CHECK(false, "a selected node has an output in its class");
    return no_id;
  };
  for (const egraph::EClassId root : roots) explainer.add(root, selected(root));
  for (const ENodeId node : extraction.order(roots)) {
    for (const egraph::EClassId argument : egraph.arguments(node)) explainer.add(argument, selected(argument));
  }
  const std::vector<std::uint32_t> applications = explainer.applications();
  for (const std::uint32_t number : applications) {
    const egraph::DirectionId direction = saturation.application(number).direction;
    const bool forward = index.rule(direction.rule).directions[direction.index].forward;
    solution.steps.push_back({rule_numbers[direction.rule], !forward, before, after});
  }
  add_applications(*this, applications, *solution.derivation);
}

Saturator::Saturator(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules,
                     const CostModel& cost, SaturationOptions options)
    : impl_(std::make_unique<Impl>(bank, cost, options)) {
  for (std::uint32_t r = 0; r < rules.size(); ++r) impl_->add_rule(rules[r], r, terms, /*any_direction=*/false);
}

Saturator::~Saturator() = default;

void Saturator::restrict_rules(const std::set<std::uint32_t>& numbers) {
  impl_->select_only(numbers);
  impl_->has_selected_rules = true;
  impl_->solved.clear();
}

const Solution& Saturator::solve(const Region& region) {
  std::string key = region_key(region, impl_->bank);
  for (const RegionLeaf& leaf : region.leaves) key += impl_->is_positive_leaf(leaf) ? 'p' : '-';
  auto found = impl_->solved.find(key);
  if (found == impl_->solved.end()) found = impl_->solved.emplace(key, impl_->solve(region)).first;
  return found->second;
}

}  // namespace rulemill::optimize
