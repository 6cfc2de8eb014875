// Memory that the ranks of a node share: one rank creates it, the others map it. It is an anonymous memory file, which
// disappears with its last process and does not count towards /dev/shm. If the machine does not allow ranks to map each
// other's memory, each rank has a private copy.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/mpi/communicator.h"

namespace rulemill::runtime {

class NodeMemory {
 public:
  NodeMemory() = default;
  /// Collective over all ranks. The memory is zeroed and aligned to pages. Throws Error if memory is exhausted.
  NodeMemory(std::size_t bytes, const Communicator& communicator);
  ~NodeMemory();
  NodeMemory(NodeMemory&& other) noexcept { *this = std::move(other); }
  NodeMemory& operator=(NodeMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(mapped_, other.mapped_);
    std::swap(shared_, other.shared_);
    return *this;
  }

  std::byte* data() const { return memory_; }
  /// Whether the ranks of each node see the same bytes. Otherwise every rank has private memory.
  bool is_shared() const { return shared_; }

 private:
  /// Collective. Allocates nothing if sharing fails.
  void map_shared(std::size_t bytes, const Communicator& communicator);
  void map_private(std::size_t bytes);

  std::byte* memory_ = nullptr;
  std::size_t mapped_ = 0;
  bool shared_ = false;
};

}  // namespace rulemill::runtime
