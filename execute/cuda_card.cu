#include <cuda_runtime.h>

#include <algorithm>

#include "execute/device.h"
#include "execute/orbit_body.h"

namespace rulemill::execute {
namespace {

void must(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw DeviceError("device", std::string(call) + ": " + cudaGetErrorString(status));
}

/// A block of the grid, as one of its threads sees it.
struct GridBlock {
  __device__ static std::uint32_t index() { return blockIdx.x; }
  __device__ static std::uint32_t count() { return gridDim.x; }
  template <class Body>
  __device__ void each(const Body& body) const {
    body(threadIdx.x);
    __syncthreads();
  }
  __device__ static std::uint32_t add(std::uint32_t& to, std::uint32_t more) { return atomicAdd(&to, more); }
};

/// As many as leave each thread the registers that it takes: no spills, no stack (docs/scaling.md).
constexpr int blocks_a_multiprocessor = 7;

__global__ void __launch_bounds__(threads_a_block, blocks_a_multiprocessor)
    run_orbits(const __grid_constant__ OrbitView view) {
  extern __shared__ __align__(16) unsigned char shared[];
  GridBlock block;
  run_pieces(block, view, shared);
}

class CudaQueue final : public CardQueue {
 public:
  CudaQueue(int ordinal, std::uint32_t blocks) : ordinal_(ordinal), blocks_(blocks) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~CudaQueue() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void run(const OrbitView& view) override {
    must(cudaSetDevice(ordinal_), "cudaSetDevice");
    const std::uint32_t shared = SharedLayout::of(view.most_arguments).bytes;
    run_orbits<<<std::min(blocks_, view.piece_count), threads_a_block, shared, stream_>>>(view);
    must(cudaGetLastError(), "run_orbits");
  }
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void wait() override { must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind way) {
    must(cudaSetDevice(ordinal_), "cudaSetDevice");
    must(cudaMemcpyAsync(to, from, bytes, way, stream_), "cudaMemcpyAsync");
  }

  int ordinal_;
  std::uint32_t blocks_;
  cudaStream_t stream_ = nullptr;
};

class CudaCard final : public Card {
 public:
  explicit CudaCard(std::size_t ordinal) : ordinal_(static_cast<int>(ordinal)) {
    bind();
    cudaDeviceProp properties{};
    must(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties");
    name_ = properties.name;
    int each = 0;
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, run_orbits, threads_a_block, SharedLayout::of(2).bytes),
         "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    blocks_ = static_cast<std::uint32_t>(std::max(1, each) * properties.multiProcessorCount);
  }

  std::string name() const override { return "cuda " + name_; }
  Memory memory(std::uint64_t bytes) override {
    bind();
    void* made = nullptr;
    must(cudaMalloc(&made, std::max<std::uint64_t>(bytes, 1)), "cudaMalloc");
    return {static_cast<std::byte*>(made), [](std::byte* memory) { cudaFree(memory); }};
  }
  Memory pinned(std::uint64_t bytes) override {
    bind();
    void* made = nullptr;
    must(cudaMallocHost(&made, std::max<std::uint64_t>(bytes, 1)), "cudaMallocHost");
    return {static_cast<std::byte*>(made), [](std::byte* memory) { cudaFreeHost(memory); }};
  }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    bind();
    must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::unique_ptr<CardQueue> queue() override {
    bind();
    return std::make_unique<CudaQueue>(ordinal_, blocks_);
  }
  std::uint32_t blocks() const override { return blocks_; }
  BatchLimits limits() const override { return gpu_limits; }

 private:
  /// The current device is each thread's own.
  void bind() const { must(cudaSetDevice(ordinal_), "cudaSetDevice"); }

  int ordinal_;
  std::string name_;
  std::uint32_t blocks_ = 1;
};

}  // namespace

std::vector<DeviceInfo> devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};
  std::vector<DeviceInfo> found;
  for (int d = 0; d < count; ++d) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, d) == cudaSuccess)
      found.push_back({properties.name, properties.totalGlobalMem});
  }
  return found;
}

std::unique_ptr<Device> Device::open(std::size_t ordinal, std::span<const Pair> keys) {
  return std::make_unique<Device>(std::make_unique<CudaCard>(ordinal), keys);
}

}  // namespace rulemill::execute
