#include "runtime/workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/machine.h"

namespace rulemill::runtime {

Workers::Workers(unsigned threads) : threads_(threads != 0 ? threads : std::max(1U, available_cores())) {}

void Workers::run(std::size_t count, const std::function<void(std::size_t, unsigned)>& body) const {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](unsigned thread) {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i, thread);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  const auto used = static_cast<unsigned>(std::min<std::size_t>(threads_, count));
  std::vector<std::thread> threads;
  try {
    for (unsigned t = 1; t < used; ++t) threads.emplace_back(work, t);
  } catch (const std::system_error&) {
    // No room for more threads: those that there are do the work.
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

void Workers::run_unless_stopped(std::size_t count, const std::function<void(std::size_t, unsigned)>& body) const {
  run(count, [&](std::size_t i, unsigned thread) {
    if (!interrupted()) body(i, thread);
  });
}

void require_going_on(const std::string& stage, const Communicator& communicator) {
  if (!communicator.any(interrupted())) return;
  throw Interrupted(stage, "stopped; run the same command again to continue");
}

}  // namespace rulemill::runtime
