// The cheapest way to do many things, each in one of two ways, where it costs something that some are done alike or
// not: a minimum cut between the first ways and the second ones, so that what comes out is the least there is
// (Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?", 2004).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace rulemill::optimize::gpu {

/// Costs are whole numbers, so that equal ones are equal.
class TwoWays {
 public:
  using Table = std::array<std::array<std::int64_t, 2>, 2>;  // by the way of one thing, then of the other

  /// More than all real costs together.
  static constexpr std::int64_t never = std::int64_t{1} << 50;

  /// A thing, and what each of its ways costs.
  std::uint32_t add(std::int64_t first, std::int64_t second);
  /// `more` is paid where it is done in the second way, or saved if it is negative.
  void prefer(std::uint32_t thing, std::int64_t more_for_second);
  /// Whether cuts can say it: alike costs no more than different does.
  static bool can_say(const Table& table) { return table[0][0] + table[1][1] <= table[0][1] + table[1][0]; }
  void both(std::uint32_t one, std::uint32_t other, const Table& table);
  /// Paid once if any user is not done as the owner is.
  void unless_alike(std::uint32_t owner, std::vector<std::uint32_t> users, std::int64_t cost);

  /// By thing, whether the second way; of choices that cost the same, the one with the fewest second ways.
  std::vector<bool> least() const;
  std::int64_t cost(const std::vector<bool>& second) const;
  std::size_t size() const { return own_.size(); }

 private:
  struct Both {
    std::uint32_t one, other;
    Table table;
  };
  struct Alike {
    std::uint32_t owner;
    std::vector<std::uint32_t> users;
    std::int64_t cost;
  };
  std::vector<std::array<std::int64_t, 2>> own_;
  std::vector<Both> both_;
  std::vector<Alike> alike_;
};

}  // namespace rulemill::optimize::gpu
