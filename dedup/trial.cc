#include "dedup/trial.h"

#include <algorithm>
#include <array>

#include "algebra/plan.h"
#include "runtime/error.h"

namespace rulemill::dedup {

using fingerprint::block_width;
using fingerprint::Fingerprint;
using fingerprint::Pair;

namespace {

constexpr std::uint64_t trial_stream = 0x747269616c732121u;
constexpr std::size_t most_places = 8;

/// One place where a term is used: an argument of a node, or an output of a side.
struct Place {
  std::uint16_t node = 0;
  std::uint16_t argument = 0;
  std::uint8_t side = 2;  // 0 source, 1 target, 2 a node's argument
};

std::vector<Place> places_of(const CandidateGraph& graph, GraphTerm term) {
  std::vector<Place> places;
  for (std::uint16_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::uint16_t a = 0; a < graph.nodes[n].arguments.size(); ++a) {
      if (graph.nodes[n].arguments[a] == term) places.push_back({n, a, 2});
    }
  }
  for (std::uint8_t side = 0; side < 2; ++side) {
    const auto& terms = side == 0 ? graph.source : graph.target;
    for (std::uint16_t i = 0; i < terms.size(); ++i) {
      if (terms[i] == term) places.push_back({0, i, side});
    }
  }
  return places;
}

void put(CandidateGraph& graph, const Place& place, GraphTerm term) {
  if (place.side == 2) graph.nodes[place.node].arguments[place.argument] = term;
  else (place.side == 0 ? graph.source : graph.target)[place.argument] = term;
}

GraphTerm fresh_leaf(CandidateGraph& graph, std::uint16_t type) {
  graph.leaves.push_back({type, 0, no_id});
  return {true, 0, static_cast<std::uint16_t>(graph.leaves.size() - 1)};
}

bool replace_shared(CandidateGraph& graph, const Trial& trial) {
  const std::vector<bool> source = graph.below(graph.source), target = graph.below(graph.target);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {  // users first: the larger subterms
    if (!source[n] || !target[n]) continue;
    for (std::uint8_t o = 0; o < graph.nodes[n].types.size(); ++o) {
      const GraphTerm term{false, o, static_cast<std::uint16_t>(n)};
      const std::vector<Place> places = places_of(graph, term);
      if (places.empty()) continue;
      CandidateGraph changed = graph;
      const GraphTerm leaf = fresh_leaf(changed, graph.type(term));
      for (const Place& place : places) put(changed, place, leaf);
      changed.clean();
      if (!trial.holds(changed)) continue;
      graph = std::move(changed);
      return true;
    }
  }
  return false;
}

/// The graph with every node used once: its sides as trees.
CandidateGraph unshared(const CandidateGraph& graph) {
  CandidateGraph made;
  made.leaves = graph.leaves;
  const auto copy = [&](const auto& self, GraphTerm t) -> GraphTerm {
    if (t.is_leaf) return t;
    GraphNode node = graph.nodes[t.index];
    for (GraphTerm& argument : node.arguments) argument = self(self, argument);
    made.nodes.push_back(std::move(node));
    return {false, t.output, static_cast<std::uint16_t>(made.nodes.size() - 1)};
  };
  for (const GraphTerm t : graph.source) made.source.push_back(copy(copy, t));
  for (const GraphTerm t : graph.target) made.target.push_back(copy(copy, t));
  return made;
}

bool split_variable(CandidateGraph& shared, const Trial& trial, std::size_t max_ops) {
  CandidateGraph graph = unshared(shared);
  const auto too_many = [&](const CandidateGraph& g) {
    return g.size(g.source) > max_ops || g.size(g.target) > max_ops;
  };
  for (std::uint16_t l = 0; l < graph.leaves.size(); ++l) {
    const GraphTerm term{true, 0, l};
    std::vector<Place> places = places_of(graph, term);
    if (places.size() < 2 || places.size() > most_places) continue;
    // The first place keeps the variable; any non-empty set of the others gets a new one.
    for (std::size_t chosen = 1; chosen < std::size_t{1} << (places.size() - 1); ++chosen) {
      CandidateGraph changed = graph;
      const GraphTerm leaf = fresh_leaf(changed, graph.type(term));
      for (std::size_t i = 1; i < places.size(); ++i) {
        if (chosen >> (i - 1) & 1) put(changed, places[i], leaf);
      }
      changed.clean();
      if (too_many(changed) || !trial.holds(changed)) continue;
      shared = std::move(changed);
      return true;
    }
  }
  return false;
}

}  // namespace

