// Interface to a GPU: memory, and streams of copies and kernel launches over a batch's tiles. cuda_backend.cu drives a
// GPU; emulated_backend.cc runs the same kernel bodies on the CPU, block after block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "execute/gpu/orbit_batch.h"

namespace rulemill::execute {

/// Asynchronous operations, executed in order; streams run concurrently. Host pointers are to pinned memory.
class GpuStream {
 public:
  virtual ~GpuStream() = default;
  virtual void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Evaluates all tiles of the view.
  virtual void run(const OrbitView& view) = 0;
  virtual void download(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  /// Blocks until all operations have finished.
  virtual void wait() = 0;
};

class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  virtual std::string name() const = 0;

  /// Memory that its owner frees; may be freed by any thread.
  using Memory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;
  virtual Memory allocate(std::uint64_t bytes) = 0;
  virtual Memory allocate_pinned(std::uint64_t bytes) = 0;
  /// Copies synchronously, from pageable host memory.
  virtual void write(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  virtual std::unique_ptr<GpuStream> create_stream() = 0;

  /// Maximum number of blocks that run concurrently.
  virtual std::uint32_t max_resident_blocks() const = 0;
  /// Device memory that can be allocated now.
  virtual std::uint64_t free_bytes() const { return std::numeric_limits<std::uint64_t>::max(); }
  virtual BatchLimits batch_limits() const = 0;
};

/// Items for four times the number of threads that an H100 runs concurrently; half a gigabyte of GPU memory for each
/// batch. GpuEvaluator takes less if all batches do not fit into memory.
inline constexpr BatchLimits gpu_limits{.items = 1 << 20,
                                        .upload_bytes = std::uint64_t{32} << 20,
                                        .download_bytes = std::uint64_t{32} << 20,
                                        .work_bytes = std::uint64_t{512} << 20};

}  // namespace rulemill::execute
