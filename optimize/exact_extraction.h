// The cheapest graph of an e-graph by integer programming (CBC), sharing counted once:
//
//   min Σ cost(n) x(n)   over x(n) ∈ {0, 1} and places t(c) ≥ 0
//   Σ x(n) ≥ 1           n in a root's class
//   x(n) ≤ Σ x(m)        m in the class of an argument of n
//   t(c) ≥ t(a) + 1      if x(n) = 1, c a class of n's outputs, a that of an argument: no circles
//
// A node of several outputs has one x. Places are asked for within strongly connected classes alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "egraph/egraph.h"

namespace rulemill::optimize {

struct ExactLimits {
  std::size_t nodes = 0;  // of the problem; 0: no e-graph is small enough
  int branches = 500;     // of the search
};

struct ExactProblem {
  const egraph::EGraph& egraph;
  std::span<const double> seconds;           // by node, of itself
  std::function<bool(egraph::Value)> given;  // what needs no node: variables, constants
  std::span<const egraph::Value> roots;
};

/// Nodes of which each root and each argument of a chosen node, unless given, has one in its class, without circles;
/// nothing beyond the limits.
std::optional<std::vector<egraph::ENode>> cheapest_nodes(const ExactProblem& problem, const ExactLimits& limits);

}  // namespace rulemill::optimize
