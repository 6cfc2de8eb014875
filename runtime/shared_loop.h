// A counted loop that ranks share: indices are handed out on demand, in their order, so that no rank has work left
// while another one waits. Which rank does what is not determined; what comes out must not depend on it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/communicator.h"
#include "runtime/workers.h"

namespace rulemill::runtime {

/// What ranks tell the first one meanwhile. Called on the threads that called run_shared().
struct Reports {
  std::function<std::string()> mine;            // what is new since it was called last; may be empty
  std::function<void(std::string_view)> heard;  // on the first rank: what `mine` said somewhere, if it is not empty
};

struct SharedLoop {
  std::string stage;  // what is said to have stopped
  std::size_t count = 0;
  std::size_t at_once = 1;  // indices that a thread is handed at most: more where one takes less than a millisecond
};

/// Collective. body(index, thread) for every index < count, each on one of `workers.threads()` threads of one rank; the
/// calling threads hand out. Throws Interrupted on every rank if one of them is told to stop; the first exception of a
/// thread is thrown again on its rank.
void run_shared(const SharedLoop& loop, const std::function<void(std::size_t index, unsigned thread)>& body,
                const Workers& workers, const Communicator& communicator, const Reports& reports = {});

}  // namespace rulemill::runtime
