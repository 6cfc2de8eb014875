// An exact sequential sign test. Decides after each round whether a candidate is faster than the model.
#pragma once

#include <array>
#include <cstddef>

namespace rulemill::optimize {

/// The largest probability of calling a candidate faster that wins each round with one of at most one half.
inline constexpr double max_false_gain_rate = 0.01;

/// Counts rounds that a candidate wins and loses. It is faster once it has run the rounds that are required for its
/// losses. The probability that a fair coin ever gets there is 0.0045, whatever the noise of the times: only the signs
/// of the differences count.
class SequentialSignTest {
 public:
  static constexpr std::array<std::size_t, 11> required_rounds{10, 14, 17, 21, 24, 27, 29, 32, 35, 38, 40};
  static constexpr std::size_t max_rounds = required_rounds.back();

  void add_round(bool won) {
    ++rounds_;
    if (!won) ++losses_;
  }
  std::size_t rounds() const { return rounds_; }
  std::size_t losses() const { return losses_; }
  bool is_passed() const { return losses_ < required_rounds.size() && rounds_ >= required_rounds[losses_]; }
  /// Returns true if no further rounds can change the decision.
  bool is_over() const { return losses_ >= required_rounds.size() || rounds_ >= max_rounds; }

 private:
  std::size_t rounds_ = 0, losses_ = 0;
};

}  // namespace rulemill::optimize
