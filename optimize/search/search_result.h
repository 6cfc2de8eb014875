// The results of a search: the cheapest graphs, each with the rewrites that lead to it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/model/graph.h"
#include "optimize/onnx/import.h"
#include "optimize/search/derivation.h"

namespace rulemill::optimize {

/// One rewrite on the path to a result.
struct RewriteStep {
  std::uint32_t rule = 0;  // index in the rule set
  bool reversed = false;
  double before = 0, after = 0;  // seconds, by the cost model
};

/// A window whose graph was replaced.
struct ReplacedWindow {
  std::shared_ptr<const Derivation> derivation;
  std::vector<ValueId> leaves;  // of the graph before
  DataType type = DataType::Float32;
};

/// One change of a whole graph.
struct GraphChange {
  std::vector<ReplacedWindow> windows;
  std::unordered_map<ValueId, ValueId> origins;  // by value of the new graph: the equal one of the graph before
};

struct Candidate {
  std::vector<ValueId> outputs;
  double seconds = 0;  // by the cost model
  std::vector<RewriteStep> steps;
  std::vector<std::shared_ptr<const GraphChange>> changes{};  // the steps by saturation, with what they rewrite
  bool widens = false;  // by a rule that only widens: it may have values where the model is undefined
};

/// A result of a search over the first model, and the second model, which was written from it, in one bank.
struct SearchedResult {
  GraphBank& bank;
  const ImportedModel &before, &after;
  algebra::TermBank& terms;  // of the rules
  const std::vector<algebra::RuleRecord>& rules;
  const GraphChange& named;  // the first change: constants that rules name
  const Candidate& result;
  const std::unordered_map<ValueId, std::string>& names;  // of its values in the second model
  bool is_cleaned = false;                                // `before` is the model after the clean-up
};

/// Saturations that ended at each limit.
struct LimitCounts {
  std::uint64_t iterations = 0, nodes = 0, matches = 0;

  LimitCounts& operator+=(const LimitCounts& other) {
    iterations += other.iterations;
    nodes += other.nodes;
    matches += other.matches;
    return *this;
  }
};

/// What searches have done.
struct SearchCounts {
  std::uint64_t graphs_created = 0;  // backtracking; including duplicates
  std::uint64_t graphs_extended = 0;
  std::uint64_t windows = 0, egraph_nodes = 0;         // saturation: regions solved, and the nodes of their e-graphs
  std::uint64_t extractions = 0, ilp_extractions = 0;  // graphs extracted, one by each saturation; and how many by ILP
  LimitCounts limits_reached;                          // saturation
  bool exhausted = false;                              // no limit was reached

  SearchCounts& operator+=(const SearchCounts& other) {
    graphs_created += other.graphs_created;
    graphs_extended += other.graphs_extended;
    windows += other.windows;
    egraph_nodes += other.egraph_nodes;
    extractions += other.extractions;
    ilp_extractions += other.ilp_extractions;
    limits_reached += other.limits_reached;
    exhausted = exhausted && other.exhausted;
    return *this;
  }
};

struct SearchResult : SearchCounts {
  std::vector<Candidate> best;  // cheapest first; the graph itself if nothing is cheaper
};

/// Returns true if ONNX can express the graph. Other graphs are intermediate steps only.
using IsExportable = std::function<bool(std::span<const ValueId>)>;

}  // namespace rulemill::optimize
