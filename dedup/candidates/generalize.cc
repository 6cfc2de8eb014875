#include "dedup/candidates/generalize.h"

#include <algorithm>

#include "execute/kernels/kernel_body.h"
#include "execute/kernels/single_lane.h"
#include "execute/values/real_values.h"
#include "runtime/text/error.h"

namespace rulemill::dedup {

using execute::block_width;
using execute::Executor;
using execute::FieldPair;
using execute::Fingerprint;
using execute::ProgramStep;
using execute::SingleLane;

namespace {
constexpr std::uint64_t equality_test_stream = 0x747269616c732121u;
constexpr std::uint32_t sampled_elements = 3;
}  // namespace

ProgramCache::ProgramCache(const Vocabulary& vocabulary, const algebra::Library& library,
                           const enumerate::Profile& profile)
    : vocabulary_(vocabulary),
      max_elements_(profile.max_elements),
      context_(profile.values, library.functions(), profile.seed ^ equality_test_stream),
      executor_(context_.seed, profile.max_elements, execute::available_instruction_sets().back(), profile.values) {}

ProgramCache::Key ProgramCache::key(const CandidateGraph& graph, const GraphNode& node) {
  // Zero is a fixed point of mix, so that 1 is added to every component.
  Key key{(std::uint64_t{node.instance} + 1) << 8 | node.arguments.size(), node.sizes.size() + 1};
  for (const GraphTerm argument : node.arguments) key.types = execute::mix(key.types) + graph.type(argument) + 1;
  for (const std::int64_t size : node.sizes) key.sizes = execute::mix(key.sizes) + static_cast<std::uint64_t>(size) + 1;
  return key;
}

const execute::TypedProgram& ProgramCache::get(const Key& key, const CandidateGraph& graph, const GraphNode& node) {
  const std::scoped_lock lock(mutex_);
  auto& entry = programs_[key];
  if (!entry) {
    std::vector<enumerate::Dims> shapes;
    for (const GraphTerm argument : node.arguments) shapes.push_back(vocabulary_.types[graph.type(argument)]);
    entry = std::make_unique<execute::TypedProgram>(execute::compile_node(
        *vocabulary_.instances[node.instance], shapes,
        std::span<const std::int64_t>(node.sizes.begin(), node.sizes.end()), context_, max_elements_));
  }
  return *entry;
}

const execute::TypedProgram& EqualityTest::program_of(const CandidateGraph& graph, const GraphNode& node) {
  const ProgramCache::Key key = ProgramCache::key(graph, node);
  const auto [found, added] = local_programs_.try_emplace(key, nullptr);
  if (added) found->second = &programs_.get(key, graph, node);
  return *found->second;
}

std::uint32_t EqualityTest::elements(std::uint16_t type) const {
  return static_cast<std::uint32_t>(enumerate::element_count(programs_.vocabulary().types[type])) *
         execute::points_per_element(programs_.executor().domain());
}

const FieldPair* EqualityTest::values_of_leaf(std::size_t leaf, std::uint16_t type) {
  if (leaf_blocks_.size() <= leaf) leaf_blocks_.resize(leaf + 1);
  std::vector<FieldPair>& block = leaf_blocks_[leaf][type];
  if (block.empty()) {
    block.resize(std::size_t{elements(type)} * block_width);
    const std::uint64_t variable = programs_.seed() + leaf;
    for (std::uint32_t i = 0; i < block.size(); ++i)
      block[i] = over_field() ? execute::random_pair(variable, i)
                              : execute::random_value(algebra::Domain::Reals,
                                                      execute::random_word(variable, i % block_width), i / block_width);
  }
  return block.data();
}

bool EqualityTest::passes(const CandidateGraph& graph) {
  for (std::size_t i = 0; i < graph.source.size(); ++i) {
    if (graph.type(graph.source[i]) != graph.type(graph.target[i])) return false;
  }
  for (std::size_t l = 0; l < graph.leaves.size(); ++l) leaf_values_[l] = values_of_leaf(l, graph.leaves[l]);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) node_programs_[n] = &program_of(graph, graph.nodes[n]);
  if (over_field() && !some_elements_agree(graph)) return false;
  return cache_.is_step(cache_.key(graph)) || all_elements_agree(graph);
}

