#include "optimize/saturate.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "egraph/explain.h"
#include "optimize/extraction.h"
#include "optimize/positives.h"
#include "runtime/error.h"

namespace rulemill::optimize {

using egraph::ENode;
using egraph::nothing;

namespace {

/// A gain below this share of the cost is rounding.
constexpr double least_gain = 1e-9;
constexpr double unsayable_seconds = 1;

}  // namespace

struct Saturator::State {
  State(GraphBank& graph_bank, const CostModel& cost_model, SaturationOptions all_options)
      : bank(graph_bank),
        cost(cost_model),
        fusion(cost_model.fusion()),
        options(all_options),
        sizes(graph_bank.library(), graph_bank.symbols()),
        egraph(graph_bank.library(), sizes),
        saturation(index, egraph),
        positives(graph_bank) {}

  void add_rules(const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules);
  bool may_stand_for_positives(const RegionLeaf& leaf);
  /// Whether the node is a leaf that is positive: see add_graph.
  bool is_leaf(ENode node) const { return algebra::is_positives(bank.library().instance(egraph.instance(node))); }
  void add_graph(std::span<const RegionLeaf> leaves, const RegionGraph& graph);
  Solution solve(const Region& region);
  CostModel::Alone by_itself(ENode node) const;
  double seconds_of(ENode node) const;
  double seconds_in_graph(const Extraction::Place& place, double alone) const;
  std::optional<CostModel::Alone> runs_in(const Extraction::Place& place) const;
  bool is_said_with(ENode last, ENode inner) const;
  bool is_taken_by(ENode user, ENode node) const;
  bool may_be_said(ENode node) const;
  void use(bool core_alone);
  bool improve(std::span<const RegionLeaf> leaves, Solution& solution, const egraph::Limits& limits);
  RegionGraph graph_of(const Extraction& extraction, std::uint32_t leaves) const;
  std::vector<Step> steps_of(const Extraction& extraction, double before, double after) const;

  GraphBank& bank;
  const CostModel& cost;
  Fusion& fusion;
  SaturationOptions options;
  egraph::SizeTable sizes;
  egraph::RuleIndex index;
  std::vector<std::uint32_t> rule_numbers;  // by number in the index: position in the rule set
  std::vector<std::uint32_t> shortcuts;     // numbers in the index of what comes after the core
  egraph::EGraph egraph;
  egraph::Saturation saturation;
  std::vector<egraph::Value> values;  // of the region that was added last, by its numbers
  std::vector<egraph::Value> roots;
  std::set<std::pair<ENode, ENode>> said;                  // last and earlier node of what is said together
  std::unordered_map<ENode, std::vector<ENode>> one_pass;  // by last node: the earlier ones of what the runtime does so
  std::unordered_map<ENode, std::uint32_t> stems;          // of the region's own nodes
  std::unordered_map<std::string, Solution> solved;
  Positives positives;
  std::map<std::size_t, algebra::InstanceId> positives_by_rank;  // for the ranks of the rules' variables of positives
};

void Saturator::State::add_rules(const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules) {
  for (std::uint32_t r = 0; r < rules.size(); ++r) {
    if (!has_positive_variables_alone(rules[r].rule, terms)) continue;
    for (const algebra::TermId variable : variables_of_positives(rules[r].rule, terms)) {
      const std::uint32_t rank[] = {terms.term(variable).rank};
      positives_by_rank[rank[0]] = bank.library().instantiate(*bank.library().positives_operator(), {}, rank).id;
    }
    algebra::TypedRule typed;
    typed.rule = rules[r].rule;
    egraph::CompiledRule compiled = egraph::compile(typed, terms, sizes, egraph::Constants::Made);
    if (!rules[r].reversible) std::erase_if(compiled.directions, [](const auto& each) { return !each.forward; });
    const std::uint32_t number = index.add(std::move(compiled));
    if (algebra::comes_later(rules[r])) shortcuts.push_back(number);
    rule_numbers.push_back(r);
  }
}

bool Saturator::State::may_stand_for_positives(const RegionLeaf& leaf) {
  const ValueType& type = bank.value(leaf.value).type;
  return type && positives_by_rank.contains(type->size()) && positives.contains(leaf.value);
}

/// A leaf p that is positive is put in as positive(c), c its tag: so rules find it. Nothing else reads c, since rules
/// have c within positive(c) alone.
void Saturator::State::add_graph(std::span<const RegionLeaf> leaves, const RegionGraph& graph) {
  egraph.clear();
  values.clear();
  roots.clear();
  said.clear();
  one_pass.clear();
  stems.clear();
  std::vector<ENode> nodes;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) {
    const ValueType& type = bank.value(leaves[i].value).type;
    RM_CHECK(type.has_value(), "a leaf of a region has a type");
    values.push_back(egraph.add_variable(i, sizes.shape(*type), leaves[i].constant));
    if (!may_stand_for_positives(leaves[i])) continue;
    const ENode made = egraph.add_node(positives_by_rank.at(type->size()), std::span(&values.back(), 1), {});
    RM_CHECK(made != nothing, "positives are of any type");
    values.back() = egraph.output(made, 0);
  }
  for (const RegionNode& node : graph.nodes) {
    std::vector<egraph::Value> arguments;
    for (const std::uint32_t argument : node.arguments) arguments.push_back(values[argument]);
    std::vector<egraph::SizeId> node_sizes;
    for (const algebra::Poly& size : node.sizes) node_sizes.push_back(sizes.intern(size));
    const ENode made = egraph.add_node(node.instance, arguments, node_sizes);
    RM_CHECK(made != nothing, "a node of a model types");
    nodes.push_back(made);
    if (node.stem != RegionNode::no_stem) stems.emplace(made, node.stem);
    for (std::uint32_t o = 0; o < node.outputs; ++o) values.push_back(egraph.output(made, o));
  }
  for (const std::uint32_t output : graph.outputs) roots.push_back(values[output]);
  for (const RegionGraph::Said& pair : graph.said) {
    said.emplace(nodes[pair.last], nodes[pair.inner]);
    if (pair.in_one_pass) one_pass[nodes[pair.last]].push_back(nodes[pair.inner]);
  }
}

