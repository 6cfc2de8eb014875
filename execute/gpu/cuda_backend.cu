#include <cuda_runtime.h>

#include <algorithm>

#include "execute/gpu/gpu_evaluator.h"
#include "execute/gpu/orbit_body.h"

namespace rulemill::execute {
namespace {

void check_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw GpuError("device", std::string(call) + ": " + cudaGetErrorString(status));
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// A block of the grid, seen from one of its threads.
struct GridBlock {
  __device__ static std::uint32_t index() { return blockIdx.x; }
  __device__ static std::uint32_t count() { return gridDim.x; }
  template <class Body>
  __device__ void each(const Body& body) const {
    body(threadIdx.x);
    __syncthreads();
  }
  __device__ static std::uint32_t add(std::uint32_t& to, std::uint32_t amount) { return atomicAdd(&to, amount); }
};

/// The largest number that needs no register spills and no stack (docs/scaling.md).
constexpr int blocks_per_multiprocessor = 7;

__global__ void __launch_bounds__(threads_per_block, blocks_per_multiprocessor)
    run_orbits(const __grid_constant__ OrbitView view) {
  extern __shared__ __align__(16) unsigned char tile_memory[];
  GridBlock block;
  run_tiles(block, view, tile_memory);
}

const void* run_orbits_function() { return reinterpret_cast<const void*>(run_orbits); }

class CudaStream final : public GpuStream {
 public:
  CudaStream(int ordinal, std::uint32_t blocks) : ordinal_(ordinal), blocks_(blocks) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~CudaStream() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void run(const OrbitView& view) override {
    check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice");
    const std::uint32_t shared_bytes = SharedMemoryLayout::of(view.max_arguments).bytes;
    OrbitView argument = view;
    void* arguments[] = {&argument};
    check_cuda(cudaLaunchKernel(run_orbits_function(), dim3(std::min(blocks_, view.tile_count)),
                                dim3(threads_per_block), arguments, shared_bytes, stream_),
               "run_orbits");
  }
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void wait() override { check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind way) {
    check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice");
    check_cuda(cudaMemcpyAsync(to, from, bytes, way, stream_), "cudaMemcpyAsync");
  }

  int ordinal_;
  std::uint32_t blocks_;
  cudaStream_t stream_ = nullptr;
};

class CudaBackend final : public GpuBackend {
 public:
  explicit CudaBackend(std::size_t ordinal) : ordinal_(static_cast<int>(ordinal)) {
    bind();
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties");
    name_ = properties.name;
    int each = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, run_orbits_function(), threads_per_block,
                                                             SharedMemoryLayout::of(2).bytes),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    blocks_ = static_cast<std::uint32_t>(std::max(1, each) * properties.multiProcessorCount);
  }

  std::string name() const override { return "cuda " + name_; }
  Memory allocate(std::uint64_t bytes) override {
    bind();
    void* pointer = nullptr;
    check_cuda(cudaMalloc(&pointer, std::max<std::uint64_t>(bytes, 1)), "cudaMalloc");
    return {static_cast<std::byte*>(pointer), [](std::byte* memory) { cudaFree(memory); }};
  }
  Memory allocate_pinned(std::uint64_t bytes) override {
    bind();
    void* pointer = nullptr;
    check_cuda(cudaMallocHost(&pointer, std::max<std::uint64_t>(bytes, 1)), "cudaMallocHost");
    return {static_cast<std::byte*>(pointer), [](std::byte* memory) { cudaFreeHost(memory); }};
  }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    bind();
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::unique_ptr<GpuStream> create_stream() override {
    bind();
    return std::make_unique<CudaStream>(ordinal_, blocks_);
  }
  std::uint32_t max_resident_blocks() const override { return blocks_; }
  std::uint64_t free_bytes() const override {
    bind();
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }
  BatchLimits batch_limits() const override { return gpu_limits; }

 private:
  /// Selects the GPU; the current device is per host thread.
  void bind() const { check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice"); }

  int ordinal_;
  std::string name_;
  std::uint32_t blocks_ = 1;
};

}  // namespace

bool has_cuda() { return true; }

std::vector<GpuInfo> available_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};
  std::vector<GpuInfo> found;
  for (int d = 0; d < count; ++d) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, d) == cudaSuccess)
      found.push_back({properties.name, properties.totalGlobalMem});
  }
  return found;
}

std::string gpu_problem() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess || status == cudaErrorNoDevice) return {};
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return {};  // no driver is installed
  std::string text = cudaGetErrorString(status);
  if (status == cudaErrorInsufficientDriver)
    text += " (the driver supports CUDA " + cuda_version(driver) + ", this build needs " +
            cuda_version(CUDART_VERSION) + ")";
  return text;
}

std::unique_ptr<GpuEvaluator> GpuEvaluator::open(std::size_t ordinal, std::span<const FieldPair> keys,
                                                 std::size_t queues) {
  return std::make_unique<GpuEvaluator>(std::make_unique<CudaBackend>(ordinal), keys, queues);
}

}  // namespace rulemill::execute
