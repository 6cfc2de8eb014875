// Progress on stderr: one line that is rewritten on a terminal, or lines at growing intervals in a file. The event log
// gets one event per second.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/process/stopwatch.h"

namespace rulemill::runtime {

/// Auto means Rewrite on a terminal and Plain elsewhere.
enum class ProgressMode : std::uint8_t { Auto, Plain, Rewrite, Off };

/// Throws UsageError unless auto, plain or off.
ProgressMode parse_progress_mode(std::string_view word);

/// A counter up to `total` (0: unknown). Thread-safe.
class Progress {
 public:
  Progress(ProgressMode mode, std::string label, std::uint64_t total, std::FILE* out = stderr);
  /// Ends the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t count = 1);
  void set(std::uint64_t done);
  /// Sets the text after the count: "12 refuted".
  void set_note(std::string text);

 private:
  /// Prints and logs if that is due, or in any case if `last`.
  void update(bool last);
  void log(bool last, double now);

  ProgressMode mode_;
  std::string label_;
  std::uint64_t total_;
  std::FILE* out_;
  std::atomic<std::uint64_t> done_{0};
  Stopwatch watch_;
  std::atomic<double> next_print_{0};  // in seconds since the start
  std::atomic<double> next_event_{0};
  std::mutex mutex_;  // guards the members below, and the line
  std::string note_;
  bool printed_ = false;
  std::uint64_t printed_done_ = 0;
};

}  // namespace rulemill::runtime