bool EqualityTest::some_elements_agree(const CandidateGraph& graph) {
  ++round_;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& steps = node_programs_[n]->program.steps;
    auto& [values, computed] = node_values_[n];
    if (values.size() < steps.size()) {
      values.resize(steps.size());
      computed.resize(steps.size());
    }
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (values[s].size() >= steps[s].elements) continue;
      values[s].resize(steps[s].elements);
      computed[s].resize(steps[s].elements, 0);
    }
  }
  for (std::size_t i = 0; i < graph.source.size(); ++i) {
    const std::uint32_t count = elements(graph.type(graph.source[i]));
    for (std::uint32_t sample = 0; sample < std::min(sampled_elements, count); ++sample) {
      const auto e = static_cast<std::uint32_t>(execute::random_word(programs_.seed(), sample) % count);
      if (element(graph, graph.source[i], e) != element(graph, graph.target[i], e)) return false;
    }
  }
  return true;
}

FieldPair EqualityTest::element(const CandidateGraph& graph, GraphTerm term, std::uint32_t e) {
  if (term.is_leaf) return leaf_values_[term.index][std::size_t{e} * block_width];
  return operand_element(graph, term.index, node_programs_[term.index]->program.outputs[term.output], e);
}

FieldPair EqualityTest::operand_element(const CandidateGraph& graph, std::uint8_t node, std::uint32_t operand,
                                        std::uint32_t e) {
  const execute::Program& program = node_programs_[node]->program;
  if (operand < program.inputs) return element(graph, graph.nodes[node].arguments[operand], e);
  if (operand == program.coefficient_operand) return program.coefficients[std::size_t{e} * block_width];
  const std::uint32_t s = operand - program.inputs;
  FieldPair& value = node_values_[node].values[s][e];
  std::uint32_t& computed = node_values_[node].computed[s][e];
  if (computed == round_) return value;

  const ProgramStep& step = program.steps[s];
  const auto factor = [&](std::uint32_t packed) {
    return operand_element(graph, node, packed >> execute::operand_shift, packed & execute::element_mask);
  };
  const std::uint32_t begin = program.rows[step.first_row + e], end = program.rows[step.first_row + e + 1];
  std::uint64_t a = 0, b = 0;
  std::array<SingleLane, execute::max_terms_per_row> row;
  const bool collects = step.kind == ProgramStep::Kind::Max || step.kind == ProgramStep::Kind::Apply;
  for (std::uint32_t t = begin; t < end; ++t) {
    FieldPair left = factor(program.factors[t].left);
    const bool plain = step.kind == ProgramStep::Kind::Copy || step.kind == ProgramStep::Kind::Sum;
    const FieldPair right = plain ? execute::pair_of(1, 1) : factor(program.factors[t].right);
    if (step.kind == ProgramStep::Kind::Scaled)
      left = execute::multiply_pairs(SingleLane{left},
                                     SingleLane{program.coefficients[std::size_t{program.scales[t]} * block_width]})
                 .v;
    const FieldPair product = plain ? left : execute::multiply_pairs(SingleLane{left}, SingleLane{right}).v;
    if (collects) row[t - begin] = {product};
    a += product & execute::lane_mask;
    b += product >> 32;
  }
  const execute::FunctionKey* functions = program.functions.data() + step.first_function;
  SingleLane result{execute::pair_of(execute::reduce(a), execute::reduce(b))};
  std::uint32_t next = 0;
  const auto term = [&](std::uint32_t i) { return row[i]; };
  if (step.kind == ProgramStep::Kind::Max) result = execute::apply_max<SingleLane>(program.max_key, end - begin, term);
  if (step.kind == ProgramStep::Kind::Apply) {
    result = end - begin == 1 ? execute::apply_unary(functions[0], row[0])
                              : execute::apply_many<SingleLane>(functions[0], end - begin, term);
    next = 1;
  }
  for (; next < step.function_count; ++next) result = execute::apply_unary(functions[next], result);
  value = result.v;
  computed = round_;
  return result.v;
}