CostModel::Alone Saturator::State::by_itself(ENode node) const {
  CostModel::Alone result{egraph.instance(node), {}, {}, {}};
  for (const egraph::Value argument : egraph.arguments(node)) {
    result.arguments.push_back(sizes.polys(egraph.shape(argument)));
    result.constant.push_back(egraph.constant(argument));
  }
  for (const egraph::SizeId size : egraph.sizes(node)) result.sizes.push_back(sizes.poly(size));
  return result;
}

double Saturator::State::seconds_of(ENode node) const {
  if (is_leaf(node)) return 0;
  const double seconds = cost.seconds_alone(by_itself(node));
  return may_be_said(node) ? seconds : seconds + unsayable_seconds;
}

bool Saturator::State::is_said_with(ENode last, ENode inner) const {
  return last != nothing && inner != nothing &&
         (said.contains({last, inner}) || fusion.composite_of(egraph.instance(inner), egraph.instance(last)));
}

/// Whether an ONNX operator says the node, or a composite along with some neighbour.
bool Saturator::State::may_be_said(ENode node) const {
  if (!bank.library().instance(egraph.instance(node)).onnx.empty()) return true;
  if (std::ranges::any_of(said, [&](const auto& pair) { return pair.second == node; })) return true;
  if (egraph.arguments(node).empty()) return false;
  const egraph::Value first = egraph.arguments(node)[0];
  egraph::Value value = first;
  do {
    const ENode inner = egraph.node_of(value);
    if (inner != nothing && !egraph.is_duplicate(inner) && is_said_with(node, inner)) return true;
    value = egraph.next_in_class(value);
  } while (value != first);
  return false;
}

/// Whether the only user reads what the node is made of.
bool Saturator::State::is_taken_by(ENode user, ENode node) const {
  if (user == nothing) return false;
  const auto arguments = egraph.arguments(user);
  for (std::size_t place = 0; place < arguments.size(); ++place) {
    if (!egraph.equal(arguments[place], egraph.output(node, 0))) continue;
    if (fusion.takes(egraph.instance(user), place, egraph.instance(node))) return true;
  }
  return false;
}

