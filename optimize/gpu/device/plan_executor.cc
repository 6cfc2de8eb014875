#include "optimize/gpu/device/plan_executor.h"

#include <algorithm>

#include "optimize/gpu/kernels/compiler.h"
#include "runtime/text/error.h"

#ifdef RULEMILL_HAVE_GPU
#include <fmt/format.h>

#include "optimize/gpu/device/library_call.h"
#endif

namespace rulemill::optimize::gpu {

RunTime summarize_runs(std::vector<double> seconds) {
  RM_CHECK(!seconds.empty(), "no run was timed");
  std::ranges::sort(seconds);
  const auto quantile = [&](double share) {
    const double position = share * static_cast<double>(seconds.size() - 1);
    const auto lower = static_cast<std::size_t>(position);
    const std::size_t upper = std::min(lower + 1, seconds.size() - 1);
    return seconds[lower] + (position - static_cast<double>(lower)) * (seconds[upper] - seconds[lower]);
  };
  return {quantile(0.5), quantile(0.25), quantile(0.75), seconds.size()};
}

#ifdef RULEMILL_HAVE_GPU

namespace {

std::string version(std::size_t number, std::size_t unit) {
  return fmt::format("{}.{}", number / unit, number % unit / (unit / 100));
}

/// Larger than any GPU's cache.
constexpr std::size_t flush_bytes = std::size_t{512} << 20;

struct CudaContext {
  cudaDeviceProp properties{};
  LibraryContext libraries;
  Stream stream;
  Event begin, end;
  DeviceMemory flush;

