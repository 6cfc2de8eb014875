// What a verdict may cost, counted in steps of work and never in time: the same question gets the same answer on a busy
// machine. Every loop of a proof spends from it, and so hears of signals, too.
#pragma once

#include <cstdint>
#include <string>

namespace rulemill::prove {

/// Thrown by what would exceed a limit of a proof; its verdict is unknown, for this reason.
struct LimitReached {
  std::string what;
};

class Budget {
 public:
  explicit Budget(std::uint64_t steps) : all_(steps), limit_(steps) {}

  /// Throws LimitReached if fewer steps are left, and Interrupted if the process was told to stop.
  void spend(std::uint64_t steps) {
    spent_ += steps;
    if (spent_ >= next_look_) look();
  }
  std::uint64_t spent() const { return spent_; }
  void refill();

  /// While this lives no more than so many steps of the budget may be spent.
  class Share {
   public:
    Share(Budget& budget, std::uint64_t steps);
    ~Share() { budget_.limit_ = before_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    Budget& budget_;
    std::uint64_t before_;
  };

 private:
  void look();

  std::uint64_t all_, limit_;
  std::uint64_t spent_ = 0;
  std::uint64_t next_look_ = 0;
};

}  // namespace rulemill::prove
