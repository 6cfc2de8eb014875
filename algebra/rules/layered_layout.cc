#include "algebra/rules/layered_layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rulemill::algebra {
namespace {

constexpr int sweep_count = 7;         // odd: the last sweep goes up, where the order of arguments counts
constexpr double argument_pull = 0.4;  // in positions; small: keeps arguments in order if all else is equal
constexpr int bend_width = 2;

class Layers {
 public:
  Layers(std::span<const LayeredNode> nodes, std::span<const LayeredEdge> edges, int gap)
      : nodes_(nodes.begin(), nodes.end()), edges_(edges.begin(), edges.end()), gap_(gap) {
    connect();
    assign_rows();
    split_long_edges();
    connect();
    fill_rows();
    order_rows();
    place();
  }

  /// The positions of the given nodes, and the bends of the given edges.
  LayeredPositions positions() {
    for (const auto& chain : bends_) {
      std::vector<int>& bends = positions_.bends.emplace_back();
      for (const std::size_t bend : chain) bends.push_back(positions_.x[bend]);
    }
    const std::size_t given = nodes_.size() - bend_count_;
    positions_.x.resize(given);
    positions_.row.resize(given);
    return std::move(positions_);
  }

 private:
  void connect() {
    above_.assign(nodes_.size(), {});
    below_.assign(nodes_.size(), {});
    for (const LayeredEdge& edge : edges_) {
      above_[edge.to].push_back(edge.from);
      below_[edge.from].push_back(edge.to);
    }
  }

  /// Places a node one row below its lowest argument; a node without arguments just above its first user.
  void assign_rows() {
    std::vector<int> rows(nodes_.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (const LayeredEdge& edge : edges_) {
        if (rows[edge.to] > rows[edge.from]) continue;
        rows[edge.to] = rows[edge.from] + 1;
        changed = true;
      }
    }
    const int last = *std::ranges::max_element(rows);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      if (nodes_[n].in_last_row) rows[n] = last;
      if (!above_[n].empty() || nodes_[n].in_last_row) continue;
      int first = last;
      for (const std::size_t user : below_[n]) first = std::min(first, rows[user]);
      rows[n] = std::max(0, first - 1);
    }
    positions_.row = std::move(rows);
    positions_.rows = last + 1;
  }

  /// Replaces each edge over several rows by a chain through a narrow node, a bend, in each row between its ends. The
  /// last part of the chain takes the place of the edge, which keeps the order of arguments.
  void split_long_edges() {
    const std::size_t given = edges_.size();
    for (std::size_t e = 0; e < given; ++e) {
      std::vector<std::size_t>& chain = bends_.emplace_back();
      for (int row = positions_.row[edges_[e].from] + 1; row < positions_.row[edges_[e].to]; ++row) {
        chain.push_back(nodes_.size());
        edges_.push_back({edges_[e].from, nodes_.size()});
        edges_[e].from = nodes_.size();
        nodes_.push_back({bend_width, false});
        positions_.row.push_back(row);
        ++bend_count_;
      }
    }
  }

  void fill_rows() {
    positions_.x.resize(nodes_.size());
    rows_.resize(static_cast<std::size_t>(positions_.rows));
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      rows_[static_cast<std::size_t>(positions_.row[n])].push_back(n);
    }
  }

  /// Sorts rows by the mean position of neighbours, alternating downward and upward sweeps, to reduce edge crossings.
  void order_rows() {
    std::vector<double> position(nodes_.size(), 0);
    const auto renumber = [&](const std::vector<std::size_t>& nodes) {
      for (std::size_t i = 0; i < nodes.size(); ++i)
        position[nodes[i]] = static_cast<double>(i) - static_cast<double>(nodes.size() - 1) / 2;
    };
    for (const auto& nodes : rows_) renumber(nodes);
    for (int sweep = 0; sweep < sweep_count; ++sweep) {
      const bool down = sweep % 2 == 1;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        std::vector<std::size_t>& nodes = rows_[down ? i : rows_.size() - 1 - i];
        const auto mean_position = [&](std::size_t n) {
          const auto& neighbours = down ? above_[n] : below_[n];
          if (neighbours.empty()) return position[n];
          double sum = 0;
          for (const std::size_t other : neighbours)
            sum += position[other] + (down ? 0 : argument_pull * argument_offset(n, other));
          return sum / static_cast<double>(neighbours.size());
        };
        std::map<std::size_t, double> desired;
        for (const std::size_t n : nodes) desired[n] = mean_position(n);
        std::ranges::stable_sort(nodes, {}, [&](std::size_t n) { return desired.at(n); });
        renumber(nodes);
      }
    }
  }

  /// The position of the node among the arguments of `user`, relative to their middle.
  double argument_offset(std::size_t n, std::size_t user) const {
    const auto& arguments = above_[user];
    return static_cast<double>(std::ranges::find(arguments, n) - arguments.begin()) -
           static_cast<double>(arguments.size() - 1) / 2;
  }

  /// Packs the rows, then moves each node towards its neighbours as far as adjacent nodes allow.
  void place() {
    for (const auto& line : rows_) {
      int x = 0;
      for (const std::size_t n : line) {
        positions_.x[n] = x + nodes_[n].width / 2;
        x += nodes_[n].width + gap_;
      }
      for (const std::size_t n : line) positions_.x[n] -= x / 2;
    }
    for (int sweep = 0; sweep < 4 * sweep_count; ++sweep) {
      for (const auto& line : rows_) {
        for (std::size_t i = 0; i < line.size(); ++i)
          move_towards_neighbours(line, sweep % 2 == 0 ? i : line.size() - 1 - i);
      }
    }
    int left = 1 << 30, right = -(1 << 30);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      left = std::min(left, positions_.x[n] - nodes_[n].width / 2);
      right = std::max(right, positions_.x[n] + nodes_[n].width / 2);
    }
    for (int& x : positions_.x) x -= left;
    positions_.width = right - left;
  }

  void move_towards_neighbours(const std::vector<std::size_t>& line, std::size_t i) {
    const std::size_t node = line[i];
    int sum = 0, count = 0;
    for (const auto* neighbours : {&above_[node], &below_[node]}) {
      for (const std::size_t other : *neighbours) {
        sum += positions_.x[other];
        ++count;
      }
    }
    if (count == 0) return;
    int desired = sum / count;
    const auto distance = [&](std::size_t other) { return (nodes_[node].width + nodes_[other].width) / 2 + gap_; };
    const auto min_position = [&] { return positions_.x[line[i - 1]] + distance(line[i - 1]); };
    if (i > 0) desired = std::max(desired, min_position());
    if (i + 1 < line.size()) desired = std::min(desired, positions_.x[line[i + 1]] - distance(line[i + 1]));
    if (i == 0 || desired >= min_position()) positions_.x[node] = desired;
  }

  std::vector<LayeredNode> nodes_;               // those given, then bends
  std::vector<LayeredEdge> edges_;               // those given, or the last part of their chains; then the other parts
  std::vector<std::vector<std::size_t>> bends_;  // of each given edge, downward
  std::size_t bend_count_ = 0;
  int gap_;
  LayeredPositions positions_;
  std::vector<std::vector<std::size_t>> above_, below_, rows_;
};

}  // namespace

LayeredPositions layout_in_layers(std::span<const LayeredNode> nodes, std::span<const LayeredEdge> edges, int gap) {
  if (nodes.empty()) return {};
  return Layers(nodes, edges, gap).positions();
}

}  // namespace rulemill::algebra
