#include "optimize/search/ilp_extraction.h"

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

namespace rulemill::optimize {

using egraph::EClassId;
using egraph::ENodeId;
using egraph::no_id;

namespace {

constexpr double microseconds = 1e6;

/// The classes and nodes that the roots can reach, numbered in the order of their discovery.
class ReachableNodes {
 public:
  ReachableNodes(const IlpProblem& problem, std::size_t max_nodes) : problem_(problem) {
    for (const EClassId root : problem.roots) add_class(root);
    for (std::size_t next = 0; next < classes.size() && nodes.size() <= max_nodes; ++next) expand(next);
    too_many = nodes.size() > max_nodes;
    if (!too_many) find_components();
  }

  /// Returns a class's number; nullopt for a class that needs no node.
  std::optional<std::size_t> number(EClassId value) const {
    const auto found = numbers_.find(problem_.egraph.find(value));
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<EClassId> classes;
  std::vector<std::vector<int>> members;  // by class: numbers of nodes
  std::vector<ENodeId> nodes;
  std::vector<std::vector<std::size_t>> arguments, outputs;  // by node: numbers of classes
  std::vector<std::size_t> component;                        // by class
  bool too_many = false;

 private:
  void add_class(EClassId value) {
    const EClassId at = problem_.egraph.find(value);
    if (problem_.needs_no_node(at) || !numbers_.emplace(at, classes.size()).second) return;
    classes.push_back(at);
    members.emplace_back();
  }

  void expand(std::size_t number) {
    EClassId value = classes[number];
    do {
      if (const ENodeId node = problem_.egraph.node_of(value); node != no_id) add(node);
      value = problem_.egraph.next_in_class(value);
    } while (value != classes[number]);
  }

  void add(ENodeId node) {
    const egraph::EGraph& egraph = problem_.egraph;
    if (egraph.is_duplicate(node) || !std::isfinite(problem_.seconds[node])) return;
    if (!added_.emplace(node, true).second) return;
    const auto own = static_cast<int>(nodes.size());
    // Each class is listed once, even if it is that of two arguments or outputs: the solver writes beyond its memory
    // for a row that names a column twice.
    std::vector<std::size_t> needed, produced;
    const auto add_to = [&](std::vector<std::size_t>& numbers, EClassId value) {
      add_class(value);
      const auto at = number(value);
      if (at && std::ranges::find(numbers, *at) == numbers.end()) numbers.push_back(*at);
    };
    for (std::uint32_t o = 0; o < egraph.output_count(node); ++o) add_to(produced, egraph.output(node, o));
    for (const EClassId argument : egraph.arguments(node)) add_to(needed, argument);
    const auto is_own_output = [&](std::size_t at) { return std::ranges::find(produced, at) != produced.end(); };
    if (std::ranges::any_of(needed, is_own_output)) return;
    for (const std::size_t at : produced) members[at].push_back(own);
    nodes.push_back(node);
    arguments.push_back(std::move(needed));
    outputs.push_back(std::move(produced));
  }

  /// Tarjan's algorithm over classes, from a class to its nodes' arguments.
  void find_components() {
    component.assign(classes.size(), unvisited);
    low_.assign(classes.size(), unvisited);
    entered_.assign(classes.size(), unvisited);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (entered_[c] == unvisited) enter(c);
    }
  }

  void enter(std::size_t c) {
    entered_[c] = low_[c] = time_++;
    stack_.push_back(c);
    for (const int node : members[c]) {
      for (const std::size_t below : arguments[static_cast<std::size_t>(node)]) {
        if (entered_[below] == unvisited) enter(below);
        if (component[below] == unvisited) low_[c] = std::min(low_[c], low_[below]);
      }
    }
    if (low_[c] != entered_[c]) return;
    for (std::size_t top = unvisited; top != c; stack_.pop_back()) component[top = stack_.back()] = c;
  }

  static constexpr std::size_t unvisited = ~std::size_t{0};
  const IlpProblem& problem_;
  std::unordered_map<EClassId, std::size_t> numbers_;
  std::unordered_map<ENodeId, bool> added_;
  std::vector<std::size_t> low_, entered_, stack_;
  std::size_t time_ = 0;
};

/// The integer program. Its columns are x(n) of each node, then t(c) of each class.
class Program {
 public:
  Program(const ReachableNodes& reachable, std::span<const double> seconds)
      : reachable_(reachable), model_(Cbc_newModel(), Cbc_deleteModel) {
    Cbc_setLogLevel(model_.get(), 0);
    const auto max_level = static_cast<double>(reachable.classes.size());
    for (const ENodeId node : reachable.nodes) add_column(1, seconds[node] * microseconds, true);
    for (std::size_t c = 0; c < reachable.classes.size(); ++c) add_column(max_level, 0, false);
    for (std::size_t n = 0; n < reachable.nodes.size(); ++n) {
      for (const std::size_t below : reachable.arguments[n]) {
        require(below, static_cast<int>(n));
        for (const std::size_t above : reachable.outputs[n]) forbid_cycle(n, above, below, max_level);
      }
    }
  }

  /// Requires a node of the class: always if `node` is -1, otherwise if `node` is selected.
  void require(std::size_t at, int node) {
    std::vector<int> columns = reachable_.members[at];
    std::vector<double> factors(columns.size(), 1);
    if (node >= 0) {
      columns.push_back(node);
      factors.push_back(-1);
    }
    add_row(columns, factors, node < 0 ? 1 : 0);
  }

  std::optional<std::vector<ENodeId>> solve(int branches) {
    Cbc_setMaximumNodes(model_.get(), branches);
    Cbc_solve(model_.get());
    if (Cbc_isProvenOptimal(model_.get()) == 0) return std::nullopt;
    const double* solution = Cbc_getColSolution(model_.get());
    std::vector<ENodeId> selected;
    for (std::size_t n = 0; n < reachable_.nodes.size(); ++n) {
      if (solution[n] > 0.5) selected.push_back(reachable_.nodes[n]);
    }
    return selected;
  }

 private:
  void add_column(double upper, double cost, bool is_integer) {
    Cbc_addCol(model_.get(), "", 0, upper, cost, is_integer ? 1 : 0, 0, nullptr, nullptr);
  }

  void add_row(const std::vector<int>& columns, const std::vector<double>& factors, double lower) {
    Cbc_addRow(model_.get(), "", static_cast<int>(columns.size()), columns.data(), factors.data(), 'G', lower);
  }

  /// t(above) - t(below) - (max_level + 1) x(n) >= -max_level
  void forbid_cycle(std::size_t n, std::size_t above, std::size_t below, double max_level) {
    if (reachable_.component[above] != reachable_.component[below]) return;
    const auto level = [&](std::size_t at) { return static_cast<int>(reachable_.nodes.size() + at); };
    add_row({level(above), level(below), static_cast<int>(n)}, {1, -1, -(max_level + 1)}, -max_level);
  }

  const ReachableNodes& reachable_;
  std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model_;
};

}  // namespace

std::optional<std::vector<ENodeId>> solve_extraction_ilp(const IlpProblem& problem, const IlpLimits& limits) {
  const ReachableNodes reachable(problem, limits.nodes);
  if (reachable.too_many) return std::nullopt;
  Program program(reachable, problem.seconds);
  for (const EClassId root : problem.roots) {
    if (const auto at = reachable.number(root)) program.require(*at, -1);
  }
  return program.solve(limits.branches);
}

}  // namespace rulemill::optimize
