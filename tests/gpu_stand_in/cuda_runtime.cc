// Device, memory and versions of cudart.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>

#include "tests/gpu_stand_in/calls.h"

namespace rulemill::gpu_stand_in {

/// In exclusive compute mode: the lock file that this process holds while it uses the device; -1: none.
static int exclusive_file = -1;
static std::uint64_t writes = 0;

std::uint64_t memory_writes() { return writes; }

/// Creates the context, as every call does that needs the device.
void use_device() {
  if (faults().exclusive_lock.empty() || exclusive_file >= 0) return;
  const int file = open(faults().exclusive_lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0) {
    exclusive_file = file;
    return;
  }
  if (file >= 0) close(file);
  throw Failure{cudaErrorDevicesUnavailable};
}

static void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  if (kind == cudaMemcpyHostToDevice) require_memory(to, bytes, "the target of a copy", 1);
  if (kind == cudaMemcpyDeviceToHost) require_memory(from, bytes, "the source of a copy", 1);
  require(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost, "a copy has one side on the device");
  std::memcpy(to, from, bytes);
  if (kind == cudaMemcpyHostToDevice) ++writes;
}

/// Fills memory; of large memory only the ends, because a large fill serves to flush caches.
static void fill(void* memory, int value, std::size_t bytes) {
  constexpr std::size_t large = std::size_t{16} << 20, end = 4096;
  if (bytes == 0) return;
  require_memory(memory, bytes, "filled memory", 1);
  std::memset(memory, value, bytes < large ? bytes : end);
  if (bytes >= large) std::memset(static_cast<char*>(memory) + bytes - end, value, end);
  ++writes;
}

}  // namespace rulemill::gpu_stand_in

using namespace rulemill::gpu_stand_in;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return call<cudaError_t>(__func__, [&] { *count = 1; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call<cudaError_t>("cudaGetDeviceProperties", [&] {
    require(device == 0, "no such device", cudaErrorInvalidDevice);
    *properties = {};
    std::strcpy(properties->name, "GPU stand-in");
    properties->major = 9;
    properties->multiProcessorCount = 4;
    properties->totalGlobalMem = faults().memory_bytes;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call<cudaError_t>(__func__, [&] {
    require(device == 0, "no such device", cudaErrorInvalidDevice);
    use_device();
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call<cudaError_t>(__func__, [] { forbid_in_capture(); });
}

cudaError_t cudaDeviceReset() {
  return call<cudaError_t>(__func__, [] {
    require(device_bytes() == 0, "memory of the device is still owned");
    if (exclusive_file >= 0) close(exclusive_file);
    exclusive_file = -1;
  });
}

const char* cudaGetErrorString(cudaError_t status) {
  call<cudaError_t>(__func__, [] {});
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    default:
      return "an error of the stand-in";
  }
}

cudaError_t cudaDriverGetVersion(int* version) {
  return call<cudaError_t>(__func__, [&] { *version = CUDART_VERSION; });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return call<cudaError_t>(__func__, [&] { *version = CUDART_VERSION; });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call<cudaError_t>(__func__, [&] {
    use_device();
    *total = faults().memory_bytes;
    *free = *total - device_bytes();
  });
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return call<cudaError_t>(__func__, [&] {
    forbid_in_capture();
    require(bytes > 0, "no bytes are allocated");
    use_device();
    *memory = allocate(bytes, true);
  });
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return call<cudaError_t>(__func__, [&] {
    use_device();
    *memory = allocate(bytes, false);
  });
}

cudaError_t cudaFree(void* memory) {
  return call<cudaError_t>(__func__, [&] {
    forbid_in_capture();
    release(memory);
  });
}

cudaError_t cudaFreeHost(void* memory) {
  return call<cudaError_t>(__func__, [&] { release(memory); });
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return call<cudaError_t>(__func__, [&] {
    forbid_in_capture();
    fill(memory, value, bytes);
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] {
    require_memory(memory, bytes, "filled memory", 1);
    submit(stream, __func__, 0, [=] { fill(memory, value, bytes); });
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call<cudaError_t>(__func__, [&] {
    forbid_in_capture();
    copy(to, from, bytes, kind);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] {
    const void* host = kind == cudaMemcpyHostToDevice ? from : to;
    require_memory(host, bytes, "the host's side of an asynchronous copy, which is pinned,", 1);
    submit(stream, __func__, 0, [=] { copy(to, from, bytes, kind); });
  });
}

}  // extern "C"
