// Work of the first rank that may fail: its error is thrown on every rank, so that no rank waits for one that has
// failed.
#pragma once

#include <functional>

#include "runtime/mpi/communicator.h"

namespace rulemill::runtime {

/// Collective: runs `action` on the first rank. If it throws an Error, every rank throws one with the same message and
/// exit code.
void on_first_rank(const Communicator& world, const std::function<void()>& action);

}  // namespace rulemill::runtime