bool EqualityTest::all_elements_agree(const CandidateGraph& graph) {
  struct Value {
    const FieldPair* block = nullptr;
    std::array<Fingerprint, block_width> hash;
  };
  const execute::Executor& executor = programs_.executor();
  std::array<std::array<Value, max_graph_outputs>, max_graph_nodes> nodes;
  std::array<Fingerprint, max_graph_outputs * block_width> hashes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const execute::TypedProgram& signature = *node_programs_[n];
    const execute::Program& program = signature.program;
    RM_CHECK(program.outputs.size() <= max_graph_outputs, "a node has more outputs than a candidate can hold");
    std::array<const FieldPair*, execute::max_inputs> inputs{};
    for (std::size_t i = 0; i < graph.nodes[n].arguments.size(); ++i) {
      const GraphTerm t = graph.nodes[n].arguments[i];
      inputs[i] = t.is_leaf ? leaf_values_[t.index] : nodes[t.index][t.output].block;
    }
    if (const std::size_t pairs = Executor::scratch_pairs(program); scratch_[n].size() < pairs)
      scratch_[n].resize(pairs);
    executor.run(program, inputs.data(), scratch_[n].data(), signature.type_keys, hashes.data());
    for (std::uint32_t o = 0; o < program.outputs.size(); ++o) {
      nodes[n][o].block = Executor::output(program, inputs.data(), scratch_[n].data(), o);
      std::copy_n(hashes.begin() + o * block_width, block_width, nodes[n][o].hash.begin());
    }
  }
  const auto hash = [&](GraphTerm t) {
    if (!t.is_leaf) return nodes[t.index][t.output].hash;
    std::array<Fingerprint, block_width> lanes;
    const std::uint16_t type = graph.leaves[t.index];
    executor.hash(leaf_values_[t.index], elements(type),
                  execute::type_key(programs_.vocabulary().types[type], programs_.seed()), lanes.data());
    return lanes;
  };
  for (std::size_t i = 0; i < graph.source.size(); ++i) {
    if (hash(graph.source[i]) != hash(graph.target[i])) return false;
  }
  return true;
}

namespace {

constexpr std::size_t max_uses = 8;

/// A use of a term: an argument of a node, or an output of a side.
struct Use {
  enum class Kind : std::uint8_t { Argument, Source, Target };
  Kind kind = Kind::Argument;
  std::uint8_t node = 0;
  std::uint8_t index = 0;
};

using Uses = BoundedList<Use, max_graph_nodes * enumerate::max_arity + 2 * max_graph_outputs>;

Uses uses_of(const CandidateGraph& graph, GraphTerm term) {
  Uses uses;
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::uint8_t a = 0; a < graph.nodes[n].arguments.size(); ++a) {
      if (graph.nodes[n].arguments[a] == term) uses.push_back({Use::Kind::Argument, n, a});
    }
  }
  for (std::uint8_t i = 0; i < graph.source.size(); ++i) {
    if (graph.source[i] == term) uses.push_back({Use::Kind::Source, 0, i});
  }
  for (std::uint8_t i = 0; i < graph.target.size(); ++i) {
    if (graph.target[i] == term) uses.push_back({Use::Kind::Target, 0, i});
  }
  return uses;
}

void replace(CandidateGraph& graph, const Use& use, GraphTerm term) {
  switch (use.kind) {
    case Use::Kind::Argument:
      graph.nodes[use.node].arguments[use.index] = term;
      break;
    case Use::Kind::Source:
      graph.source[use.index] = term;
      break;
    case Use::Kind::Target:
      graph.target[use.index] = term;
      break;
  }
}

GraphTerm add_leaf(CandidateGraph& graph, std::uint16_t type) {
  graph.leaves.push_back(type);
  return {true, 0, static_cast<std::uint8_t>(graph.leaves.size() - 1)};
}

