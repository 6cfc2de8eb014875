// The threads of a rank: runs a counted loop on all of them, indices handed out one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/communicator.h"

namespace rulemill::runtime {

class Workers {
 public:
  /// 0: as many as the process may use.
  explicit Workers(unsigned threads = 0);
  unsigned threads() const { return threads_; }

  /// body(index, thread) for every index < count. The first exception of any thread is thrown again here.
  void run(std::size_t count, const std::function<void(std::size_t index, unsigned thread)>& body) const;
  /// The same, left early if this process is told to stop: require_going_on() must follow before anything is used.
  void run_unless_stopped(std::size_t count, const std::function<void(std::size_t index, unsigned thread)>& body) const;

 private:
  unsigned threads_;
};

/// Collective: throws Interrupted on every rank if one of them has been told to stop.
void require_going_on(const std::string& stage, const Communicator& communicator);

}  // namespace rulemill::runtime
