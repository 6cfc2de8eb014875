// What the stand-in's functions share: entering a call, handles, device memory, and work on streams.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tests/gpu_stand_in/stand_in.h"

namespace rulemill::gpu_stand_in {

/// A use that the documentation excludes. `status` 0: the invalid argument of the call's library.
struct Violation {
  std::string text;
  int status = 0;
};

/// A failure that the documentation allows. `status` 0: a failed execution.
struct Failure {
  int status = 0;
};

inline void require(bool holds, const std::string& text, int status = 0) {
  if (!holds) throw Violation{text, status};
}

/// The statuses of a library: of a refused call, an invalid argument, and a failed execution.
template <class Status>
struct Statuses;
template <>
struct Statuses<cudaError_t> {
  static constexpr auto refused = cudaErrorUnknown, invalid = cudaErrorInvalidValue,
                        failed = cudaErrorStreamCaptureInvalidated;
};
template <>
struct Statuses<cudnnStatus_t> {
  static constexpr auto refused = CUDNN_STATUS_NOT_SUPPORTED, invalid = CUDNN_STATUS_BAD_PARAM,
                        failed = CUDNN_STATUS_EXECUTION_FAILED;
};
template <>
struct Statuses<cublasStatus_t> {
  static constexpr auto refused = CUBLAS_STATUS_NOT_SUPPORTED, invalid = CUBLAS_STATUS_INVALID_VALUE,
                        failed = CUBLAS_STATUS_EXECUTION_FAILED;
};
template <>
struct Statuses<nvrtcResult> {
  static constexpr auto refused = NVRTC_ERROR_INTERNAL_ERROR, invalid = NVRTC_ERROR_INVALID_INPUT,
                        failed = NVRTC_ERROR_COMPILATION;
};

/// Counts a call. Returns the refusal's status if it is refused, 0 for the library's own.
std::optional<int> enter(const char* name);
void add_violation(const char* name, const std::string& text);

/// One call of a library: refused if planned; else `body`, whose exceptions become statuses.
template <class Status, class Body>
Status call(const char* name, const Body& body) {
  const auto status_or = [](int status, Status otherwise) {
    return status == 0 ? otherwise : static_cast<Status>(status);
  };
  if (const auto refused = enter(name)) return status_or(*refused, Statuses<Status>::refused);
  try {
    body();
    return Status{};
  } catch (const Violation& violation) {
    add_violation(name, violation.text);
    return status_or(violation.status, Statuses<Status>::invalid);
  } catch (const Failure& failure) {
    return status_or(failure.status, Statuses<Status>::failed);
  }
}

/// What a handle points to.
struct Object {
  virtual ~Object() = default;
};
void add_object(std::unique_ptr<Object> object, const char* type);
/// Throws Violation if there is no such object.
Object& find_object(const void* handle);
void destroy_object(const void* handle);

template <class T, class Handle>
void create(Handle* handle, std::unique_ptr<T> object = std::make_unique<T>()) {
  require(handle != nullptr, "a handle is written to null");
  Object* pointer = object.get();
  *handle = reinterpret_cast<Handle>(pointer);
  add_object(std::move(object), T::name);
}
template <class T>
T& find(const void* handle) {
  auto* found = dynamic_cast<T*>(&find_object(handle));
  require(found != nullptr, std::string("the handle is no ") + T::name);
  return *found;
}

const Faults& faults();

/// Adds `bytes` to the memory in use. Throws Failure if they are not there.
void* allocate(std::size_t bytes, bool on_device);
void release(void* memory);
/// Throws Violation, with `what`, unless all bytes are in one allocation and aligned.
void require_memory(const void* memory, std::size_t bytes, const char* what, std::size_t alignment = alignof(float));

/// Whether a stream is captured now.
bool is_capturing();
/// Throws Violation, and invalidates the capture, while a stream is captured.
void forbid_in_capture();
/// Runs the work, or records it if the stream is captured. A `kernel` that runs for the first time inside capture
/// fails, because its code would be loaded there. Its time is a microsecond and a nanosecond for each element.
void submit(cudaStream_t stream, const std::string& kernel, std::size_t elements, std::function<void()> work);

/// Makes launches of a function compute `run`, which gets the arguments, the number of blocks and of threads.
using HostKernel = std::function<void(void** arguments, unsigned blocks, unsigned threads)>;
void add_host_kernel(const void* function, std::size_t argument_bytes, HostKernel kernel);

}  // namespace rulemill::gpu_stand_in