/// What an activation runs inside: its argument, or, where that is said with the node before it, as a bias with its
/// convolution, both of them. The whole graph is priced likewise (CostModel::inside_another): an activation that seemed
/// to cost something here would be taken away from its convolution to where it does.
std::optional<CostModel::Alone> Saturator::State::runs_in(const Extraction::Place& place) const {
  const algebra::InstanceId activation = egraph.instance(place.node);
  if (place.argument == nothing || bank.library().instance(activation).inputs.size() != 1) return std::nullopt;
  const algebra::InstanceId last = egraph.instance(place.argument);
  if (fusion.has_fused(last, activation)) return by_itself(place.argument);
  if (!is_said_with(place.argument, place.before)) return std::nullopt;
  const algebra::InstanceId producer = egraph.instance(place.before);
  if (!fusion.has_fused(producer, activation)) return std::nullopt;
  CostModel::Alone whole = by_itself(place.before);
  if (const auto composite = fusion.composite_of(producer, last); composite && whole.sizes.empty()) {
    const CostModel::Alone rest = by_itself(place.argument);
    whole.instance = *composite;
    whole.arguments.insert(whole.arguments.end(), rest.arguments.begin() + 1, rest.arguments.end());
    whole.constant.insert(whole.constant.end(), rest.constant.begin() + 1, rest.constant.end());
  }
  return whole;
}

/// What runs inside its producer is free, and what its user takes as it is; the last node of what the runtime
/// does in one pass gives back what the earlier ones cost by themselves. What no runtime has an operator for is next to
/// impossible, unless a composite says it along with its neighbour.
double Saturator::State::seconds_in_graph(const Extraction::Place& place, double alone) const {
  const auto& [node, argument, before, user] = place;
  if (is_said_with(node, argument)) {
    double given_back = 0;
    if (const auto found = one_pass.find(node); found != one_pass.end()) {
      for (const ENode inner : found->second) given_back += cost.seconds_alone(by_itself(inner));
      return alone - given_back;
    }
    return 0;
  }
  if (is_taken_by(user, node)) return 0;
  if (const auto producer = runs_in(place)) return cost.seconds_inside(*producer, egraph.instance(node));
  const bool has_word = !bank.library().instance(egraph.instance(node)).onnx.empty();
  const bool sayable = !may_be_said(node) || has_word || is_said_with(user, node);
  return sayable ? alone : alone + unsayable_seconds;
}

/// Saturates and extracts, and again from what came out, as long as it becomes cheaper: what has been merged and folded
/// is out of the way by then, so that a limit is reached later. First by core rules alone, which are few enough to go
/// far; what then is left is for shortcuts.
Solution Saturator::State::solve(const Region& region) {
  Solution solution{.graph = region.graph, .steps = {}};
  for (const bool core_alone : {true, false}) {
    use(core_alone);
    const egraph::Limits& limits = core_alone ? options.core_limits : options.limits;
    while (solution.restarts < options.restarts && improve(region.leaves, solution, limits)) ++solution.restarts;
  }
  return solution;
}

void Saturator::State::use(bool core_alone) {
  for (const std::uint32_t rule : shortcuts) index.enable(rule, !core_alone);
}

bool Saturator::State::improve(std::span<const RegionLeaf> leaves, Solution& solution, const egraph::Limits& limits) {
  add_graph(leaves, solution.graph);
  const Extraction::Price price = {
      [&](ENode node) { return seconds_of(node); },
      [&](const Extraction::Place& place, double alone) { return seconds_in_graph(place, alone); }};
  Extraction as_it_is(egraph, price);
  as_it_is.choose(roots, egraph.node_count(), 0);
  const ENode original = egraph.node_count();
  const auto positive =
      std::ranges::count_if(leaves, [&](const RegionLeaf& leaf) { return may_stand_for_positives(leaf); });
  const auto operators = solution.graph.nodes.size() + static_cast<std::size_t>(positive);
  const auto largest = static_cast<std::uint32_t>(operators) + limits.extra_operators;
  const auto outcome = saturation.run({}, largest, limits);
  solution.saturated = outcome == egraph::Saturation::Outcome::Saturated;
  solution.nodes += egraph.node_count();
  Extraction extraction(egraph, price);
  extraction.choose(roots, original, options.passes);
  ++solution.extracted;
  if (options.exact.nodes > 0 && extraction.choose_exactly(roots, options.exact, options.passes)) ++solution.exactly;
  if (extraction.seconds() >= as_it_is.seconds() * (1 - least_gain)) return false;
  const std::vector<Step> steps = steps_of(extraction, as_it_is.seconds(), extraction.seconds());
  solution.steps.insert(solution.steps.end(), steps.begin(), steps.end());
  solution.graph = graph_of(extraction, solution.graph.leaves);
  return true;
}

