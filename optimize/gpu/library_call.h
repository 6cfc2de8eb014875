// One step of a plan as a call of cuDNN or cuBLAS, prepared once: descriptors, the algorithm, its workspace. Included
// only where these are there.
#pragma once

#include <functional>
#include <memory>

#include "optimize/gpu/cuda_handle.h"
#include "optimize/gpu/plan.h"

namespace rulemill::optimize::gpu {

/// What calls share: one stream, one workspace.
struct Libraries {
  static constexpr std::size_t workspace_bytes = std::size_t{256} << 20;

  CudnnHandle cudnn;
  CublasHandle cublas;
  DeviceMemory workspace;
  DeviceMemory zeros;  // a bias that adds nothing, of `zero_count` floats
  std::size_t zero_count = 0;
  cudaStream_t stream = nullptr;
};

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  /// Puts the call on the libraries' stream; may be captured.
  virtual void enqueue() const = 0;
};

/// `pointer` gives a tensor's memory. Throws Error where the library refuses.
std::unique_ptr<LibraryCall> library_call(const Plan& plan, const Plan::Step& step,
                                          const std::function<float*(std::uint32_t)>& pointer,
                                          const Libraries& libraries);

}  // namespace rulemill::optimize::gpu
