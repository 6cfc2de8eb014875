#include "cli/step_progress.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "runtime/process/terminal.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {
namespace {

using runtime::ProgressMode;

constexpr double first_plain_seconds = 10;
constexpr std::chrono::seconds refresh_interval{1};

}  // namespace

StepProgress::StepProgress(ProgressMode mode, std::string label) : mode_(mode), label_(std::move(label)) {
  if (mode_ == ProgressMode::Auto) {
    mode_ = runtime::is_terminal(stderr) ? ProgressMode::Rewrite : ProgressMode::Plain;
    late_only_ = true;
  }
}

StepProgress::~StepProgress() {
  if (!refresher_.joinable()) return;
  refresher_.request_stop();
  refresher_.join();
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void StepProgress::begin(const std::string& step) {
  if (mode_ == ProgressMode::Off) return;
  const std::lock_guard lock(mutex_);
  step_ = step;
  if (mode_ == ProgressMode::Rewrite) {
    rewrite();
    if (!refresher_.joinable()) refresher_ = std::jthread([this](const std::stop_token& stop) { refresh(stop); });
  } else if (!late_only_ || watch_.seconds() >= first_plain_seconds) {
    std::fprintf(stderr, "%s: %s, after %s\n", label_.c_str(), step_.c_str(),
                 runtime::format_seconds(watch_.seconds()).c_str());
  }
}

void StepProgress::clear() {
  if (mode_ != ProgressMode::Rewrite) return;
  const std::lock_guard lock(mutex_);
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void StepProgress::refresh(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, refresh_interval, [] { return false; });
    if (!stop.stop_requested()) rewrite();
  }
}

void StepProgress::rewrite() {
  std::fprintf(stderr, "\r\033[K%s: %s, %s", label_.c_str(), step_.c_str(),
               runtime::format_seconds(watch_.seconds()).c_str());
  std::fflush(stderr);
}

}  // namespace rulemill::cli
