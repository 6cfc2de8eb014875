// A step of a plan as a prepared call of cuDNN or cuBLAS: descriptors, algorithm and workspace. Included only if they
// are available.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "optimize/gpu/device/cuda_handle.h"
#include "optimize/gpu/plan/plan.h"

namespace rulemill::optimize::gpu {

/// How cuDNN computes a convolution.
struct ConvolutionMethod {
  cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  bool fused = false;  // one call with bias and activation
};

/// Resources shared by all calls: a stream, a workspace.
struct LibraryContext {
  static constexpr std::size_t workspace_bytes = std::size_t{256} << 20;

  CudnnHandle cudnn;
  CublasHandle cublas;
  DeviceMemory workspace;
  DeviceMemory zeros;  // a zero bias of `zero_count` floats
  std::size_t zero_count = 0;
  cudaStream_t stream = nullptr;
  std::map<std::string, ConvolutionMethod> methods;  // by description; equal convolutions are computed alike
};

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  /// Enqueues the call on the stream; can be captured.
  virtual void enqueue() const = 0;
};

/// Prepares the call of a step. `pointer` returns a tensor's memory. Throws Error if the library does not support it.
std::unique_ptr<LibraryCall> make_library_call(const Plan& plan, const Plan::Step& step,
                                               const std::function<float*(std::uint32_t)>& pointer,
                                               LibraryContext& context);

}  // namespace rulemill::optimize::gpu
