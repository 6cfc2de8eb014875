#include "runtime/shared_loop.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/machine.h"

namespace rulemill::runtime {
namespace {

constexpr int ask_tag = 11, range_tag = 12;
constexpr std::chrono::microseconds shortest_nap{50}, longest_nap{2000};  // between two looks for messages
constexpr std::chrono::milliseconds long_wait{50};                        // between two looks for signals

/// Sleeps longer each time, for looking costs the core that a thread of the loop may have: 3% of it at 0.3 ms.
class Naps {
 public:
  void sleep() {
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(2 * nap_, longest_nap);
  }
  void shorten() { nap_ = shortest_nap; }

 private:
  std::chrono::microseconds nap_ = shortest_nap;
};

/// Consecutive indices.
struct Range {
  std::uint64_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

/// What a rank that has nothing left says; its report follows.
struct Request {
  std::uint64_t wanted = 0;   // indices; 0: this is its last message
  std::uint64_t stopped = 0;  // it was told to stop
};

/// The indices that a rank's threads take, and how they end.
class Hand {
 public:
  /// Waits for indices; none: there will be no more.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return !range_.empty() || closed_; });
    if (range_.empty()) return std::nullopt;
    const std::size_t index = range_.begin++;
    if (range_.empty()) emptied_.notify_one();
    return index;
  }
  /// The first `size` of those that are left, for others.
  Range split(std::size_t size) {
    const std::scoped_lock lock(mutex_);
    const Range given{range_.begin, std::min<std::uint64_t>(range_.end, range_.begin + size)};
    range_.begin = given.end;
    return given;
  }
  std::size_t left() {
    const std::scoped_lock lock(mutex_);
    return range_.end - range_.begin;
  }
  /// Nothing is left of what was there before.
  void fill(Range range) {
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
    emptied_.notify_one();
  }
  void note_end() {
    const std::scoped_lock lock(mutex_);
    ++ended_;
    emptied_.notify_one();
  }
  /// Waits until nothing is left to take, but no longer.
  bool wait_until_empty(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return emptied_.wait_for(lock, patience, [&] { return range_.empty(); });
  }
  bool wait_for_end(unsigned threads, std::chrono::microseconds patience) {
    std::unique_lock lock(mutex_);
    return emptied_.wait_for(lock, patience, [&] { return ended_ == threads; });
  }
  bool failed() {
    const std::scoped_lock lock(mutex_);
    return failure_ != nullptr;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  Range range_;
  bool closed_ = false;
  unsigned ended_ = 0;
  std::exception_ptr failure_;
};

/// One rank's part of a loop.
class Part {
 public:
  Part(const SharedLoop& loop, const std::function<void(std::size_t, unsigned)>& body, const Workers& workers,
       const Communicator& communicator, const Reports& reports)
      : loop_(loop), body_(body), communicator_(communicator), reports_(reports) {
    start(workers.threads());
  }
  ~Part() {
    hand_.fill({});
    hand_.close();
    for (std::thread& thread : threads_) thread.join();
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  void run() {
    if (communicator_.is_root())
      hand_out();
    else
      ask();
    hand_.rethrow();
  }

 private:
  /// As many threads as there is room for, one at least.
  void start(unsigned wanted) {
    for (unsigned t = 0; t < wanted; ++t) {
      try {
        threads_.emplace_back([this, t] { work(t); });
      } catch (const std::system_error& error) {
        if (threads_.empty())
          throw Error("a thread", std::string("cannot be started: ") + error.what() + "; memory: " + memory_in_words());
        break;
      }
    }
  }

  void work(unsigned thread) {
    try {
      while (const auto index = hand_.take()) {
        if (!interrupted()) body_(*index, thread);
      }
    } catch (...) {
      hand_.fail(std::current_exception());
    }
    hand_.note_end();
  }

  bool ended(std::chrono::microseconds patience) {
    return hand_.wait_for_end(static_cast<unsigned>(threads_.size()), patience);
  }

  std::string report() const { return reports_.mine ? reports_.mine() : std::string(); }
  void hear(std::string_view report) const {
    if (!report.empty()) reports_.heard(report);
  }

  /// The first rank's side: its own threads take from the front of what it hands out.
  void hand_out() {
    hand_.fill({0, loop_.count});
    int others = communicator_.size() - 1;
    for (Naps naps; others > 0 || hand_.left() > 0;) {
      if (interrupted() || hand_.failed()) hand_.fill({});
      if (hand_.failed()) return;
      hear(report());
      const auto message = communicator_.poll(Communicator::any_rank, ask_tag);
      if (message) others -= answer(*message) ? 1 : 0;
      if (message || hand_.left() == 0) naps.shorten();
      if (message) continue;
      if (others > 0)
        naps.sleep();
      else
        hand_.wait_until_empty(long_wait);
    }
    hand_.close();
    while (!ended(long_wait)) hear(report());
    hear(report());
  }

  /// Whether this was the rank's last message.
  bool answer(const Communicator::Message& message) {
    const ByteView view = message.bytes;
    const Request request = values_of<Request>(view.first(sizeof(Request))).at(0);
    hear(text_of(view.subspan(sizeof(Request))));
    if (request.stopped != 0) hand_.fill({});
    if (request.wanted == 0) return true;
    const std::size_t share = hand_.left() / (2 * static_cast<std::size_t>(communicator_.size()));
    const Range given = hand_.split(std::clamp<std::size_t>(share, 1, request.wanted));
    communicator_.send(message.from, range_tag, bytes_of(std::span(&given, 1)));
    return false;
  }

  void tell(std::uint64_t wanted) {
    const Request request{wanted, interrupted() ? 1U : 0U};
    Bytes message = copy_bytes(bytes_of(std::span(&request, 1)));
    const std::string text = report();
    const ByteView view = bytes_of(text);
    message.insert(message.end(), view.begin(), view.end());
    communicator_.send(0, ask_tag, message);
  }

  /// The others' side: more is asked for as soon as the last index is taken, before it is done.
  void ask() {
    while (!hand_.failed() && !interrupted()) {
      if (!hand_.wait_until_empty(long_wait)) continue;
      tell(loop_.at_once * threads_.size());
      auto reply = communicator_.poll(0, range_tag);
      for (Naps naps; !reply; reply = communicator_.poll(0, range_tag)) naps.sleep();
      const Range given = values_of<Range>(reply->bytes).at(0);
      if (given.empty()) break;
      if (!hand_.failed()) hand_.fill(given);
    }
    if (interrupted()) hand_.fill({});
    hand_.close();
    while (!ended(long_wait)) {
    }
    if (!hand_.failed()) tell(0);
  }

  const SharedLoop& loop_;
  const std::function<void(std::size_t, unsigned)>& body_;
  const Communicator& communicator_;
  const Reports& reports_;
  Hand hand_;
  std::vector<std::thread> threads_;
};

}  // namespace

void run_shared(const SharedLoop& loop, const std::function<void(std::size_t, unsigned)>& body, const Workers& workers,
                const Communicator& communicator, const Reports& reports) {
  Part(loop, body, workers, communicator, reports).run();
  require_going_on(loop.stage, communicator);
}

}  // namespace rulemill::runtime
