// A GPU as the device's arrangement needs it: memory, and queues of copies and of runs over a batch's pieces.
// cuda_card.cu drives a GPU; emulated_card.cc runs the same bodies on the CPU, block after block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "execute/orbit_batch.h"
#include "runtime/error.h"

namespace rulemill::execute {

/// A device cannot do its work: no memory, a call failed. It can be done on the CPU instead.
class DeviceError : public runtime::Error {
 public:
  using Error::Error;
};

/// What is queued is done in order; queues run beside each other. `from` and `to` on the host are pinned memory.
class CardQueue {
 public:
  virtual ~CardQueue() = default;
  virtual void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// All pieces of the view.
  virtual void run(const OrbitView& view) = 0;
  virtual void download(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Until all that is queued is done.
  virtual void wait() = 0;
};

class Card {
 public:
  virtual ~Card() = default;
  virtual std::string name() const = 0;

  /// Freed with its owner, from any thread.
  using Memory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;
  virtual Memory memory(std::uint64_t bytes) = 0;
  virtual Memory pinned(std::uint64_t bytes) = 0;
  /// At once, from any memory of the host.
  virtual void write(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  virtual std::unique_ptr<CardQueue> queue() = 0;

  /// Blocks of threads that run at a time at most.
  virtual std::uint32_t blocks() const = 0;
  virtual BatchLimits limits() const = 0;
};

/// Names for four times the threads that an H100 runs at a time; half a gigabyte of its memory for each batch.
inline constexpr BatchLimits gpu_limits{.items = 1 << 20,
                                        .upload_bytes = std::uint64_t{32} << 20,
                                        .download_bytes = std::uint64_t{32} << 20,
                                        .work_bytes = std::uint64_t{512} << 20};

}  // namespace rulemill::execute
