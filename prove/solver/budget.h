// A limit on the work of one verdict, counted in steps and never in time, so that answers do not depend on the
// machine's load. The loops of a search spend from it, and so check for interrupts.
#pragma once

#include <cstdint>
#include <string>

namespace rulemill::prove {

/// Thrown where a proof would exceed a limit; its verdict is unknown, for this reason.
struct LimitReached {
  std::string what;
};

class Budget {
 public:
  explicit Budget(std::uint64_t steps) : limit_(steps) {}

  /// Throws LimitReached if fewer steps are left, and Interrupted after a signal to stop.
  void spend(std::uint64_t steps) {
    spent_ += steps;
    if (spent_ >= next_check_) check();
  }
  std::uint64_t spent() const { return spent_; }
  void refill();

 private:
  void check();

  std::uint64_t limit_;
  std::uint64_t spent_ = 0;
  std::uint64_t next_check_ = 0;
};

}  // namespace rulemill::prove
