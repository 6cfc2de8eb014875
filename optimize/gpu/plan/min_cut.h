// Minimum-cost labeling of binary variables with unary, pairwise and shared costs, by a minimum cut (Kolmogorov and
// Zabih, "What energy functions can be minimized via graph cuts?", 2004). The result is optimal.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rulemill::optimize::gpu {

/// Costs are integers, so that comparisons are exact.
class BinaryLabeling {
 public:
  using PairCosts = std::array<std::array<std::int64_t, 2>, 2>;  // [label of one variable][label of the other]

  /// Larger than the sum of all finite costs.
  static constexpr std::int64_t infinite_cost = std::int64_t{1} << 50;

  /// Adds a variable with the cost of each label; returns its number.
  std::uint32_t add_variable(std::int64_t cost0, std::int64_t cost1);
  /// Adds a cost to label 1; may be negative.
  void add_cost(std::uint32_t variable, std::int64_t amount);
  /// Whether a pairwise cost can be minimized by cuts: equal labels cost no more than different ones.
  static bool is_submodular(const PairCosts& costs) { return costs[0][0] + costs[1][1] <= costs[0][1] + costs[1][0]; }
  void add_pairwise_cost(std::uint32_t one, std::uint32_t other, const PairCosts& costs);
  /// Adds a cost that is paid once if any user's label differs from the owner's.
  void add_shared_cost(std::uint32_t owner, std::vector<std::uint32_t> users, std::int64_t cost);

  /// Returns the label of each variable; of labelings with minimum cost, the one with the fewest 1s.
  std::vector<bool> minimize() const;
  std::int64_t cost(const std::vector<bool>& labels) const;
  std::size_t size() const { return unary_.size(); }

 private:
  struct PairwiseTerm {
    std::uint32_t one, other;
    PairCosts costs;
  };
  struct SharedTerm {
    std::uint32_t owner;
    std::vector<std::uint32_t> users;
    std::int64_t cost;
  };
  std::vector<std::array<std::int64_t, 2>> unary_;
  std::vector<PairwiseTerm> pairwise_;
  std::vector<SharedTerm> shared_;
};

}  // namespace rulemill::optimize::gpu
