#include "optimize/gpu/executor.h"

#include <algorithm>

#include "optimize/gpu/compiler.h"
#include "runtime/error.h"

#ifdef RULEMILL_HAVE_GPU
#include <fmt/format.h>

#include "optimize/gpu/library_call.h"
#endif

namespace rulemill::optimize::gpu {

RunTime run_time_of(std::vector<double> seconds) {
  RM_CHECK(!seconds.empty(), "no run was timed");
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(seconds.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, seconds.size() - 1);
    return seconds[below] + (place - static_cast<double>(below)) * (seconds[above] - seconds[below]);
  };
  return {at(0.5), at(0.25), at(0.75), seconds.size()};
}

#ifdef RULEMILL_HAVE_GPU

namespace {

std::string version(std::size_t number, std::size_t thousand) {
  return fmt::format("{}.{}", number / thousand, number % thousand / (thousand / 100));
}

/// Larger than any device's cache: what is overwritten before each run.
constexpr std::size_t flush_bytes = std::size_t{512} << 20;

struct Device {
  cudaDeviceProp properties{};
  Libraries libraries;
  Stream stream;
  Event begin, end;
  DeviceMemory flush;

  std::string architecture() const { return fmt::format("sm_{}{}", properties.major, properties.minor); }
};

class Loaded final : public LoadedPlan {
 public:
  Loaded(const Plan& plan, std::span<const algebra::Function> functions,
         const std::function<std::vector<float>(ValueId)>& values, Device& device)
      : plan_(plan),
        device_(device),
        arena_(device_memory(plan.arena_bytes)),
        constants_(device_memory(plan.constant_bytes)) {
    must(cudaMemset(arena_.get(), 0, plan.arena_bytes), "cudaMemset");
    for (const auto& port : plan.constants) {
      const auto& tensor = plan.tensors[port.tensor];
      upload(port.tensor, rearranged(values(port.value), tensor.dims, tensor.layout));
    }
    load_kernels(functions);
    for (const auto& step : plan_.steps) {
      calls_.push_back(step.kernel == Plan::no_kernel
                           ? library_call(
                                 plan_, step, [&](std::uint32_t t) { return pointer(t); }, device_.libraries)
                           : nullptr);
    }
    capture();
  }

  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) override {
    RM_CHECK(inputs.size() == plan_.inputs.size(), "a plan takes other inputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) upload(plan_.inputs[i].tensor, inputs[i]);
    launch();
    must(cudaStreamSynchronize(device_.stream.get()), "cudaStreamSynchronize");
    std::vector<std::vector<float>> outputs;
    for (const auto& port : plan_.outputs) {
      auto& values = outputs.emplace_back(static_cast<std::size_t>(plan_.tensors[port.tensor].elements()));
      must(cudaMemcpy(values.data(), pointer(port.tensor), values.size() * sizeof(float), cudaMemcpyDeviceToHost),
           "cudaMemcpy");
    }
    return outputs;
  }

  RunTime time(const Measuring& measuring) override {
    cudaStream_t stream = device_.stream.get();
    std::vector<double> seconds;
    for (std::size_t i = 0; i < measuring.warm_up + measuring.runs; ++i) {
      if (measuring.cold)
        must(cudaMemsetAsync(device_.flush.get(), static_cast<int>(i), flush_bytes, stream), "cudaMemsetAsync");
      must(cudaEventRecord(device_.begin.get(), stream), "cudaEventRecord");
      launch();
      must(cudaEventRecord(device_.end.get(), stream), "cudaEventRecord");
      must(cudaEventSynchronize(device_.end.get()), "cudaEventSynchronize");
      float milliseconds = 0;
      must(cudaEventElapsedTime(&milliseconds, device_.begin.get(), device_.end.get()), "cudaEventElapsedTime");
      if (i >= measuring.warm_up) seconds.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    return run_time_of(std::move(seconds));
  }

 private:
  float* pointer(std::uint32_t tensor) const {
    const auto& at = plan_.tensors[tensor];
    auto* base = static_cast<char*>(at.constant ? constants_.get() : arena_.get());
    return reinterpret_cast<float*>(base + at.offset);
  }

  void upload(std::uint32_t tensor, const std::vector<float>& values) const {
    RM_CHECK(static_cast<std::int64_t>(values.size()) == plan_.tensors[tensor].elements(),
             "values do not fill a tensor");
    must(cudaMemcpy(pointer(tensor), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
         "cudaMemcpy");
  }

  void load_kernels(std::span<const algebra::Function> functions) {
    if (plan_.kernels.empty()) return;
    const Compiled compiled = compile(translation_unit(plan_.kernels, functions), device_.architecture());
    cudaLibrary_t library = nullptr;
    must(cudaLibraryLoadData(&library, compiled.machine_code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
         "cudaLibraryLoadData");
    library_.reset(library);
    for (const Kernel& kernel : plan_.kernels)
      must(cudaLibraryGetKernel(&kernels_.emplace_back(), library, kernel.name.c_str()), "cudaLibraryGetKernel");
  }

  void enqueue(std::size_t s) const {
    const Plan::Step& step = plan_.steps[s];
    if (calls_[s]) return calls_[s]->enqueue();
    const Kernel& kernel = plan_.kernels[step.kernel];
    std::vector<float*> pointers;
    for (const std::uint32_t read : step.reads) pointers.push_back(pointer(read));
    pointers.push_back(pointer(step.out));
    std::vector<void*> arguments;
    for (float*& each : pointers) arguments.push_back(&each);
    must(cudaLaunchKernel(reinterpret_cast<const void*>(kernels_[step.kernel]), dim3(kernel.blocks()),
                          dim3(Kernel::threads_a_block), arguments.data(), 0, device_.stream.get()),
         "cudaLaunchKernel");
  }

  void capture() {
    must(cudaStreamBeginCapture(device_.stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      for (std::size_t s = 0; s < plan_.steps.size(); ++s) enqueue(s);
    } catch (...) {
      cudaStreamEndCapture(device_.stream.get(), &graph);
      const Graph dropped(graph);
      throw;
    }
    must(cudaStreamEndCapture(device_.stream.get(), &graph), "cudaStreamEndCapture");
    const Graph captured(graph);
    cudaGraphExec_t run = nullptr;
    must(cudaGraphInstantiate(&run, graph, 0), "cudaGraphInstantiate");
    run_.reset(run);
  }

  void launch() const { must(cudaGraphLaunch(run_.get(), device_.stream.get()), "cudaGraphLaunch"); }

  Plan plan_;
  Device& device_;
  DeviceMemory arena_, constants_;
  KernelLibrary library_;
  std::vector<cudaKernel_t> kernels_;
  std::vector<std::unique_ptr<LibraryCall>> calls_;
  GraphRun run_;
};

std::string name_of(const cudaDeviceProp& properties) {
  return fmt::format("{}, {} multiprocessors", properties.name, properties.multiProcessorCount);
}

class CudaExecutor final : public Executor {
 public:
  CudaExecutor() {
    must(cudaGetDeviceProperties(&device_.properties, 0), "cudaGetDeviceProperties");
    device_.stream = made_by<Stream>(cudaStreamCreate, "cudaStreamCreate");
    const auto event = [](cudaEvent_t* made) { return cudaEventCreateWithFlags(made, cudaEventDefault); };
    device_.begin = made_by<Event>(event, "cudaEventCreate");
    device_.end = made_by<Event>(event, "cudaEventCreate");
    Libraries& libraries = device_.libraries;
    libraries.cudnn = made_by<CudnnHandle>(cudnnCreate, "cudnnCreate");
    libraries.cublas = made_by<CublasHandle>(cublasLtCreate, "cublasLtCreate");
    libraries.stream = device_.stream.get();
    must(cudnnSetStream(libraries.cudnn.get(), libraries.stream), "cudnnSetStream");
    libraries.workspace = device_memory(Libraries::workspace_bytes);
    libraries.zero_count = most_channels;
    libraries.zeros = device_memory(most_channels * sizeof(float));
    must(cudaMemset(libraries.zeros.get(), 0, most_channels * sizeof(float)), "cudaMemset");
    device_.flush = device_memory(flush_bytes);
  }

  std::string device() const override { return name_of(device_.properties); }

  std::string failure() const override {
    const cudaError_t status = cudaDeviceSynchronize();
    return status == cudaSuccess ? std::string() : cudaGetErrorString(status);
  }

  std::string versions() const override {
    int driver = 0, runtime = 0;
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    return fmt::format("CUDA {}, driver {}, cuDNN {}, cuBLAS {}", version(static_cast<std::size_t>(runtime), 1000),
                       version(static_cast<std::size_t>(driver), 1000), cudnnGetVersion(), cublasLtGetVersion());
  }

  std::unique_ptr<LoadedPlan> load(const Plan& plan, std::span<const algebra::Function> functions,
                                   const std::function<std::vector<float>(ValueId)>& values) override {
    return std::make_unique<Loaded>(plan, functions, values, device_);
  }

 private:
  static constexpr std::size_t most_channels = 1 << 20;
  Device device_;
};

}  // namespace

std::optional<std::string> device_name() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return std::nullopt;
  return name_of(properties);
}

void require_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw runtime::InputError("GPU", std::string("none can be used here: ") +
                                         (status == cudaSuccess ? "no device" : cudaGetErrorString(status)));
}

std::unique_ptr<Executor> Executor::open() {
  require_gpu();
  return std::make_unique<CudaExecutor>();
}

#else

std::optional<std::string> device_name() { return std::nullopt; }

void require_gpu() {
  throw runtime::InputError("GPU", "this build has no CUDA libraries; configure the preset cuda where they are");
}

std::unique_ptr<Executor> Executor::open() {
  require_gpu();
  return nullptr;
}

#endif

}  // namespace rulemill::optimize::gpu
