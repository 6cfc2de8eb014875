#include "runtime/mpi/parallel_for_ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/process/interrupt.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

constexpr int request_tag = 11, range_tag = 12;
constexpr std::chrono::microseconds min_poll_interval{50}, max_poll_interval{2000};  // between polls for messages
constexpr std::chrono::milliseconds interrupt_poll_interval{50};

/// Poll intervals that double each time, because polling takes time from the core's loop thread: 3% at 0.3 ms.
class Backoff {
 public:
  void sleep() {
    std::this_thread::sleep_for(poll_interval_);
    poll_interval_ = std::min(2 * poll_interval_, max_poll_interval);
  }
  void reset() { poll_interval_ = min_poll_interval; }

 private:
  std::chrono::microseconds poll_interval_ = min_poll_interval;
};

/// Consecutive indices.
struct IndexRange {
  std::uint64_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

/// A rank's request for indices; its report follows in the message.
struct Request {
  std::uint64_t count = 0;        // 0: the rank's last message
  std::uint64_t interrupted = 0;  // 1: the rank was interrupted
};

/// The indices that are assigned to a rank, and the state of its threads. Thread-safe.
class WorkRange {
 public:
  /// Waits for an index; returns nothing once the range is closed and empty.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return !range_.empty() || closed_; });
    if (range_.empty()) return std::nullopt;
    const std::size_t index = range_.begin++;
    if (range_.empty()) changed_.notify_one();
    return index;
  }
  /// Removes and returns the first `size` indices.
  IndexRange split(std::size_t size) {
    const std::scoped_lock lock(mutex_);
    const IndexRange removed{range_.begin, std::min<std::uint64_t>(range_.end, range_.begin + size)};
    range_.begin = removed.end;
    return removed;
  }
  std::size_t size() {
    const std::scoped_lock lock(mutex_);
    return range_.end - range_.begin;
  }
  /// Replaces the range.
  void fill(IndexRange range) {
    const std::scoped_lock lock(mutex_);
    range_ = range;
    filled_.notify_all();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }
  void fail(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    range_ = {};
    closed_ = true;
    filled_.notify_all();
    changed_.notify_one();
  }
  void count_finished_thread() {
    const std::scoped_lock lock(mutex_);
    ++finished_threads_;
    changed_.notify_one();
  }
  /// Returns whether the range is empty after at most `timeout`.
  bool wait_until_empty(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return range_.empty(); });
  }
  bool wait_until_finished(unsigned threads, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return finished_threads_ == threads; });
  }
  bool has_failed() {
    const std::scoped_lock lock(mutex_);
    return failure_ != nullptr;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_, changed_;
  IndexRange range_;
  bool closed_ = false;
  unsigned finished_threads_ = 0;
  std::exception_ptr failure_;
};

/// Runs a loop on one rank. The first rank assigns indices, the others request them.
class LoopRunner {
 public:
  LoopRunner(const RankLoop& loop, const std::function<void(std::size_t, unsigned)>& body,
             const ThreadPool& thread_pool, const Communicator& communicator, const RankReports& reports)
      : loop_(loop), body_(body), communicator_(communicator), reports_(reports) {
    start(thread_pool.threads());
  }
  ~LoopRunner() {
    range_.fill({});
    range_.close();
    for (std::thread& thread : threads_) thread.join();
  }
  LoopRunner(const LoopRunner&) = delete;
  LoopRunner& operator=(const LoopRunner&) = delete;

  void run() {
    if (communicator_.is_root())
      assign_indices();
    else
      request_indices();
    range_.rethrow();
  }

 private:
  /// Starts as many of the threads as memory allows, at least one.
  void start(unsigned count) {
    for (unsigned t = 0; t < count; ++t) {
      try {
        threads_.emplace_back([this, t] { work(t); });
      } catch (const std::system_error& error) {
        if (threads_.empty())
          throw Error("a thread", std::string("cannot be started: ") + error.what() + "; memory: " + describe_memory());
        break;
      }
    }
  }