  std::string architecture() const { return fmt::format("sm_{}{}", properties.major, properties.minor); }
};

class CudaLoadedPlan final : public LoadedPlan {
 public:
  CudaLoadedPlan(const Plan& plan, std::span<const algebra::Function> functions,
                 const std::function<std::vector<float>(ValueId)>& values, CudaContext& context)
      : plan_(plan),
        context_(context),
        arena_(allocate_device(plan.arena_bytes)),
        constants_(allocate_device(plan.constant_bytes)) {
    check_status(cudaMemset(arena_.get(), 0, plan.arena_bytes), "cudaMemset");
    for (const auto& port : plan.constants) {
      const auto& tensor = plan.tensors[port.tensor];
      upload(port.tensor, to_layout(values(port.value), tensor.dims, tensor.layout));
    }
    load_kernels(functions);
    for (const auto& step : plan_.steps) {
      calls_.push_back(step.kernel == Plan::no_kernel
                           ? make_library_call(
                                 plan_, step, [&](std::uint32_t t) { return pointer(t); }, context_.libraries)
                           : nullptr);
    }
    // A library or a kernel that runs for the first time may load code, which capture forbids.
    enqueue_steps();
    check_status(cudaStreamSynchronize(context_.stream.get()), "cudaStreamSynchronize");
    run_ = capture(context_.stream.get(), [&] { enqueue_steps(); });
  }

  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) override {
    RM_CHECK(inputs.size() == plan_.inputs.size(), "the number of inputs is that of the plan");
    for (std::size_t i = 0; i < inputs.size(); ++i) upload(plan_.inputs[i].tensor, inputs[i]);
    launch();
    check_status(cudaStreamSynchronize(context_.stream.get()), "cudaStreamSynchronize");
    std::vector<std::vector<float>> outputs;
    for (const auto& port : plan_.outputs) {
      auto& values = outputs.emplace_back(static_cast<std::size_t>(plan_.tensors[port.tensor].elements()));
      check_status(
          cudaMemcpy(values.data(), pointer(port.tensor), values.size() * sizeof(float), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    }
    return outputs;
  }

  RunTime time(const TimingOptions& options) override {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < options.warm_up_runs + options.runs; ++i) {
      const double run = time_run(options, static_cast<int>(i));
      if (i >= options.warm_up_runs) seconds.push_back(run);
    }
    return summarize_runs(std::move(seconds));
  }

 private:
  double time_run(const TimingOptions& options, int filling) const {
    cudaStream_t stream = context_.stream.get();
    if (options.cold_caches)
      check_status(cudaMemsetAsync(context_.flush.get(), filling, flush_bytes, stream), "cudaMemsetAsync");
    check_status(cudaEventRecord(context_.begin.get(), stream), "cudaEventRecord");
    launch();
    check_status(cudaEventRecord(context_.end.get(), stream), "cudaEventRecord");
    return seconds_between(context_.begin, context_.end);
  }

  float* pointer(std::uint32_t tensor) const {
    const auto& at = plan_.tensors[tensor];
    auto* base = static_cast<char*>(at.constant ? constants_.get() : arena_.get());
    return reinterpret_cast<float*>(base + at.offset);
  }

  void upload(std::uint32_t tensor, const std::vector<float>& values) const {
    RM_CHECK(static_cast<std::int64_t>(values.size()) == plan_.tensors[tensor].elements(),
             "the number of values is that of the tensor's elements");
    check_status(cudaMemcpy(pointer(tensor), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
                 "cudaMemcpy");
  }

  void load_kernels(std::span<const algebra::Function> functions) {
    if (plan_.kernels.empty()) return;
    const CompiledKernels compiled = compile(translation_unit(plan_.kernels, functions), context_.architecture());
    cudaLibrary_t library = nullptr;
    check_status(cudaLibraryLoadData(&library, compiled.machine_code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "cudaLibraryLoadData");
    library_.reset(library);
    for (const Kernel& kernel : plan_.kernels)
      check_status(cudaLibraryGetKernel(&kernels_.emplace_back(), library, kernel.name.c_str()),
                   "cudaLibraryGetKernel");
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
    check_status(cudaLaunchKernel(reinterpret_cast<const void*>(kernels_[step.kernel]), dim3(kernel.blocks()),
                                  dim3(Kernel::threads_per_block), arguments.data(), 0, context_.stream.get()),
                 "cudaLaunchKernel");
  }

  void enqueue_steps() const {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) enqueue(s);
  }

  void launch() const { check_status(cudaGraphLaunch(run_.get(), context_.stream.get()), "cudaGraphLaunch"); }

  Plan plan_;
  CudaContext& context_;
  DeviceMemory arena_, constants_;
  KernelLibrary library_;
  std::vector<cudaKernel_t> kernels_;
  std::vector<std::unique_ptr<LibraryCall>> calls_;
  GraphRun run_;
};

std::string describe_device(const cudaDeviceProp& properties) {
  return fmt::format("{}, {} multiprocessors", properties.name, properties.multiProcessorCount);
}

class CudaPlanExecutor final : public PlanExecutor {
 public:
  CudaPlanExecutor() {
    check_status(cudaGetDeviceProperties(&context_.properties, 0), "cudaGetDeviceProperties");
    context_.stream = create_handle<Stream>(cudaStreamCreate, "cudaStreamCreate");
    context_.begin = create_event();
    context_.end = create_event();
    LibraryContext& library_context = context_.libraries;
    library_context.cudnn = create_handle<CudnnHandle>(cudnnCreate, "cudnnCreate");
    library_context.cublas = create_handle<CublasHandle>(cublasLtCreate, "cublasLtCreate");
    library_context.stream = context_.stream.get();
    check_status(cudnnSetStream(library_context.cudnn.get(), library_context.stream), "cudnnSetStream");
    library_context.workspace = allocate_device(LibraryContext::workspace_bytes);
    library_context.zero_count = max_channels;
    library_context.zeros = allocate_device(max_channels * sizeof(float));
    check_status(cudaMemset(library_context.zeros.get(), 0, max_channels * sizeof(float)), "cudaMemset");
    context_.flush = allocate_device(flush_bytes);
  }

  /// In exclusive compute mode another process can then use the GPU.
  ~CudaPlanExecutor() override {
    context_ = {};
    cudaDeviceReset();
  }
  CudaPlanExecutor(const CudaPlanExecutor&) = delete;
  CudaPlanExecutor& operator=(const CudaPlanExecutor&) = delete;

  std::string device() const override { return describe_device(context_.properties); }

  std::string failure() const override {
    const cudaError_t status = cudaDeviceSynchronize();
    return status == cudaSuccess ? std::string() : cudaGetErrorString(status);
  }

  std::string versions() const override {
    int driver = 0, runtime = 0;
    check_status(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check_status(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    return fmt::format("CUDA {}, driver {}, cuDNN {}, cuBLAS {}", version(static_cast<std::size_t>(runtime), 1000),
                       version(static_cast<std::size_t>(driver), 1000), cudnnGetVersion(), cublasLtGetVersion());
  }

  std::unique_ptr<LoadedPlan> load(const Plan& plan, std::span<const algebra::Function> functions,
                                   const std::function<std::vector<float>(ValueId)>& values) override {
    return std::make_unique<CudaLoadedPlan>(plan, functions, values, context_);
  }

 private:
  static constexpr std::size_t max_channels = 1 << 20;
  CudaContext context_;
};

}  // namespace

std::optional<std::string> device_name() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return std::nullopt;
  return describe_device(properties);
}

void require_gpu() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  std::string reason = status == cudaSuccess ? "no device" : cudaGetErrorString(status);
  // 0: no driver is installed.
  if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
    reason += fmt::format(" (the driver supports CUDA {}, this build needs {})",
                          version(static_cast<std::size_t>(driver), 1000), version(CUDART_VERSION, 1000));
  throw runtime::InputError("GPU", "no GPU can be used: " + reason);
}

std::unique_ptr<PlanExecutor> PlanExecutor::open() {
  require_gpu();
  return std::make_unique<CudaPlanExecutor>();
}

#else

std::optional<std::string> device_name() { return std::nullopt; }

void require_gpu() {
  throw runtime::InputError("GPU",
                            "this build has no CUDA libraries; configure the preset cuda where they are installed");
}

std::unique_ptr<PlanExecutor> PlanExecutor::open() {
  require_gpu();
  return nullptr;
}

#endif

}  // namespace rulemill::optimize::gpu
