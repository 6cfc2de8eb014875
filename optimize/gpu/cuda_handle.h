// Owners of what CUDA and its libraries give out, and their errors as ours. Included only where those are there.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <string>
#include <type_traits>

#include "runtime/error.h"

namespace rulemill::optimize::gpu {

inline void must(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw runtime::Error("GPU", std::string(call) + ": " + cudaGetErrorString(status));
}
inline void must(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw runtime::Error("GPU", std::string(call) + ": " + cudnnGetErrorString(status));
}
inline void must(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw runtime::Error("GPU", std::string(call) + ": " + cublasLtGetStatusString(status));
}

/// Destroys what it owns with `destroy`; errors then are those of a device that is lost anyway.
template <auto destroy>
struct Destroy {
  template <class Handle>
  void operator()(Handle handle) const {
    destroy(handle);
  }
};
template <class Handle, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;

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

/// What `create` makes, owned.
template <class Owned, class... Arguments>
Owned made_by(auto create, const char* call, Arguments... arguments) {
  typename Owned::pointer handle = nullptr;
  must(create(&handle, arguments...), call);
  return Owned(handle);
}

inline DeviceMemory device_memory(std::size_t bytes) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, bytes == 0 ? 1 : bytes), "cudaMalloc");
  return DeviceMemory(memory);
}

}  // namespace rulemill::optimize::gpu
