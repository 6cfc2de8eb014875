// Progress of a command that has a few steps of unknown length.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/process/progress.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::cli {

/// Shows the current step on stderr: on a terminal one line with the elapsed time, which is removed at the end;
/// elsewhere a line for each step, with ProgressMode::Auto only for steps that begin after some seconds.
class StepProgress {
 public:
  StepProgress(runtime::ProgressMode mode, std::string label);
  ~StepProgress();
  StepProgress(const StepProgress&) = delete;
  StepProgress& operator=(const StepProgress&) = delete;

  void begin(const std::string& step);
  /// Removes the line from a terminal, for a message in its place; it returns within a second.
  void clear();

 private:
  /// Rewrites the line once per second.
  void refresh(const std::stop_token& stop);
  void rewrite();

  runtime::ProgressMode mode_;
  std::string label_;
  runtime::Stopwatch watch_;
  bool late_only_ = false;
  std::mutex mutex_;  // guards step_ and the line
  std::condition_variable_any stopped_;
  std::string step_;
  std::jthread refresher_;
};

}  // namespace rulemill::cli