Trial::Trial(const Vocabulary& words, const algebra::Library& library, std::uint64_t seed, std::size_t max_elements)
    : words_(words), library_(library), seed_(seed ^ trial_stream), executor_(seed_, max_elements),
      functions_(fingerprint::function_keys(library, seed_)) {}

const fingerprint::CompiledSignature& Trial::compiled(const CandidateGraph& graph, const GraphNode& node) const {
  Key key{node.instance};
  std::vector<enumerate::Dims> shapes;
  for (const GraphTerm argument : node.arguments) {
    key.push_back(graph.type(argument));
    shapes.push_back(words_.types[graph.type(argument)]);
  }
  key.insert(key.end(), node.sizes.begin(), node.sizes.end());
  const std::scoped_lock lock(mutex_);
  auto& entry = programs_[key];
  if (!entry) {
    const auto plan = algebra::compile(library_, *words_.instances[node.instance], shapes, node.sizes);
    RM_CHECK(plan.has_value(), "a candidate's node types");
    entry = std::make_unique<fingerprint::CompiledSignature>();
    entry->program = fingerprint::make_program(*plan, functions_, seed_);
    for (const auto& shape : plan->output_shapes) entry->type_keys.push_back(fingerprint::type_key(shape, seed_));
  }
  return *entry;
}

bool Trial::holds(const CandidateGraph& graph) const {
  for (std::size_t i = 0; i < graph.source.size(); ++i) {
    if (graph.type(graph.source[i]) != graph.type(graph.target[i])) return false;
  }
  struct Value {
    const Pair* block = nullptr;
    std::array<Fingerprint, block_width> hash;
  };
  std::vector<std::vector<Pair>> storage;
  std::vector<Value> leaves(graph.leaves.size());
  std::vector<std::vector<Value>> nodes(graph.nodes.size());
  storage.reserve(graph.leaves.size() + graph.nodes.size());
  for (std::size_t l = 0; l < graph.leaves.size(); ++l) {
    const enumerate::Dims& shape = words_.types[graph.leaves[l].type];
    const auto elements = static_cast<std::uint32_t>(enumerate::element_count(shape));
    auto& block = storage.emplace_back(std::size_t{elements} * block_width);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = fingerprint::random_pair(seed_ + l, i);
    leaves[l].block = block.data();
    executor_.hash(block.data(), elements, fingerprint::type_key(shape, seed_), leaves[l].hash.data());
  }
  const auto value = [&](GraphTerm t) -> const Value& { return t.is_leaf ? leaves[t.index] : nodes[t.index][t.output]; };
  std::vector<Fingerprint> hashes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& signature = compiled(graph, graph.nodes[n]);
    const auto& program = signature.program;
    std::array<const Pair*, enumerate::max_arity> inputs{};
    for (std::size_t i = 0; i < graph.nodes[n].arguments.size(); ++i) inputs[i] = value(graph.nodes[n].arguments[i]).block;
    auto& scratch = storage.emplace_back(fingerprint::Executor::scratch_pairs(program));
    hashes.resize(program.outputs.size() * block_width);
    executor_.run(program, inputs.data(), scratch.data(), signature.type_keys, hashes.data());
    for (std::uint32_t o = 0; o < program.outputs.size(); ++o) {
      Value& made = nodes[n].emplace_back();
      made.block = fingerprint::Executor::output(program, inputs.data(), scratch.data(), o);
      std::copy_n(hashes.begin() + o * block_width, block_width, made.hash.begin());
    }
  }
  for (std::size_t i = 0; i < graph.source.size(); ++i) {
    if (value(graph.source[i]).hash != value(graph.target[i]).hash) return false;
  }
  return true;
}

bool generalize(CandidateGraph& graph, const Trial& trial, std::size_t max_ops) {
  bool changed = false;
  while (replace_shared(graph, trial) || split_variable(graph, trial, max_ops)) changed = true;
  return changed;
}

}  // namespace rulemill::dedup
