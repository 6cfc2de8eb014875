#include "runtime/progress.h"

#include <unistd.h>

#include "runtime/error.h"
#include "runtime/event_log.h"
#include "runtime/quantity.h"

namespace rulemill::runtime {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::int64_t rewrite_ns = 200'000'000;         // five times a second on a terminal
constexpr std::int64_t plain_first_ns = 10'000'000'000;  // into a file: after 10 s, then each time twice as late,
constexpr std::int64_t plain_most_ns = 60'000'000'000;   // at least once a minute
constexpr std::int64_t event_ns = 1'000'000'000;         // once a second into the log of events

}  // namespace

ProgressMode parse_progress_mode(std::string_view word) {
  if (word == "auto") return ProgressMode::Auto;
  if (word == "plain") return ProgressMode::Plain;
  if (word == "off") return ProgressMode::Off;
  throw UsageError("--progress", "unknown mode '" + std::string(word) + "'; expected auto, plain or off");
}

Progress::Progress(ProgressMode mode, std::string label, std::uint64_t total, std::FILE* out)
    : mode_(mode), label_(std::move(label)), total_(total), out_(out), start_(steady_clock::now()) {
  if (mode_ == ProgressMode::Auto) mode_ = isatty(fileno(out)) == 1 ? ProgressMode::Rewrite : ProgressMode::Plain;
  next_ns_ = mode_ == ProgressMode::Plain ? plain_first_ns : rewrite_ns;
}

Progress::~Progress() {
  if (shown_) show(true);
  log(true, nanoseconds(steady_clock::now() - start_).count());
}

void Progress::advance(std::uint64_t count) {
  done_.fetch_add(count, std::memory_order_relaxed);
  show(false);
}

void Progress::set(std::uint64_t done) {
  done_.store(done, std::memory_order_relaxed);
  show(false);
}

void Progress::note(std::string text) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(text);
}

void Progress::log(bool last, std::int64_t now) {
  std::int64_t due = next_event_ns_.load(std::memory_order_relaxed);
  if (!last && (now < due || !next_event_ns_.compare_exchange_strong(due, now + event_ns))) return;
  const std::uint64_t done = done_.load(std::memory_order_relaxed);
  log_event("progress",
            {{"what", label_}, {"done", done}, {"total", total_}, {"seconds", 1e-9 * static_cast<double>(now)}});
}

void Progress::show(bool last) {
  const std::int64_t now = nanoseconds(steady_clock::now() - start_).count();
  if (!last) log(false, now);
  if (mode_ == ProgressMode::Off) return;
  std::int64_t due = next_ns_.load(std::memory_order_relaxed);
  if (!last) {
    if (now < due) return;
    const std::int64_t next = mode_ == ProgressMode::Plain ? std::min(2 * now, now + plain_most_ns) : now + rewrite_ns;
    if (!next_ns_.compare_exchange_strong(due, next)) return;  // another thread shows it
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t done = done_.load(std::memory_order_relaxed);
  const double elapsed = 1e-9 * static_cast<double>(now);
  std::string line = label_ + "  " + with_commas(done);
  if (total_ > 0) {
    line += " of " + with_commas(total_) + " (" + std::to_string(100 * done / total_) + "%)";
  }
  line += ", " + in_seconds(elapsed);
  if (total_ > done && done > 0) {
    line += ", about " + in_seconds(elapsed * static_cast<double>(total_ - done) / static_cast<double>(done)) + " left";
  }
  if (!note_.empty()) line += ", " + note_;
  const bool rewrite = mode_ == ProgressMode::Rewrite;
  std::fprintf(out_, "%s%s%s", rewrite ? "\r\033[K" : "", line.c_str(), rewrite && !last ? "" : "\n");
  std::fflush(out_);
  shown_ = true;
}

}  // namespace rulemill::runtime
