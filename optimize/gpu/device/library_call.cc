#ifdef RULEMILL_HAVE_GPU

#include "optimize/gpu/device/library_call.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "optimize/gpu/plan/assign_layouts.h"

// cuDNN 9 deprecates these calls in favor of graphs, which have no equally simple C API.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace rulemill::optimize::gpu {
namespace {

constexpr float one = 1, zero = 0;

/// Of a convolution's methods: a method is timed by this many runs, if the library's one was at most so much slower.
constexpr int timed_runs = 10;
constexpr float max_slowdown = 3;

using Pointer = std::function<float*(std::uint32_t)>;

std::vector<int> ints(std::span<const std::int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

/// cuDNN supports 2-D and 3-D images: a 1-D image becomes 2-D with height one. `neutral`: the parameter of the added
/// dimension.
std::vector<int> to_plane_params(std::span<const std::int64_t> numbers, int neutral) {
  std::vector<int> result = ints(numbers);
  if (result.size() == 1) result.insert(result.begin(), neutral);
  return result;
}

std::vector<int> to_image_dims(std::span<const std::int64_t> dims) {
  std::vector<int> result = ints(dims);
  if (result.size() == 3) result.insert(result.begin() + 2, 1);
  return result;
}

TensorDescriptor tensor_descriptor(const std::vector<int>& dims, Layout layout = Layout::RowMajor) {
  auto descriptor = create_handle<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  const std::vector<std::int64_t> dims64(dims.begin(), dims.end());
  const std::vector<int> tensor_strides = ints(strides(dims64, layout));
  check_status(cudnnSetTensorNdDescriptor(descriptor.get(), CUDNN_DATA_FLOAT, static_cast<int>(dims.size()),
                                          dims.data(), tensor_strides.data()),
               "cudnnSetTensorNdDescriptor");
  return descriptor;
}

TensorDescriptor image_descriptor(const Plan::Tensor& tensor) {
  return tensor_descriptor(to_image_dims(tensor.dims), tensor.layout);
}

class ConvolutionCall final : public LibraryCall {
 public:
  ConvolutionCall(const Plan& plan, const Plan::Step& step, const Convolution& op, const Pointer& pointer,
                  LibraryContext& context)
      : context_(context), op_(op), x_(pointer(op.image)), w_(pointer(op.filters)), y_(pointer(step.out)) {
    const auto &out = plan.tensors[step.out].dims, &filters = plan.tensors[op.filters].dims;
    const Layout layout = plan.tensors[step.out].layout;
    x_type_ = image_descriptor(plan.tensors[op.image]);
    y_type_ = image_descriptor(plan.tensors[step.out]);
    std::vector<int> bias_dims(std::max<std::size_t>(out.size(), 4), 1);
    bias_dims[1] = static_cast<int>(out[1]);
    bias_type_ = tensor_descriptor(bias_dims, layout);
    bias_ = op.epilogue.bias ? pointer(*op.epilogue.bias) : static_cast<float*>(context.zeros.get());
    RM_CHECK(op.epilogue.bias || context.zero_count >= static_cast<std::size_t>(out[1]),
             "the zero bias covers all channels");
    const std::vector<int> filter_dims = to_image_dims(filters);
    w_type_ = create_handle<FilterDescriptor>(cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor");
    // Only the format determines the order of dimensions; the dims stay in NCHW order.
    check_status(cudnnSetFilterNdDescriptor(w_type_.get(), CUDNN_DATA_FLOAT,
                                            layout == Layout::ChannelsLast ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                            static_cast<int>(filter_dims.size()), filter_dims.data()),
                 "cudnnSetFilterNdDescriptor");
    describe(op);
    // The fused call supports no other treatment of NaN.
    fused_activation_ = activation_descriptor(CUDNN_NOT_PROPAGATE_NAN);
    activation_ = activation_descriptor(CUDNN_PROPAGATE_NAN);
    const std::string key = gpu::describe(LayoutQuery{op, plan.tensors[op.image].dims, filters, out, layout});
    const auto known = context.methods.find(key);
    method_ = known != context.methods.end() ? known->second : fastest_method();
    context.methods.emplace(key, method_);
  }

  void enqueue() const override {
    const Outcome outcome = run();
    check_status(outcome.status, outcome.call);
  }

 private:
  /// The first call that was refused, or the last one.
  struct Outcome {
    cudnnStatus_t status;
    const char* call;
  };

  ActivationDescriptor activation_descriptor(cudnnNanPropagation_t nan) const {
    auto descriptor =
        create_handle<ActivationDescriptor>(cudnnCreateActivationDescriptor, "cudnnCreateActivationDescriptor");
    const auto mode = op_.epilogue.relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY;
    check_status(cudnnSetActivationDescriptor(descriptor.get(), mode, nan, 0), "cudnnSetActivationDescriptor");
    return descriptor;
  }

  void describe(const Convolution& op) {
    type_ = create_handle<ConvolutionDescriptor>(cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor");
    const std::vector<int> pad = to_plane_params(op.pad_begin, 0), stride = to_plane_params(op.stride, 1),
                           dilation = to_plane_params(op.dilation, 1);
    check_status(cudnnSetConvolutionNdDescriptor(type_.get(), static_cast<int>(pad.size()), pad.data(), stride.data(),
                                                 dilation.data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                 "cudnnSetConvolutionNdDescriptor");
    check_status(cudnnSetConvolutionGroupCount(type_.get(), static_cast<int>(op.groups)),
                 "cudnnSetConvolutionGroupCount");
    // Exact float32; no reduced precision.
    check_status(cudnnSetConvolutionMathType(type_.get(), CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");
  }

  /// Returns the fastest of the methods that run. The library times each algorithm once, which decides only which are
  /// worth several runs.
  ConvolutionMethod fastest_method() {
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> results{};
    int count = 0;
    check_status(cudnnFindConvolutionForwardAlgorithmEx(context_.cudnn.get(), x_type_.get(), x_, w_type_.get(), w_,
                                                        type_.get(), y_type_.get(), y_,
                                                        static_cast<int>(results.size()), &count, results.data(),
                                                        context_.workspace.get(), LibraryContext::workspace_bytes),
                 "cudnnFindConvolutionForwardAlgorithmEx");
    std::optional<ConvolutionMethod> fastest;
    float limit = std::numeric_limits<float>::infinity();
    double seconds = std::numeric_limits<double>::infinity();
    for (const auto& result : std::span(results).first(static_cast<std::size_t>(count))) {  // by increasing time
      if (!is_exact(result) || result.time > limit) continue;
      for (const bool fused : {false, true}) {
        if (fused && !op_.epilogue.bias && !op_.epilogue.relu) continue;
        method_ = {result.algo, fused};
        if (run().status != CUDNN_STATUS_SUCCESS) continue;
        limit = std::min(limit, max_slowdown * result.time);
        if (const double measured = seconds_of_method(); measured < seconds) {
          fastest = method_;
          seconds = measured;
        }
      }
    }
    if (!fastest) throw runtime::Error("GPU", "cuDNN has no algorithm for a convolution");
    return *fastest;
  }

  /// Runs in a graph, as in a plan: single calls take the processor longer than the GPU.
  double seconds_of_method() const {
    const GraphRun runs = capture(context_.stream, [&] {
      for (int run = 0; run < timed_runs; ++run) enqueue();
    });
    const Event begin = create_event(), end = create_event();
    check_status(cudaGraphLaunch(runs.get(), context_.stream), "cudaGraphLaunch");
    check_status(cudaEventRecord(begin.get(), context_.stream), "cudaEventRecord");
    check_status(cudaGraphLaunch(runs.get(), context_.stream), "cudaGraphLaunch");
    check_status(cudaEventRecord(end.get(), context_.stream), "cudaEventRecord");
    return seconds_between(begin, end);
  }

  /// Versions report either type for an algorithm that runs without tensor cores, as the descriptor demands.
  static bool is_exact(const cudnnConvolutionFwdAlgoPerf_t& result) {
    return result.status == CUDNN_STATUS_SUCCESS && result.memory <= LibraryContext::workspace_bytes &&
           (result.mathType == CUDNN_FMA_MATH || result.mathType == CUDNN_DEFAULT_MATH);
  }

  /// Enqueues the calls of the method.
  Outcome run() const {
    if (method_.fused)
      return {cudnnConvolutionBiasActivationForward(
                  context_.cudnn.get(), &one, x_type_.get(), x_, w_type_.get(), w_, type_.get(), method_.algorithm,
                  context_.workspace.get(), LibraryContext::workspace_bytes, &zero, y_type_.get(), y_, bias_type_.get(),
                  bias_, fused_activation_.get(), y_type_.get(), y_),
              "cudnnConvolutionBiasActivationForward"};
    Outcome outcome{cudnnConvolutionForward(context_.cudnn.get(), &one, x_type_.get(), x_, w_type_.get(), w_,
                                            type_.get(), method_.algorithm, context_.workspace.get(),
                                            LibraryContext::workspace_bytes, &zero, y_type_.get(), y_),
                    "cudnnConvolutionForward"};
    if (op_.epilogue.bias && outcome.status == CUDNN_STATUS_SUCCESS)
      outcome = {cudnnAddTensor(context_.cudnn.get(), &one, bias_type_.get(), bias_, &one, y_type_.get(), y_),
                 "cudnnAddTensor"};
    if (op_.epilogue.relu && outcome.status == CUDNN_STATUS_SUCCESS)
      outcome = {cudnnActivationForward(context_.cudnn.get(), activation_.get(), &one, y_type_.get(), y_, &zero,
                                        y_type_.get(), y_),
                 "cudnnActivationForward"};
    return outcome;
  }

  const LibraryContext& context_;
  Convolution op_;
  float *x_, *w_, *y_, *bias_ = nullptr;
  TensorDescriptor x_type_, y_type_, bias_type_;
  FilterDescriptor w_type_;
  ConvolutionDescriptor type_;
  ActivationDescriptor activation_, fused_activation_;
  ConvolutionMethod method_;
};

class PoolingCall final : public LibraryCall {
 public:
  PoolingCall(const Plan& plan, const Plan::Step& step, const Pooling& op, const Pointer& pointer,
              const LibraryContext& context)
      : context_(context),
        x_(pointer(op.image)),
        y_(pointer(step.out)),
        x_type_(image_descriptor(plan.tensors[op.image])),
        y_type_(image_descriptor(plan.tensors[step.out])),
        type_(create_handle<PoolingDescriptor>(cudnnCreatePoolingDescriptor, "cudnnCreatePoolingDescriptor")) {
    const std::vector<int> window = to_plane_params(op.window, 1), pad = to_plane_params(op.pad, 0),
                           stride = to_plane_params(op.stride, 1);
    check_status(cudnnSetPoolingNdDescriptor(
                     type_.get(), op.mean ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING : CUDNN_POOLING_MAX,
                     CUDNN_PROPAGATE_NAN, static_cast<int>(window.size()), window.data(), pad.data(), stride.data()),
                 "cudnnSetPoolingNdDescriptor");
  }

  void enqueue() const override {
    check_status(
        cudnnPoolingForward(context_.cudnn.get(), type_.get(), &one, x_type_.get(), x_, &zero, y_type_.get(), y_),
        "cudnnPoolingForward");
  }

 private:
  const LibraryContext& context_;
  float *x_, *y_;
  TensorDescriptor x_type_, y_type_;
  PoolingDescriptor type_;
};

class SoftmaxCall final : public LibraryCall {
 public:
  SoftmaxCall(const Plan::Step& step, const Softmax& op, const Pointer& pointer, const LibraryContext& context)
      : context_(context),
        x_(pointer(op.input)),
        y_(pointer(step.out)),
        type_(tensor_descriptor(ints(std::array{op.outer, op.length, op.inner, std::int64_t{1}}))) {}

  void enqueue() const override {
    check_status(cudnnSoftmaxForward(context_.cudnn.get(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one,
                                     type_.get(), x_, &zero, type_.get(), y_),
                 "cudnnSoftmaxForward");
  }

 private:
  const LibraryContext& context_;
  float *x_, *y_;
  TensorDescriptor type_;
};

/// cuBLAS is column-major: a row-major matrix is its own transpose there. out = left · right is outᵀ = rightᵀ · leftᵀ.
class ProductCall final : public LibraryCall {
 public:
  ProductCall(const Plan::Step& step, const Product& op, const Pointer& pointer, const LibraryContext& context)
      : context_(context),
        scale_(static_cast<float>(op.scale)),
        a_(pointer(op.right)),
        b_(pointer(op.left)),
        c_(pointer(step.out)),
        type_(create_handle<MatmulDescriptor>(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate", CUBLAS_COMPUTE_32F,
                                              CUDA_R_32F)) {
    const CublasMatrix right = cublas_matrix(op.depth, op.right_strides.row, op.columns, op.right_strides.column);
    const CublasMatrix left = cublas_matrix(op.rows, op.left_strides.row, op.depth, op.left_strides.column);
    const CublasMatrix out = cublas_matrix(op.rows, op.out_strides.row, op.columns, op.out_strides.column);
    RM_CHECK(!out.is_transposed, "a product whose columns are not one after the neutral");
    set(CUBLASLT_MATMUL_DESC_TRANSA, right.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, left.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set_epilogue(op.epilogue, pointer);
    a_type_ = layout(right, op.batches, op.right_strides.batch);
    b_type_ = layout(left, op.batches, op.left_strides.batch);
    c_type_ = layout(out, op.batches, op.out_strides.batch);
    select_algorithm();
  }

  void enqueue() const override {
    check_status(cublasLtMatmul(context_.cublas.get(), type_.get(), &scale_, a_, a_type_.get(), b_, b_type_.get(),
                                &zero, c_, c_type_.get(), c_, c_type_.get(), &algorithm_.algo, context_.workspace.get(),
                                LibraryContext::workspace_bytes, context_.stream),
                 "cublasLtMatmul");
  }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check_status(cublasLtMatmulDescSetAttribute(type_.get(), attribute, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }

  void set_epilogue(const Epilogue& epilogue, const Pointer& pointer) {
    const auto cublas_epilogue = epilogue.bias ? (epilogue.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                               : (epilogue.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, cublas_epilogue);
    if (epilogue.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(pointer(*epilogue.bias)));
  }

  static MatrixLayout layout(const CublasMatrix& matrix, std::int64_t batches, std::int64_t stride) {
    auto descriptor = create_handle<MatrixLayout>(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate", CUDA_R_32F,
                                                  static_cast<std::uint64_t>(matrix.rows),
                                                  static_cast<std::uint64_t>(matrix.columns), matrix.leading);
    const auto count = static_cast<std::int32_t>(batches);
    check_status(
        cublasLtMatrixLayoutSetAttribute(descriptor.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
        "cublasLtMatrixLayoutSetAttribute");
    check_status(cublasLtMatrixLayoutSetAttribute(descriptor.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &stride, sizeof stride),
                 "cublasLtMatrixLayoutSetAttribute");
    return descriptor;
  }

  /// Selects the library's preferred algorithm.
  void select_algorithm() {
    const auto preference =
        create_handle<MatmulPreference>(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
    const std::size_t max_workspace = LibraryContext::workspace_bytes;
    check_status(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &max_workspace, sizeof max_workspace),
                 "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    check_status(cublasLtMatmulAlgoGetHeuristic(context_.cublas.get(), type_.get(), a_type_.get(), b_type_.get(),
                                                c_type_.get(), c_type_.get(), preference.get(), 1, &algorithm_, &found),
                 "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw runtime::Error("GPU", "cuBLAS has no algorithm for a product");
  }

  const LibraryContext& context_;
  float scale_;
  float *a_, *b_, *c_;
  MatmulDescriptor type_;
  MatrixLayout a_type_, b_type_, c_type_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace

std::unique_ptr<LibraryCall> make_library_call(const Plan& plan, const Plan::Step& step, const Pointer& pointer,
                                               LibraryContext& context) {
  if (const auto* op = std::get_if<Product>(&step.op))
    return std::make_unique<ProductCall>(step, *op, pointer, context);
  if (const auto* op = std::get_if<Convolution>(&step.op))
    return std::make_unique<ConvolutionCall>(plan, step, *op, pointer, context);
  if (const auto* op = std::get_if<Pooling>(&step.op))
    return std::make_unique<PoolingCall>(plan, step, *op, pointer, context);
  return std::make_unique<SoftmaxCall>(step, std::get<Softmax>(step.op), pointer, context);
}

}  // namespace rulemill::optimize::gpu

#endif
