// The threads of a rank. They run a counted loop and take its indices one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/mpi/communicator.h"

namespace rulemill::runtime {

class ThreadPool {
 public:
  /// 0: as many threads as there are cores that this process may use.
  explicit ThreadPool(unsigned threads = 0);
  unsigned threads() const { return threads_; }

  /// Calls body(index, thread) for every index < count. Rethrows the first exception of any thread.
  void run(std::size_t count, const std::function<void(std::size_t index, unsigned thread)>& body) const;
  /// Does the same, but stops early after an interrupt: call throw_if_any_rank_interrupted() before using any result.
  void run_interruptible(std::size_t count, const std::function<void(std::size_t index, unsigned thread)>& body) const;

 private:
  unsigned threads_;
};

/// Collective. Throws Interrupted on every rank if any rank was interrupted.
void throw_if_any_rank_interrupted(const std::string& stage, const Communicator& communicator);

}  // namespace rulemill::runtime
