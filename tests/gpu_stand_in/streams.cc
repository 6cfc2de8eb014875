// Streams, their capture as graphs, events, and launches of kernels.
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tests/gpu_stand_in/calls.h"
#include "tests/gpu_stand_in/modules.h"

namespace rulemill::gpu_stand_in {

std::uint64_t memory_writes();
void use_device();

namespace {

struct Operation {
  double seconds = 0;
  std::function<void()> work;
};

struct Stream final : Object {
  static constexpr const char* name = "stream";
};
struct Event final : Object {
  static constexpr const char* name = "event";
  double seconds = -1;  // when it was recorded; -1: never
};
struct Graph final : Object {
  static constexpr const char* name = "graph";
  std::vector<Operation> operations;
};
struct GraphRun final : Object {
  static constexpr const char* name = "graph run";
  std::vector<Operation> operations;
  std::uint64_t computed_after = ~std::uint64_t{0};  // writes of the host to the device before the last computation
};

std::recursive_mutex streams_mutex;
std::set<std::string> warm;  // kernels that have run
double clock_seconds = 0;
const void* captured = nullptr;  // the stream that is captured
bool invalidated = false;        // its capture
std::vector<Operation> recorded;

/// By function, with the bytes of its argument. Filled by initializers of other files.
std::map<const void*, std::pair<std::size_t, HostKernel>>& host_kernels() {
  static std::map<const void*, std::pair<std::size_t, HostKernel>> kernels;
  return kernels;
}

void run(const Operation& operation) {
  {
    const std::scoped_lock lock(streams_mutex);
    clock_seconds += operation.seconds;
  }
  operation.work();
}

/// Launches a kernel that NVRTC compiled. Its arguments are pointers to device memory, which are copied now.
void launch(const Kernel& kernel, unsigned blocks, unsigned threads, void** arguments, cudaStream_t stream) {
  std::vector<void*> pointers(kernel.parameters);
  for (std::size_t i = 0; i < kernel.parameters; ++i) {
    std::memcpy(&pointers[i], arguments[i], sizeof(void*));
    require_memory(pointers[i], sizeof(float), "an argument of a kernel");
  }
  submit(stream, kernel.function, std::size_t{blocks} * threads, [pointers, run = kernel.run, blocks, threads] {
    auto copy = pointers;
    run(copy.data(), blocks, threads);
  });
}

}  // namespace

bool is_capturing() {
  const std::scoped_lock lock(streams_mutex);
  return captured != nullptr;
}

void forbid_in_capture() {
  const std::scoped_lock lock(streams_mutex);
  if (captured == nullptr) return;
  invalidated = true;
  throw Violation{"not permitted while a stream is captured", cudaErrorStreamCaptureUnsupported};
}

void add_host_kernel(const void* function, std::size_t argument_bytes, HostKernel kernel) {
  host_kernels()[function] = {argument_bytes, std::move(kernel)};
}

void submit(cudaStream_t stream, const std::string& kernel, std::size_t elements, std::function<void()> work) {
  find<Stream>(stream);  // the default stream is not used
  const Operation operation{1e-6 + 1e-9 * static_cast<double>(elements), std::move(work)};
  {
    const std::scoped_lock lock(streams_mutex);
    if (captured == stream) {
      invalidated = invalidated || !warm.contains(kernel);
      if (invalidated) throw Failure{};
      recorded.push_back(operation);
      return;
    }
    warm.insert(kernel);
  }
  run(operation);
}

}  // namespace rulemill::gpu_stand_in

using namespace rulemill::gpu_stand_in;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call<cudaError_t>(__func__, [&] {
    use_device();
    create<Stream>(stream);
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call<cudaError_t>(__func__, [&] {
    use_device();
    create<Stream>(stream);
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] { destroy_object(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] {
    find<Stream>(stream);
    forbid_in_capture();
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call<cudaError_t>(__func__, [&] {
    find<Stream>(stream);
    const std::scoped_lock lock(streams_mutex);
    require(captured == nullptr, "a capture has begun already", cudaErrorIllegalState);
    captured = stream;
    invalidated = false;
    recorded.clear();
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const auto end = [&] {
    const std::scoped_lock lock(streams_mutex);
    require(captured == stream, "no capture has begun", cudaErrorIllegalState);
    captured = nullptr;
    auto found = std::make_unique<Graph>();
    found->operations = std::exchange(recorded, {});
    *graph = nullptr;
    if (invalidated) throw Failure{cudaErrorStreamCaptureInvalidated};
    create(graph, std::move(found));
  };
  const cudaError_t status = call<cudaError_t>(__func__, end);
  if (captured == stream) captured = nullptr;  // also if the call is refused
  return status;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* run, cudaGraph_t graph, unsigned long long) {
  return call<cudaError_t>(__func__, [&] {
    auto made = std::make_unique<GraphRun>();
    made->operations = find<Graph>(graph).operations;
    create(run, std::move(made));
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call<cudaError_t>(__func__, [&] { destroy_object(graph); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t run) {
  return call<cudaError_t>(__func__, [&] { destroy_object(run); });
}

/// A launch after which nothing was written from the host is not computed again, because it would repeat the results.
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] {
    find<Stream>(stream);
    auto& graph = find<GraphRun>(handle);
    const bool repeats = graph.computed_after == memory_writes();
    for (const Operation& operation : graph.operations) run({operation.seconds, repeats ? [] {} : operation.work});
    graph.computed_after = memory_writes();
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return call<cudaError_t>(__func__, [&] { create<Event>(event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call<cudaError_t>(__func__, [&] { destroy_object(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] {
    find<Stream>(stream);
    find<Event>(event).seconds = clock_seconds;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call<cudaError_t>(__func__, [&] {
    require(find<Event>(event).seconds >= 0, "the event has not been recorded");
    forbid_in_capture();
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return call<cudaError_t>(__func__, [&] {
    const double from = find<Event>(begin).seconds, to = find<Event>(end).seconds;
    require(from >= 0 && to >= from, "the events have not been recorded in this order");
    *milliseconds = static_cast<float>((to - from) * 1e3);
  });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments, std::size_t,
                             cudaStream_t stream) {
  return call<cudaError_t>(__func__, [&] {
    constexpr unsigned max_threads = 1024;
    require(blocks.x > 0 && threads.x > 0 && threads.x <= max_threads && blocks.y == 1 && blocks.z == 1,
            "a grid without blocks, or too many threads", cudaErrorInvalidConfiguration);
    const auto found = host_kernels().find(function);
    if (found == host_kernels().end()) return launch(find<Kernel>(function), blocks.x, threads.x, arguments, stream);
    const auto* argument = static_cast<const char*>(arguments[0]);
    std::vector<char> copy(argument, argument + found->second.first);
    submit(stream, "host kernel", 0, [copy, &run = found->second.second, blocks, threads] {
      auto values = copy;
      void* pointers[] = {values.data()};
      run(pointers, blocks.x, threads.x);
    });
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int, std::size_t) {
  return call<cudaError_t>(__func__, [&] {
    require(host_kernels().contains(function), "the function is no kernel", cudaErrorInvalidDeviceFunction);
    *blocks = 1;
  });
}

}  // extern "C"
