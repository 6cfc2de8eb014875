#include "runtime/mpi/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/process/interrupt.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {

ThreadPool::ThreadPool(unsigned threads) : threads_(threads != 0 ? threads : std::max(1U, available_cores())) {}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t, unsigned)>& body) const {
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
    // The system allows no more threads; the existing ones do all the work.
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

void ThreadPool::run_interruptible(std::size_t count, const std::function<void(std::size_t, unsigned)>& body) const {
  run(count, [&](std::size_t i, unsigned thread) {
    if (!is_interrupted()) body(i, thread);
  });
}

void throw_if_any_rank_interrupted(const std::string& stage, const Communicator& communicator) {
  if (!communicator.any(is_interrupted())) return;
  throw Interrupted(stage, "stopped; run the same command again to continue");
}

}  // namespace rulemill::runtime
