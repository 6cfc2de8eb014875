#include "optimize/exact_extraction.h"

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

namespace rulemill::optimize {

using egraph::ENode;
using egraph::nothing;
using egraph::Value;

namespace {

constexpr double microseconds = 1e6;

/// Classes and nodes that the roots may need, numbered as they are met.
class Reached {
 public:
  Reached(const ExactProblem& problem, std::size_t most) : problem_(problem) {
    for (const Value root : problem.roots) open(root);
    for (std::size_t next = 0; next < classes.size() && nodes.size() <= most; ++next) expand(next);
    too_many = nodes.size() > most;
    if (!too_many) find_components();
  }

  /// A class's number; nothing for what is given.
  std::optional<std::size_t> number(Value value) const {
    const auto found = numbers_.find(problem_.egraph.find(value));
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<Value> classes;
  std::vector<std::vector<int>> members;  // by class: numbers of nodes
  std::vector<ENode> nodes;
  std::vector<std::vector<std::size_t>> arguments, outputs;  // by node: numbers of classes
  std::vector<std::size_t> component;                        // by class
  bool too_many = false;

 private:
  void open(Value value) {
    const Value at = problem_.egraph.find(value);
    if (problem_.given(at) || !numbers_.emplace(at, classes.size()).second) return;
    classes.push_back(at);
    members.emplace_back();
  }

  void expand(std::size_t number) {
    Value value = classes[number];
    do {
      if (const ENode node = problem_.egraph.node_of(value); node != nothing) add(node);
      value = problem_.egraph.next_in_class(value);
    } while (value != classes[number]);
  }

  void add(ENode node) {
    const egraph::EGraph& egraph = problem_.egraph;
    if (egraph.is_duplicate(node) || !std::isfinite(problem_.seconds[node])) return;
    if (!added_.emplace(node, true).second) return;
    const auto own = static_cast<int>(nodes.size());
    // Each class once, though a node may read it twice or give it by two outputs: a row that names a column twice
    // writes beyond the solver's memory.
    std::vector<std::size_t> needed, made;
    const auto add_to = [&](std::vector<std::size_t>& numbers, Value value) {
      open(value);
      const auto at = number(value);
      if (at && std::ranges::find(numbers, *at) == numbers.end()) numbers.push_back(*at);
    };
    for (std::uint32_t o = 0; o < egraph.output_count(node); ++o) add_to(made, egraph.output(node, o));
    for (const Value argument : egraph.arguments(node)) add_to(needed, argument);
    const auto rests_on_itself = [&](std::size_t at) { return std::ranges::find(made, at) != made.end(); };
    if (std::ranges::any_of(needed, rests_on_itself)) return;
    for (const std::size_t at : made) members[at].push_back(own);
    nodes.push_back(node);
    arguments.push_back(std::move(needed));
    outputs.push_back(std::move(made));
  }

  /// Tarjan's algorithm over classes, from a class to its nodes' arguments.
  void find_components() {
    component.assign(classes.size(), unknown);
    low_.assign(classes.size(), unknown);
    entered_.assign(classes.size(), unknown);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (entered_[c] == unknown) enter(c);
    }
  }

  void enter(std::size_t c) {
    entered_[c] = low_[c] = time_++;
    stack_.push_back(c);
    for (const int node : members[c]) {
      for (const std::size_t below : arguments[static_cast<std::size_t>(node)]) {
        if (entered_[below] == unknown) enter(below);
        if (component[below] == unknown) low_[c] = std::min(low_[c], low_[below]);
      }
    }
    if (low_[c] != entered_[c]) return;
    for (std::size_t top = unknown; top != c; stack_.pop_back()) component[top = stack_.back()] = c;
  }

  static constexpr std::size_t unknown = ~std::size_t{0};
  const ExactProblem& problem_;
  std::unordered_map<Value, std::size_t> numbers_;
  std::unordered_map<ENode, bool> added_;
  std::vector<std::size_t> low_, entered_, stack_;
  std::size_t time_ = 0;
};

/// Columns: a node each, then a place for each class.
class Program {
 public:
  Program(const Reached& reached, std::span<const double> seconds)
      : reached_(reached), model_(Cbc_newModel(), Cbc_deleteModel) {
    Cbc_setLogLevel(model_.get(), 0);
    const auto most = static_cast<double>(reached.classes.size());
    for (const ENode node : reached.nodes) add_column(1, seconds[node] * microseconds, true);
    for (std::size_t c = 0; c < reached.classes.size(); ++c) add_column(most, 0, false);
    for (std::size_t n = 0; n < reached.nodes.size(); ++n) {
      for (const std::size_t below : reached.arguments[n]) {
        need(below, static_cast<int>(n));
        for (const std::size_t above : reached.outputs[n]) order(n, above, below, most);
      }
    }
  }

  /// One node of the class at least; if `node` is chosen, where it is not -1.
  void need(std::size_t at, int node) {
    std::vector<int> columns = reached_.members[at];
    std::vector<double> factors(columns.size(), 1);
    if (node >= 0) {
      columns.push_back(node);
      factors.push_back(-1);
    }
    add_row(columns, factors, node < 0 ? 1 : 0);
  }

  std::optional<std::vector<ENode>> solve(int branches) {
    Cbc_setMaximumNodes(model_.get(), branches);
    Cbc_solve(model_.get());
    if (Cbc_isProvenOptimal(model_.get()) == 0) return std::nullopt;
    const double* solution = Cbc_getColSolution(model_.get());
    std::vector<ENode> chosen;
    for (std::size_t n = 0; n < reached_.nodes.size(); ++n) {
      if (solution[n] > 0.5) chosen.push_back(reached_.nodes[n]);
    }
    return chosen;
  }

 private:
  void add_column(double most, double cost, bool whole) {
    Cbc_addCol(model_.get(), "", 0, most, cost, whole ? 1 : 0, 0, nullptr, nullptr);
  }

  void add_row(const std::vector<int>& columns, const std::vector<double>& factors, double least) {
    Cbc_addRow(model_.get(), "", static_cast<int>(columns.size()), columns.data(), factors.data(), 'G', least);
  }

  /// t(above) - t(below) - (most + 1) x(n) >= -most
  void order(std::size_t n, std::size_t above, std::size_t below, double most) {
    if (reached_.component[above] != reached_.component[below]) return;
    const auto place = [&](std::size_t at) { return static_cast<int>(reached_.nodes.size() + at); };
    add_row({place(above), place(below), static_cast<int>(n)}, {1, -1, -(most + 1)}, -most);
  }

  const Reached& reached_;
  std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model_;
};

}  // namespace

std::optional<std::vector<ENode>> cheapest_nodes(const ExactProblem& problem, const ExactLimits& limits) {
  const Reached reached(problem, limits.nodes);
  if (reached.too_many) return std::nullopt;
  Program program(reached, problem.seconds);
  for (const Value root : problem.roots) {
    if (const auto at = reached.number(root)) program.need(*at, -1);
  }
  return program.solve(limits.branches);
}

}  // namespace rulemill::optimize
