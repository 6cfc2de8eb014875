#include "runtime/workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

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
  for (unsigned t = 1; t < used; ++t) threads.emplace_back(work, t);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace rulemill::runtime
