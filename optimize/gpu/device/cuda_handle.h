// RAII handles of CUDA and its libraries, and conversion of their errors. Included only if they are available.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {

inline void check_status(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw runtime::Error("GPU", std::string(call) + ": " + cudaGetErrorString(status));
}
inline void check_status(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw runtime::Error("GPU", std::string(call) + ": " + cudnnGetErrorString(status));
}
inline void check_status(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw runtime::Error("GPU", std::string(call) + ": " + cublasLtGetStatusString(status));
}

/// A deleter that calls `destroy`. Errors are ignored, because the GPU is lost then.
template <auto destroy>
struct Deleter {
  template <class Handle>
  void operator()(Handle handle) const {
    destroy(handle);
  }
};
template <class Handle, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Deleter<destroy>>;

using CudnnHandle = Owner<cudnnHandle_t, cudnnDestroy>;
using TensorDescriptor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using FilterDescriptor = Owner<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor = Owner<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;
using PoolingDescriptor = Owner<cudnnPoolingDescriptor_t, cudnnDestroyPoolingDescriptor>;
using ActivationDescriptor = Owner<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;
using CublasHandle = Owner<cublasLtHandle_t, cublasLtDestroy>;
using MatmulDescriptor = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using MatmulPreference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Stream = Owner<cudaStream_t, cudaStreamDestroy>;
using Event = Owner<cudaEvent_t, cudaEventDestroy>;
using Graph = Owner<cudaGraph_t, cudaGraphDestroy>;
using GraphRun = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;
using KernelLibrary = Owner<cudaLibrary_t, cudaLibraryUnload>;
using DeviceMemory = Owner<void*, cudaFree>;

/// Creates a handle with `create`.
template <class Owned, class... Arguments>
Owned create_handle(auto create, const char* call, Arguments... arguments) {
  typename Owned::pointer handle = nullptr;
  check_status(create(&handle, arguments...), call);
  return Owned(handle);
}

/// Captures what `enqueue` puts on the stream, as a graph that can be launched. Throws what `enqueue` throws.
inline GraphRun capture(cudaStream_t stream, const std::function<void()>& enqueue) {
  check_status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    const Graph discarded(graph);
    throw;
  }
  check_status(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const Graph captured(graph);
  cudaGraphExec_t run = nullptr;
  check_status(cudaGraphInstantiate(&run, graph, 0), "cudaGraphInstantiate");
  return GraphRun(run);
}

inline Event create_event() {
  const auto create = [](cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, cudaEventDefault); };
  return create_handle<Event>(create, "cudaEventCreateWithFlags");
}

/// Returns the seconds between two recorded events, once both have passed.
inline double seconds_between(const Event& begin, const Event& end) {
  check_status(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  check_status(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

inline DeviceMemory allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  check_status(cudaMalloc(&memory, bytes == 0 ? 1 : bytes), "cudaMalloc");
  return DeviceMemory(memory);
}

}  // namespace rulemill::optimize::gpu
