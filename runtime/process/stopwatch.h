// Elapsed wall-clock time in seconds. All measured times come from here.
#pragma once

#include <chrono>

namespace rulemill::runtime {

/// A clock that starts when it is constructed.
class Stopwatch {
 public:
  /// Returns the time since the start.
  double seconds() const { return between(start_, Clock::now()); }
  /// Returns the time since the last lap, or since the start.
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

/// Adds the time between its construction and its destruction to `total`.
class ScopedStopwatch {
 public:
  explicit ScopedStopwatch(double& total) : total_(total) {}
  ~ScopedStopwatch() { total_ += watch_.seconds(); }
  ScopedStopwatch(const ScopedStopwatch&) = delete;
  ScopedStopwatch& operator=(const ScopedStopwatch&) = delete;

 private:
  double& total_;
  Stopwatch watch_;
};

}  // namespace rulemill::runtime
