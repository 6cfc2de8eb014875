// The CUDA backend of fingerprints, compiled as C++: its kernel runs on the host, one block after the other. The
// threads of a block are contexts that take turns at barriers, as __syncthreads() requires of them.
#include <ucontext.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/gpu_stand_in/calls.h"

namespace rulemill::gpu_stand_in {
namespace {

struct Coordinate {
  unsigned x = 0;
};
thread_local Coordinate block_index, grid_size, thread_index;

/// The threads of a block. All of them must reach every barrier.
class BlockThreads {
 public:
  BlockThreads(unsigned count, std::function<void()> body) : body_(std::move(body)), threads_(count) {
    for (Thread& thread : threads_) thread.stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  }

  void run() {
    current_ = this;
    for (Thread& thread : threads_) {
      getcontext(&thread.context);
      thread.context.uc_stack = {thread.stack.get(), 0, stack_bytes};
      thread.context.uc_link = &scheduler_;
      makecontext(&thread.context, begin, 0);
      thread.done = false;
    }
    for (std::size_t done = 0; done == 0;) {
      for (unsigned t = 0; t < threads_.size(); ++t) {
        running_ = &threads_[t];
        thread_index.x = t;
        swapcontext(&scheduler_, &running_->context);
        done += running_->done ? 1 : 0;
      }
      if (done != 0 && done != threads_.size()) std::abort();  // some threads wait at a barrier that others never reach
    }
  }

  static void wait_at_barrier() { swapcontext(&current_->running_->context, &current_->scheduler_); }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done = false;
  };

  static void begin() {
    current_->body_();
    current_->running_->done = true;
  }

  static thread_local BlockThreads* current_;
  std::function<void()> body_;
  std::vector<Thread> threads_;
  Thread* running_ = nullptr;
  ucontext_t scheduler_{};
};

thread_local BlockThreads* BlockThreads::current_ = nullptr;

}  // namespace
}  // namespace rulemill::gpu_stand_in

#include <cuda_runtime.h>

// What nvcc's compiler provides.
#undef __device__
#undef __global__
#undef __shared__
#undef __grid_constant__
#undef __launch_bounds__
#define __device__
#define __global__
#define __shared__ __thread
#define __grid_constant__
#define __launch_bounds__(...)
#define blockIdx rulemill::gpu_stand_in::block_index
#define gridDim rulemill::gpu_stand_in::grid_size
#define threadIdx rulemill::gpu_stand_in::thread_index
#define __syncthreads rulemill::gpu_stand_in::BlockThreads::wait_at_barrier

namespace rulemill::execute {
namespace {

/// Threads of a block run one at a time.
unsigned atomicAdd(unsigned* to, unsigned amount) {
  const unsigned before = *to;
  *to += amount;
  return before;
}

/// The shared memory of the block that runs on this thread; the kernel declares it.
alignas(16) __thread unsigned char tile_memory[64 << 10];

}  // namespace
}  // namespace rulemill::execute

#include "execute/gpu/cuda_backend.cu"

namespace rulemill::execute {
namespace {

[[maybe_unused]] const bool is_kernel_known = [] {
  gpu_stand_in::add_host_kernel(
      run_orbits_function(), sizeof(OrbitView), [](void** arguments, unsigned blocks, unsigned threads) {
        const auto& view = *static_cast<const OrbitView*>(arguments[0]);
        gpu_stand_in::grid_size.x = blocks;
        gpu_stand_in::BlockThreads block(threads, [&] { run_orbits(view); });
        for (gpu_stand_in::block_index.x = 0; gpu_stand_in::block_index.x < blocks; ++gpu_stand_in::block_index.x)
          block.run();
      });
  return true;
}();

}  // namespace
}  // namespace rulemill::execute
