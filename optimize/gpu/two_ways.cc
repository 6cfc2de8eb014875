#include "optimize/gpu/two_ways.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "runtime/error.h"

namespace rulemill::optimize::gpu {

namespace {

/// A network whose largest flow is found by levels (Dinic, 1970).
class Network {
 public:
  explicit Network(std::size_t nodes) : leaving_(nodes) {}

  std::uint32_t add_node() {
    leaving_.emplace_back();
    return static_cast<std::uint32_t>(leaving_.size() - 1);
  }

  void add(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
    if (capacity == 0 || from == to) return;
    leaving_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back({to, capacity});
    leaving_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back({from, 0});
  }

  void fill(std::uint32_t source, std::uint32_t sink) {
    while (find_levels(source, sink)) {
      next_.assign(leaving_.size(), 0);
      while (push(source, sink, std::numeric_limits<std::int64_t>::max()) > 0) {
      }
    }
  }

  /// Nodes from which something could still flow to the sink.
  std::vector<bool> reaching(std::uint32_t sink) const {
    std::vector<bool> seen(leaving_.size(), false);
    std::deque<std::uint32_t> waiting{sink};
    seen[sink] = true;
    while (!waiting.empty()) {
      const std::uint32_t node = waiting.front();
      waiting.pop_front();
      for (const std::uint32_t edge : leaving_[node]) {
        const std::uint32_t other = edges_[edge].to;
        if (seen[other] || edges_[edge ^ 1].room == 0) continue;
        seen[other] = true;
        waiting.push_back(other);
      }
    }
    return seen;
  }

 private:
  struct Edge {
    std::uint32_t to;
    std::int64_t room;
  };

  bool find_levels(std::uint32_t source, std::uint32_t sink) {
    levels_.assign(leaving_.size(), 0);
    levels_[source] = 1;
    std::deque<std::uint32_t> waiting{source};
    while (!waiting.empty()) {
      const std::uint32_t node = waiting.front();
      waiting.pop_front();
      for (const std::uint32_t edge : leaving_[node]) {
        const auto& [to, room] = edges_[edge];
        if (room == 0 || levels_[to] != 0) continue;
        levels_[to] = levels_[node] + 1;
        waiting.push_back(to);
      }
    }
    return levels_[sink] != 0;
  }

  std::int64_t push(std::uint32_t node, std::uint32_t sink, std::int64_t most) {
    if (node == sink) return most;
    for (std::size_t& i = next_[node]; i < leaving_[node].size(); ++i) {
      const std::uint32_t edge = leaving_[node][i];
      const auto [to, room] = edges_[edge];
      if (room == 0 || levels_[to] != levels_[node] + 1) continue;
      const std::int64_t pushed = push(to, sink, std::min(most, room));
      if (pushed == 0) continue;
      edges_[edge].room -= pushed;
      edges_[edge ^ 1].room += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<std::vector<std::uint32_t>> leaving_;
  std::vector<Edge> edges_;  // each beside the one back
  std::vector<std::uint32_t> levels_;
  std::vector<std::size_t> next_;
};

}  // namespace

std::uint32_t TwoWays::add(std::int64_t first, std::int64_t second) {
  own_.push_back({first, second});
  return static_cast<std::uint32_t>(own_.size() - 1);
}

void TwoWays::prefer(std::uint32_t thing, std::int64_t more_for_second) { own_.at(thing)[1] += more_for_second; }

void TwoWays::both(std::uint32_t one, std::uint32_t other, const Table& table) {
  RM_CHECK(can_say(table), "a cut cannot say that things are better done differently");
  both_.push_back({one, other, table});
}

void TwoWays::unless_alike(std::uint32_t owner, std::vector<std::uint32_t> users, std::int64_t cost) {
  alike_.push_back({owner, std::move(users), cost});
}

/// First ways are on the source's side. E(a, b) = t00 + (t10 − t00) a + (t11 − t10) b + (t01 + t10 − t00 − t11) [a = 0,
/// b = 1]. Paid once: two nodes more, one that is second as soon as a user is, one that is first as soon as one is.
std::vector<bool> TwoWays::least() const {
  const std::size_t count = own_.size();
  Network network(count + 2);
  const auto source = static_cast<std::uint32_t>(count), sink = source + 1;
  std::vector<std::int64_t> second(count, 0);  // what the second way costs more
  for (std::size_t i = 0; i < count; ++i) second[i] = own_[i][1] - own_[i][0];
  for (const auto& [one, other, t] : both_) {
    second[one] += t[1][0] - t[0][0];
    second[other] += t[1][1] - t[1][0];
    network.add(one, other, t[0][1] + t[1][0] - t[0][0] - t[1][1]);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (second[i] > 0) network.add(source, i, second[i]);
    if (second[i] < 0) network.add(i, sink, -second[i]);
  }
  for (const auto& [owner, users, cost] : alike_) {
    const std::uint32_t any_second = network.add_node(), any_first = network.add_node();
    for (const std::uint32_t user : users) {
      network.add(any_second, user, never);
      network.add(user, any_first, never);
    }
    network.add(owner, any_second, cost);
    network.add(any_first, owner, cost);
  }
  network.fill(source, sink);
  std::vector<bool> chosen = network.reaching(sink);
  chosen.resize(count);
  return chosen;
}

std::int64_t TwoWays::cost(const std::vector<bool>& second) const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < own_.size(); ++i) total += own_[i][second[i] ? 1 : 0];
  for (const auto& [one, other, table] : both_) total += table[second[one] ? 1 : 0][second[other] ? 1 : 0];
  for (const auto& [owner, users, cost] : alike_) {
    const bool way = second[owner];
    if (!std::ranges::all_of(users, [&](std::uint32_t user) { return second[user] == way; })) total += cost;
  }
  return total;
}

}  // namespace rulemill::optimize::gpu
