// Time that passes, in seconds: since a start, and by laps.
#pragma once

#include <chrono>

namespace rulemill::runtime {

class Stopwatch {
 public:
  /// Since it was made.
  double seconds() const { return between(start_, Clock::now()); }
  /// Since the last lap, or since it was made.
  double lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = between(lap_, now);
    lap_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  Clock::time_point start_ = Clock::now(), lap_ = start_;
};

}  // namespace rulemill::runtime
