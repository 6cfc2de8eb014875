#include "runtime/process/progress.h"

#include "runtime/process/log.h"
#include "runtime/process/terminal.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::runtime {
namespace {

// Intervals in seconds. In a file, the interval doubles from the first to the maximum.
constexpr double rewrite_interval = 0.2;
constexpr double first_plain_interval = 10;
constexpr double max_plain_interval = 60;
constexpr double event_interval = 1;

}  // namespace

ProgressMode parse_progress_mode(std::string_view word) {
  if (word == "auto") return ProgressMode::Auto;
  if (word == "plain") return ProgressMode::Plain;
  if (word == "off") return ProgressMode::Off;
  throw UsageError("--progress", "unknown mode '" + std::string(word) + "'; expected auto, plain or off");
}

Progress::Progress(ProgressMode mode, std::string label, std::uint64_t total, std::FILE* out)
    : mode_(mode), label_(std::move(label)), total_(total), out_(out) {
  if (mode_ == ProgressMode::Auto) mode_ = is_terminal(out) ? ProgressMode::Rewrite : ProgressMode::Plain;
  next_print_ = mode_ == ProgressMode::Plain ? first_plain_interval : rewrite_interval;
}

Progress::~Progress() {
  if (printed_) update(true);
  log(true, watch_.seconds());
}

void Progress::advance(std::uint64_t count) {
  done_.fetch_add(count, std::memory_order_relaxed);
  update(false);
}

void Progress::set(std::uint64_t done) {
  done_.store(done, std::memory_order_relaxed);
  update(false);
}

void Progress::set_note(std::string text) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(text);
}

void Progress::log(bool last, double now) {
  double due = next_event_.load(std::memory_order_relaxed);
  if (!last && (now < due || !next_event_.compare_exchange_strong(due, now + event_interval))) return;
  const std::uint64_t done = done_.load(std::memory_order_relaxed);
  log_event("progress", {{"what", label_}, {"done", done}, {"total", total_}, {"seconds", now}});
}

void Progress::update(bool last) {
  const double now = watch_.seconds();
  if (!last) log(false, now);
  if (mode_ == ProgressMode::Off) return;
  double due = next_print_.load(std::memory_order_relaxed);
  if (!last) {
    if (now < due) return;
    const double next = now + (mode_ == ProgressMode::Plain ? std::min(now, max_plain_interval) : rewrite_interval);
    if (!next_print_.compare_exchange_strong(due, next)) return;  // another thread prints
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t done = done_.load(std::memory_order_relaxed);
  if (last && mode_ == ProgressMode::Plain && done == printed_done_) return;
  std::string line = label_ + "  " + format_count(done);
  if (total_ > 0) {
    line += " of " + format_count(total_) + " (" + std::to_string(100 * done / total_) + "%)";
  }
  line += ", " + format_seconds(now);
  if (total_ > done && done > 0) {
    line += ", about " + format_seconds(now * static_cast<double>(total_ - done) / static_cast<double>(done)) + " left";
  }
  if (!note_.empty()) line += ", " + note_;
  const bool rewrite = mode_ == ProgressMode::Rewrite;
  std::fprintf(out_, "%s%s%s", rewrite ? "\r\033[K" : "", line.c_str(), rewrite && !last ? "" : "\n");
  std::fflush(out_);
  printed_ = true;
  printed_done_ = done;
}

}  // namespace rulemill::runtime
