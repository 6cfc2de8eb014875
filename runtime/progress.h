// One line of progress on stderr: rewritten on a terminal, printed now and then into a file, or not at all. And an
// event a second in the log of events.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace rulemill::runtime {

/// Auto: Rewrite on a terminal, Plain elsewhere.
enum class ProgressMode : std::uint8_t { Auto, Plain, Rewrite, Off };

/// Throws UsageError unless auto, plain or off.
ProgressMode parse_progress_mode(std::string_view word);

/// Counts up to `total` (0: not known). May be advanced from several threads.
class Progress {
 public:
  Progress(ProgressMode mode, std::string label, std::uint64_t total, std::FILE* out = stderr);
  /// Ends the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t count = 1);
  void set(std::uint64_t done);
  /// A few words behind the count: "12 refuted".
  void note(std::string text);

 private:
  /// What is due, or a last time.
  void show(bool last);
  void log(bool last, std::int64_t now);

  ProgressMode mode_;
  std::string label_;
  std::uint64_t total_;
  std::FILE* out_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::int64_t> next_ns_{0};        // when to show again
  std::atomic<std::int64_t> next_event_ns_{0};  // when to log again
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;  // guards note_ and the line
  std::string note_;
  bool shown_ = false;
};

}  // namespace rulemill::runtime