RegionGraph Saturator::State::graph_of(const Extraction& extraction, std::uint32_t leaves) const {
  RegionGraph graph;
  graph.leaves = leaves;
  std::uint32_t next = leaves;
  std::unordered_map<egraph::Value, std::uint32_t> numbers;  // by class
  const auto number = [&](egraph::Value value) {
    const egraph::Value variable = extraction.variable(value);
    return variable != nothing ? egraph.tag_of(variable) : numbers.at(egraph.find(value));
  };
  std::vector<ENode> order = extraction.order(roots);
  for (const ENode node : order) {
    if (is_leaf(node)) numbers.emplace(egraph.find(egraph.output(node, 0)), number(egraph.arguments(node)[0]));
  }
  std::erase_if(order, [&](ENode node) { return is_leaf(node); });
  for (const ENode node : order) {
    const auto stem = stems.find(node);
    RegionNode made{egraph.instance(node),
                    {},
                    {},
                    next,
                    egraph.output_count(node),
                    stem == stems.end() ? RegionNode::no_stem : stem->second};
    for (const egraph::Value argument : egraph.arguments(node)) made.arguments.push_back(number(argument));
    for (const egraph::SizeId size : egraph.sizes(node)) made.sizes.push_back(sizes.poly(size));
    for (std::uint32_t o = 0; o < made.outputs; ++o, ++next) numbers.emplace(egraph.find(egraph.output(node, o)), next);
    graph.nodes.push_back(std::move(made));
  }
  for (const egraph::Value root : roots) graph.outputs.push_back(number(root));
  const auto place = [&](ENode node) { return std::ranges::find(order, node) - order.begin(); };
  for (const auto& [last, inner] : said) {
    const auto l = place(last), i = place(inner), end = std::ssize(order);
    if (l >= end || i >= end) continue;
    graph.said.push_back({static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(i), one_pass.contains(last)});
  }
  return graph;
}

/// What makes each root equal to its chosen node, and each argument of a chosen node to the one that was chosen for it.
std::vector<Step> Saturator::State::steps_of(const Extraction& extraction, double before, double after) const {
  egraph::Explainer explainer(saturation, egraph);
  const auto chosen = [&](egraph::Value value) {
    if (const egraph::Value variable = extraction.variable(value); variable != nothing) return variable;
    const ENode node = extraction.node(value);
    for (std::uint32_t o = 0; o < egraph.output_count(node); ++o) {
      if (egraph.equal(egraph.output(node, o), value)) return egraph.output(node, o);
    }
    RM_CHECK(false, "a chosen node has an output in its class");
    return nothing;
  };
  for (const egraph::Value root : roots) explainer.add(root, chosen(root));
  for (const ENode node : extraction.order(roots)) {
    for (const egraph::Value argument : egraph.arguments(node)) explainer.add(argument, chosen(argument));
  }
  std::vector<Step> steps;
  for (const std::uint32_t number : explainer.applications()) {
    const egraph::RuleIndex::Use use = saturation.application(number).use;
    const bool forward = index.rule(use.rule).directions[use.direction].forward;
    steps.push_back({rule_numbers[use.rule], !forward, before, after});
  }
  return steps;
}

Saturator::Saturator(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules,
                     const CostModel& cost, SaturationOptions options)
    : state_(std::make_unique<State>(bank, cost, options)) {
  state_->add_rules(terms, rules);
}

Saturator::~Saturator() = default;

const Solution& Saturator::solve(const Region& region) {
  std::string key = key_of(region, state_->bank);
  for (const RegionLeaf& leaf : region.leaves) key += state_->may_stand_for_positives(leaf) ? 'p' : '-';
  auto found = state_->solved.find(key);
  if (found == state_->solved.end()) found = state_->solved.emplace(key, state_->solve(region)).first;
  return found->second;
}

}  // namespace rulemill::optimize