  void work(unsigned thread) {
    try {
      while (const auto index = range_.take()) {
        if (!is_interrupted()) body_(*index, thread);
      }
    } catch (...) {
      range_.fail(std::current_exception());
    }
    range_.count_finished_thread();
  }

  bool wait_until_finished() {
    return range_.wait_until_finished(static_cast<unsigned>(threads_.size()), interrupt_poll_interval);
  }

  std::string collect_report() const { return reports_.collect ? reports_.collect() : std::string(); }
  void receive_report(std::string_view report) const {
    if (!report.empty()) reports_.receive(report);
  }

  /// Runs on the first rank, whose threads take indices directly from the unassigned range.
  void assign_indices() {
    range_.fill({0, loop_.count});
    int active_ranks = communicator_.size() - 1;
    for (Backoff backoff; active_ranks > 0 || range_.size() > 0;) {
      if (is_interrupted() || range_.has_failed()) range_.fill({});
      if (range_.has_failed()) return;
      receive_report(collect_report());
      const auto message = communicator_.poll(Communicator::any_rank, request_tag);
      if (message) active_ranks -= answer(*message) ? 1 : 0;
      if (message || range_.size() == 0) backoff.reset();
      if (message) continue;
      if (active_ranks > 0)
        backoff.sleep();
      else
        range_.wait_until_empty(interrupt_poll_interval);
    }
    range_.close();
    while (!wait_until_finished()) receive_report(collect_report());
    receive_report(collect_report());
  }

  /// Returns whether this was the rank's last message.
  bool answer(const Communicator::Message& message) {
    const ByteView view = message.bytes;
    const Request request = values_of<Request>(view.first(sizeof(Request))).at(0);
    receive_report(text_of(view.subspan(sizeof(Request))));
    if (request.interrupted != 0) range_.fill({});
    if (request.count == 0) return true;
    const std::size_t share = range_.size() / (2 * static_cast<std::size_t>(communicator_.size()));
    const IndexRange assigned = range_.split(std::clamp<std::size_t>(share, 1, request.count));
    communicator_.send(message.from, range_tag, bytes_of(std::span(&assigned, 1)));
    return false;
  }

  void send_request(std::uint64_t count) {
    const Request request{count, is_interrupted() ? 1U : 0U};
    Bytes message = copy_bytes(bytes_of(std::span(&request, 1)));
    const std::string report = collect_report();
    const ByteView view = bytes_of(report);
    message.insert(message.end(), view.begin(), view.end());
    communicator_.send(0, request_tag, message);
  }

  /// Runs on the other ranks. They request more as soon as the last index is taken, before it is finished.
  void request_indices() {
    while (!range_.has_failed() && !is_interrupted()) {
      if (!range_.wait_until_empty(interrupt_poll_interval)) continue;
      send_request(loop_.max_indices_per_thread * threads_.size());
      auto reply = communicator_.poll(0, range_tag);
      for (Backoff backoff; !reply; reply = communicator_.poll(0, range_tag)) backoff.sleep();
      const IndexRange assigned = values_of<IndexRange>(reply->bytes).at(0);
      if (assigned.empty()) break;
      if (!range_.has_failed()) range_.fill(assigned);
    }
    if (is_interrupted()) range_.fill({});
    range_.close();
    while (!wait_until_finished()) {
    }
    if (!range_.has_failed()) send_request(0);
  }

  const RankLoop& loop_;
  const std::function<void(std::size_t, unsigned)>& body_;
  const Communicator& communicator_;
  const RankReports& reports_;
  WorkRange range_;
  std::vector<std::thread> threads_;
};

}  // namespace

void parallel_for_ranks(const RankLoop& loop, const std::function<void(std::size_t, unsigned)>& body,
                        const ThreadPool& thread_pool, const Communicator& communicator, const RankReports& reports) {
  LoopRunner(loop, body, thread_pool, communicator, reports).run();
  throw_if_any_rank_interrupted(loop.stage, communicator);
}

}  // namespace rulemill::runtime
