#include "optimize/gpu/plan/min_cut.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {
namespace {

/// A flow network; maximum flow by blocking flows (Dinic, 1970).
class FlowNetwork {
 public:
  explicit FlowNetwork(std::size_t nodes) : edges_from_(nodes) {}

  std::uint32_t add_node() {
    edges_from_.emplace_back();
    return static_cast<std::uint32_t>(edges_from_.size() - 1);
  }

  void add(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
    if (capacity == 0 || from == to) return;
    edges_from_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back({to, capacity});
    edges_from_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back({from, 0});
  }

  void maximize_flow(std::uint32_t source, std::uint32_t sink) {
    while (find_levels(source, sink)) {
      next_.assign(edges_from_.size(), 0);
      while (push(source, sink, std::numeric_limits<std::int64_t>::max()) > 0) {
      }
    }
  }

  /// Returns the nodes from which the sink is reachable in the residual network.
  std::vector<bool> nodes_reaching(std::uint32_t sink) const {
    std::vector<bool> seen(edges_from_.size(), false);
    std::deque<std::uint32_t> queue{sink};
    seen[sink] = true;
    while (!queue.empty()) {
      const std::uint32_t node = queue.front();
      queue.pop_front();
      for (const std::uint32_t edge : edges_from_[node]) {
        const std::uint32_t other = edges_[edge].to;
        if (seen[other] || edges_[edge ^ 1].residual == 0) continue;
        seen[other] = true;
        queue.push_back(other);
      }
    }
    return seen;
  }

 private:
  struct Edge {
    std::uint32_t to;
    std::int64_t residual;
  };

  bool find_levels(std::uint32_t source, std::uint32_t sink) {
    levels_.assign(edges_from_.size(), 0);
    levels_[source] = 1;
    std::deque<std::uint32_t> queue{source};
    while (!queue.empty()) {
      const std::uint32_t node = queue.front();
      queue.pop_front();
      for (const std::uint32_t edge : edges_from_[node]) {
        const auto& [to, residual] = edges_[edge];
        if (residual == 0 || levels_[to] != 0) continue;
        levels_[to] = levels_[node] + 1;
        queue.push_back(to);
      }
    }
    return levels_[sink] != 0;
  }

  std::int64_t push(std::uint32_t node, std::uint32_t sink, std::int64_t limit) {
    if (node == sink) return limit;
    for (std::size_t& i = next_[node]; i < edges_from_[node].size(); ++i) {
      const std::uint32_t edge = edges_from_[node][i];
      const auto [to, residual] = edges_[edge];
      if (residual == 0 || levels_[to] != levels_[node] + 1) continue;
      const std::int64_t pushed = push(to, sink, std::min(limit, residual));
      if (pushed == 0) continue;
      edges_[edge].residual -= pushed;
      edges_[edge ^ 1].residual += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<std::vector<std::uint32_t>> edges_from_;
  std::vector<Edge> edges_;  // edge i ^ 1 is the reverse of edge i
  std::vector<std::uint32_t> levels_;
  std::vector<std::size_t> next_;
};

}  // namespace

std::uint32_t BinaryLabeling::add_variable(std::int64_t cost0, std::int64_t cost1) {
  unary_.push_back({cost0, cost1});
  return static_cast<std::uint32_t>(unary_.size() - 1);
}

void BinaryLabeling::add_cost(std::uint32_t variable, std::int64_t amount) { unary_.at(variable)[1] += amount; }

void BinaryLabeling::add_pairwise_cost(std::uint32_t one, std::uint32_t other, const PairCosts& costs) {
  RM_CHECK(is_submodular(costs), "a pairwise cost must be submodular");
  pairwise_.push_back({one, other, costs});
}

void BinaryLabeling::add_shared_cost(std::uint32_t owner, std::vector<std::uint32_t> users, std::int64_t cost) {
  shared_.push_back({owner, std::move(users), cost});
}

/// Label 0 is the source's side. E(a, b) = t00 + (t10 − t00) a + (t11 − t10) b + (t01 + t10 − t00 − t11) [a = 0, b =
/// 1]. A shared cost adds two nodes: one that is 1 as soon as a user is 1, and one that is 0 as soon as a user is 0.
std::vector<bool> BinaryLabeling::minimize() const {
  const std::size_t count = unary_.size();
  FlowNetwork network(count + 2);
  const auto source = static_cast<std::uint32_t>(count), sink = source + 1;
  std::vector<std::int64_t> label_cost(count, 0);  // cost of label 1 minus cost of label 0
  for (std::size_t i = 0; i < count; ++i) label_cost[i] = unary_[i][1] - unary_[i][0];
  for (const auto& [one, other, t] : pairwise_) {
    label_cost[one] += t[1][0] - t[0][0];
    label_cost[other] += t[1][1] - t[1][0];
    network.add(one, other, t[0][1] + t[1][0] - t[0][0] - t[1][1]);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (label_cost[i] > 0) network.add(source, i, label_cost[i]);
    if (label_cost[i] < 0) network.add(i, sink, -label_cost[i]);
  }
  for (const auto& [owner, users, cost] : shared_) {
    const std::uint32_t any_one = network.add_node(), any_zero = network.add_node();
    for (const std::uint32_t user : users) {
      network.add(any_one, user, infinite_cost);
      network.add(user, any_zero, infinite_cost);
    }
    network.add(owner, any_one, cost);
    network.add(any_zero, owner, cost);
  }
  network.maximize_flow(source, sink);
  std::vector<bool> labels = network.nodes_reaching(sink);
  labels.resize(count);
  return labels;
}

std::int64_t BinaryLabeling::cost(const std::vector<bool>& labels) const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < unary_.size(); ++i) total += unary_[i][labels[i] ? 1 : 0];
  for (const auto& [one, other, costs] : pairwise_) total += costs[labels[one] ? 1 : 0][labels[other] ? 1 : 0];
  for (const auto& [owner, users, cost] : shared_) {
    const bool label = labels[owner];
    if (!std::ranges::all_of(users, [&](std::uint32_t user) { return labels[user] == label; })) total += cost;
  }
  return total;
}

}  // namespace rulemill::optimize::gpu
