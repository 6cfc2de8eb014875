// A counted loop that is shared by all ranks. Indices are assigned on demand, in order, so that no rank is idle while
// another has unstarted work. The assignment is not deterministic; results must not depend on it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/mpi/communicator.h"
#include "runtime/mpi/thread_pool.h"

namespace rulemill::runtime {

/// Messages of all ranks to the first one during the loop. Both functions are called on the threads that called
/// parallel_for_ranks().
struct RankReports {
  std::function<std::string()> collect;           // returns what is new on this rank since the last call; may be empty
  std::function<void(std::string_view)> receive;  // on the first rank: processes a non-empty report of any rank
};

struct RankLoop {
  std::string stage;  // for the message of Interrupted
  std::size_t count = 0;
  /// The maximum number of indices per request and thread. Use more than 1 if an index takes less than a millisecond.
  std::size_t max_indices_per_thread = 1;
};

/// Collective. Calls body(index, thread) once for every index < count, on one of `thread_pool.threads()` threads of one
/// rank; the calling threads assign indices. Throws Interrupted on every rank if any rank was interrupted. Rethrows the
/// first exception of a thread on its rank.
void parallel_for_ranks(const RankLoop& loop, const std::function<void(std::size_t index, unsigned thread)>& body,
                        const ThreadPool& thread_pool, const Communicator& communicator,
                        const RankReports& reports = {});

}  // namespace rulemill::runtime
