// Memory that the ranks of a node hold once: one of them makes it, the others map it. It is a file without a name,
// which is gone with the last process that has it, however that ends, and which no size of /dev/shm limits. Where the
// machine does not let ranks see each other's memory, each has its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "runtime/communicator.h"

namespace rulemill::runtime {

class NodeMemory {
 public:
  NodeMemory() = default;
  /// Collective, of all ranks. Zeroed, at a multiple of a page. Throws Error if there is no memory.
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
  /// On every node, its ranks see the same bytes. Otherwise every rank has its own.
  bool shared() const { return shared_; }

 private:
  /// Collective. Leaves nothing where it cannot be had.
  void share(std::size_t bytes, const Communicator& communicator);
  void take_own(std::size_t bytes);

  std::byte* memory_ = nullptr;
  std::size_t mapped_ = 0;
  bool shared_ = false;
};

}  // namespace rulemill::runtime
