// Extraction of the cheapest graph of an e-graph by integer programming (CBC); shared nodes count once:
//
//   min Σ cost(n) x(n)   over x(n) ∈ {0, 1} and levels t(c) ≥ 0
//   Σ x(n) ≥ 1           n in a root's class
//   x(n) ≤ Σ x(m)        m in the class of an argument of n
//   t(c) ≥ t(a) + 1      if x(n) = 1, c a class of n's outputs, a that of an argument: no cycles
//
// A node with several outputs has one x. Levels are needed within strongly connected classes only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "egraph/egraph.h"

namespace rulemill::optimize {

struct IlpLimits {
  std::size_t nodes = 0;  // of the e-graph; 0: never solve
  int branches = 500;     // of branch and bound
};

struct IlpProblem {
  const egraph::EGraph& egraph;
  std::span<const double> seconds;                      // by node
  std::function<bool(egraph::EClassId)> needs_no_node;  // true for variables and constants
  std::span<const egraph::EClassId> roots;
};

/// Returns nodes that contain, without cycles, one of each root's class and of each class of their arguments; nullopt
/// beyond the limits.
std::optional<std::vector<egraph::ENodeId>> solve_extraction_ilp(const IlpProblem& problem, const IlpLimits& limits);

}  // namespace rulemill::optimize