bool is_output(const GraphSide& side, GraphTerm term) {
  return std::find(side.begin(), side.end(), term) != side.end();
}

/// Replaces the largest possible subterm, on one side or both, by a variable.
bool replace_subterm(CandidateGraph& graph, EqualityTest& test) {
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    for (std::uint8_t o = 0; o < graph.nodes[n].types.size(); ++o) {
      const GraphTerm term{false, o, static_cast<std::uint8_t>(n)};
      // A whole side may become a variable only if the other side contains it.
      if (graph.source.size() == 1 && is_output(graph.source, term) != is_output(graph.target, term)) {
        const std::uint32_t other =
            is_output(graph.source, term) ? graph.nodes_below(graph.target) : graph.nodes_below(graph.source);
        if (!(other >> n & 1)) continue;
      }
      const auto uses = uses_of(graph, term);
      if (uses.empty()) continue;
      CandidateGraph changed = graph;
      const GraphTerm leaf = add_leaf(changed, graph.type(term));
      for (const Use& use : uses) replace(changed, use, leaf);
      changed.normalize();
      if (!test.passes(changed)) continue;
      graph = changed;
      return true;
    }
  }
  return false;
}

/// Returns the number of nodes of both sides as trees. Counts up to `limit` per node.
std::size_t tree_size(const CandidateGraph& graph, std::size_t limit) {
  std::size_t total = 0;
  std::array<std::size_t, max_graph_nodes> size{};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    size[n] = 1;
    for (const GraphTerm t : graph.nodes[n].arguments) size[n] += t.is_leaf ? 0 : size[t.index];
    size[n] = std::min(size[n], limit + 1);
  }
  for (const GraphSide* side : {&graph.source, &graph.target}) {
    for (const GraphTerm t : *side) total += t.is_leaf ? 0 : size[t.index];
  }
  return total;
}

/// Returns the graph with both sides as trees: every node has one use.
CandidateGraph expand_to_trees(const CandidateGraph& graph) {
  CandidateGraph made;
  made.leaves = graph.leaves;
  const auto copy = [&](const auto& self, GraphTerm t) -> GraphTerm {
    if (t.is_leaf) return t;
    GraphNode node = graph.nodes[t.index];
    for (GraphTerm& argument : node.arguments) argument = self(self, argument);
    made.nodes.push_back(node);
    return {false, t.output, static_cast<std::uint8_t>(made.nodes.size() - 1)};
  };
  for (const GraphTerm t : graph.source) made.source.push_back(copy(copy, t));
  for (const GraphTerm t : graph.target) made.target.push_back(copy(copy, t));
  return made;
}

/// Splits a variable with several uses into two variables.
bool split_variable(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops) {
  const CandidateGraph tree = tree_size(graph, max_graph_nodes) <= max_graph_nodes ? expand_to_trees(graph) : graph;
  for (std::uint8_t l = 0; l < tree.leaves.size(); ++l) {
    const GraphTerm term{true, 0, l};
    const auto uses = uses_of(tree, term);
    if (uses.size() < 2 || uses.size() > max_uses) continue;
    // The first use keeps the variable; a non-empty subset of the others gets a new one.
    for (std::size_t chosen = 1; chosen < std::size_t{1} << (uses.size() - 1); ++chosen) {
      CandidateGraph changed = tree;
      const GraphTerm leaf = add_leaf(changed, tree.type(term));
      for (std::size_t i = 1; i < uses.size(); ++i) {
        if (chosen >> (i - 1) & 1) replace(changed, uses[i], leaf);
      }
      changed.normalize();
      if (changed.size(changed.source) > max_ops || changed.size(changed.target) > max_ops) continue;
      if (!test.passes(changed)) continue;
      graph = changed;
      return true;
    }
  }
  return false;
}

}  // namespace

bool generalize_once(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops) {
  return replace_subterm(graph, test) || split_variable(graph, test, max_ops);
}

}  // namespace rulemill::dedup
