// Files of Open MPI's shared memory that stay behind when mpirun is killed.
#pragma once

#include <filesystem>

namespace rulemill::runtime {

/// Removes this user's files of Open MPI in the folder that no process of this user has open or mapped, and that are
/// older than ten minutes: ranks that this process cannot see, as in another container, have opened theirs by then.
void remove_abandoned_segments(const std::filesystem::path& folder = "/dev/shm");

}  // namespace rulemill::runtime
