#ifdef RULEMILL_HAVE_GPU

#include "optimize/gpu/library_call.h"

#include <algorithm>
#include <array>

// cuDNN 9 marks these calls as older than its graphs, which have no C form that is as plain; they are kept and tuned.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace rulemill::optimize::gpu {

namespace {

constexpr float one = 1, zero = 0;

using Pointer = std::function<float*(std::uint32_t)>;

std::vector<int> ints(std::span<const std::int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

/// cuDNN knows planes and volumes: a line is a plane of height one. `other` is the neutral element of what is said.
std::vector<int> planes(std::span<const std::int64_t> numbers, int other) {
  std::vector<int> result = ints(numbers);
  if (result.size() == 1) result.insert(result.begin(), other);
  return result;
}

std::vector<int> plane_dims(std::span<const std::int64_t> dims) {
  std::vector<int> result = ints(dims);
  if (result.size() == 3) result.insert(result.begin() + 2, 1);
  return result;
}

TensorDescriptor tensor_descriptor(const std::vector<int>& dims, Layout layout = Layout::RowMajor) {
  auto made = made_by<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  const std::vector<std::int64_t> wide(dims.begin(), dims.end());
  const std::vector<int> apart = ints(strides(wide, layout));
  must(cudnnSetTensorNdDescriptor(made.get(), CUDNN_DATA_FLOAT, static_cast<int>(dims.size()), dims.data(),
                                  apart.data()),
       "cudnnSetTensorNdDescriptor");
  return made;
}

TensorDescriptor image_descriptor(const Plan::Tensor& tensor) {
  return tensor_descriptor(plane_dims(tensor.dims), tensor.layout);
}

class ConvolutionCall final : public LibraryCall {
 public:
  ConvolutionCall(const Plan& plan, const Plan::Step& step, const Convolution& form, const Pointer& pointer,
                  const Libraries& libraries)
      : libraries_(libraries), form_(form), x_(pointer(form.image)), w_(pointer(form.filters)), y_(pointer(step.out)) {
    const auto &out = plan.tensors[step.out].dims, &filters = plan.tensors[form.filters].dims;
    const Layout layout = plan.tensors[step.out].layout;
    x_type_ = image_descriptor(plan.tensors[form.image]);
    y_type_ = image_descriptor(plan.tensors[step.out]);
    std::vector<int> bias_dims(std::max<std::size_t>(out.size(), 4), 1);
    bias_dims[1] = static_cast<int>(out[1]);
    bias_type_ = tensor_descriptor(bias_dims, layout);
    bias_ = form.epilogue.bias ? pointer(*form.epilogue.bias) : static_cast<float*>(libraries.zeros.get());
    RM_CHECK(form.epilogue.bias || libraries.zero_count >= static_cast<std::size_t>(out[1]), "too few zeros");
    const std::vector<int> filter_dims = plane_dims(filters);
    w_type_ = made_by<FilterDescriptor>(cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor");
    // The order of dimensions is said by the format alone: their lengths stay where they are.
    must(cudnnSetFilterNdDescriptor(w_type_.get(), CUDNN_DATA_FLOAT,
                                    layout == Layout::ChannelsLast ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                    static_cast<int>(filter_dims.size()), filter_dims.data()),
         "cudnnSetFilterNdDescriptor");
    describe(form);
    activation_ = made_by<ActivationDescriptor>(cudnnCreateActivationDescriptor, "cudnnCreateActivationDescriptor");
    must(cudnnSetActivationDescriptor(activation_.get(),
                                      form.epilogue.relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                                      CUDNN_PROPAGATE_NAN, 0),
         "cudnnSetActivationDescriptor");
    choose();
  }

  void enqueue() const override {
    if (at_once_) return must(all_at_once(), "cudnnConvolutionBiasActivationForward");
    must(cudnnConvolutionForward(libraries_.cudnn.get(), &one, x_type_.get(), x_, w_type_.get(), w_, type_.get(),
                                 algorithm_, libraries_.workspace.get(), Libraries::workspace_bytes, &zero,
                                 y_type_.get(), y_),
         "cudnnConvolutionForward");
    if (form_.epilogue.bias)
      must(cudnnAddTensor(libraries_.cudnn.get(), &one, bias_type_.get(), bias_, &one, y_type_.get(), y_),
           "cudnnAddTensor");
    if (form_.epilogue.relu)
      must(cudnnActivationForward(libraries_.cudnn.get(), activation_.get(), &one, y_type_.get(), y_, &zero,
                                  y_type_.get(), y_),
           "cudnnActivationForward");
  }

 private:
  void describe(const Convolution& form) {
    type_ = made_by<ConvolutionDescriptor>(cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor");
    const std::vector<int> pad = planes(form.front, 0), stride = planes(form.stride, 1),
                           dilation = planes(form.dilation, 1);
    must(cudnnSetConvolutionNdDescriptor(type_.get(), static_cast<int>(pad.size()), pad.data(), stride.data(),
                                         dilation.data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
         "cudnnSetConvolutionNdDescriptor");
    must(cudnnSetConvolutionGroupCount(type_.get(), static_cast<int>(form.groups)), "cudnnSetConvolutionGroupCount");
    // float32 as models mean it: no shorter numbers inside.
    must(cudnnSetConvolutionMathType(type_.get(), CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");
  }

  /// The fastest algorithm by trying; then whether the library also adds and clips in the same call.
  void choose() {
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> tried{};
    int count = 0;
    must(cudnnFindConvolutionForwardAlgorithmEx(libraries_.cudnn.get(), x_type_.get(), x_, w_type_.get(), w_,
                                                type_.get(), y_type_.get(), y_, static_cast<int>(tried.size()), &count,
                                                tried.data(), libraries_.workspace.get(), Libraries::workspace_bytes),
         "cudnnFindConvolutionForwardAlgorithmEx");
    const auto* best = std::find_if(tried.data(), tried.data() + count, [](const auto& each) {
      return each.status == CUDNN_STATUS_SUCCESS && each.mathType == CUDNN_FMA_MATH &&
             each.memory <= Libraries::workspace_bytes;
    });
    if (best == tried.data() + count) throw runtime::Error("GPU", "cuDNN has no algorithm for a convolution");
    algorithm_ = best->algo;
    if (!form_.epilogue.bias && !form_.epilogue.relu) return;
    // Without a function to apply, this call knows one algorithm only.
    const auto plain = algorithm_;
    if (!form_.epilogue.relu) algorithm_ = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    at_once_ = all_at_once() == CUDNN_STATUS_SUCCESS;
    if (!at_once_) algorithm_ = plain;
  }

  cudnnStatus_t all_at_once() const {
    return cudnnConvolutionBiasActivationForward(libraries_.cudnn.get(), &one, x_type_.get(), x_, w_type_.get(), w_,
                                                 type_.get(), algorithm_, libraries_.workspace.get(),
                                                 Libraries::workspace_bytes, &zero, y_type_.get(), y_, bias_type_.get(),
                                                 bias_, activation_.get(), y_type_.get(), y_);
  }

  const Libraries& libraries_;
  Convolution form_;
  float *x_, *w_, *y_, *bias_ = nullptr;
  TensorDescriptor x_type_, y_type_, bias_type_;
  FilterDescriptor w_type_;
  ConvolutionDescriptor type_;
  ActivationDescriptor activation_;
  cudnnConvolutionFwdAlgo_t algorithm_ = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  bool at_once_ = false;
};

class PoolingCall final : public LibraryCall {
 public:
  PoolingCall(const Plan& plan, const Plan::Step& step, const Pooling& form, const Pointer& pointer,
              const Libraries& libraries)
      : libraries_(libraries),
        x_(pointer(form.image)),
        y_(pointer(step.out)),
        x_type_(image_descriptor(plan.tensors[form.image])),
        y_type_(image_descriptor(plan.tensors[step.out])),
        type_(made_by<PoolingDescriptor>(cudnnCreatePoolingDescriptor, "cudnnCreatePoolingDescriptor")) {
    const std::vector<int> window = planes(form.window, 1), pad = planes(form.pad, 0), stride = planes(form.stride, 1);
    must(cudnnSetPoolingNdDescriptor(
             type_.get(), form.mean ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING : CUDNN_POOLING_MAX,
             CUDNN_PROPAGATE_NAN, static_cast<int>(window.size()), window.data(), pad.data(), stride.data()),
         "cudnnSetPoolingNdDescriptor");
  }

  void enqueue() const override {
    must(cudnnPoolingForward(libraries_.cudnn.get(), type_.get(), &one, x_type_.get(), x_, &zero, y_type_.get(), y_),
         "cudnnPoolingForward");
  }

 private:
  const Libraries& libraries_;
  float *x_, *y_;
  TensorDescriptor x_type_, y_type_;
  PoolingDescriptor type_;
};

class SoftmaxCall final : public LibraryCall {
 public:
  SoftmaxCall(const Plan::Step& step, const Softmax& form, const Pointer& pointer, const Libraries& libraries)
      : libraries_(libraries),
        x_(pointer(form.input)),
        y_(pointer(step.out)),
        type_(tensor_descriptor(ints(std::array{form.outer, form.length, form.inner, std::int64_t{1}}))) {}

  void enqueue() const override {
    must(cudnnSoftmaxForward(libraries_.cudnn.get(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one,
                             type_.get(), x_, &zero, type_.get(), y_),
         "cudnnSoftmaxForward");
  }

 private:
  const Libraries& libraries_;
  float *x_, *y_;
  TensorDescriptor type_;
};

/// cuBLAS counts by columns: a matrix of ours, read so, is its transpose. out = left · right is outᵀ = rightᵀ · leftᵀ.
class ProductCall final : public LibraryCall {
 public:
  ProductCall(const Plan::Step& step, const Product& form, const Pointer& pointer, const Libraries& libraries)
      : libraries_(libraries),
        scale_(static_cast<float>(form.scale)),
        a_(pointer(form.right)),
        b_(pointer(form.left)),
        c_(pointer(step.out)),
        type_(made_by<MatmulDescriptor>(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate", CUBLAS_COMPUTE_32F,
                                        CUDA_R_32F)) {
    const CublasMatrix right =
        cublas_matrix(form.depth, form.right_strides.row, form.columns, form.right_strides.column);
    const CublasMatrix left = cublas_matrix(form.rows, form.left_strides.row, form.depth, form.left_strides.column);
    const CublasMatrix out = cublas_matrix(form.rows, form.out_strides.row, form.columns, form.out_strides.column);
    RM_CHECK(!out.turned, "a product whose columns are not one after the other");
    set(CUBLASLT_MATMUL_DESC_TRANSA, right.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, left.turned ? CUBLAS_OP_T : CUBLAS_OP_N);
    finish_with(form.epilogue, pointer);
    a_type_ = layout(right, form.batches, form.right_strides.batch);
    b_type_ = layout(left, form.batches, form.left_strides.batch);
    c_type_ = layout(out, form.batches, form.out_strides.batch);
    choose();
  }

  void enqueue() const override {
    must(cublasLtMatmul(libraries_.cublas.get(), type_.get(), &scale_, a_, a_type_.get(), b_, b_type_.get(), &zero, c_,
                        c_type_.get(), c_, c_type_.get(), &algorithm_.algo, libraries_.workspace.get(),
                        Libraries::workspace_bytes, libraries_.stream),
         "cublasLtMatmul");
  }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    must(cublasLtMatmulDescSetAttribute(type_.get(), attribute, &value, sizeof value),
         "cublasLtMatmulDescSetAttribute");
  }

  void finish_with(const Epilogue& epilogue, const Pointer& pointer) {
    const auto what = epilogue.bias ? (epilogue.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                    : (epilogue.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, what);
    if (epilogue.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(pointer(*epilogue.bias)));
  }

  static MatrixLayout layout(const CublasMatrix& matrix, std::int64_t batches, std::int64_t stride) {
    auto made = made_by<MatrixLayout>(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate", CUDA_R_32F,
                                      static_cast<std::uint64_t>(matrix.rows),
                                      static_cast<std::uint64_t>(matrix.columns), matrix.leading);
    const auto count = static_cast<std::int32_t>(batches);
    must(cublasLtMatrixLayoutSetAttribute(made.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
         "cublasLtMatrixLayoutSetAttribute");
    must(cublasLtMatrixLayoutSetAttribute(made.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                          sizeof stride),
         "cublasLtMatrixLayoutSetAttribute");
    return made;
  }

  /// What the library thinks is fastest.
  void choose() {
    const auto preference = made_by<MatmulPreference>(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
    const std::size_t most = Libraries::workspace_bytes;
    must(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                              sizeof most),
         "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    must(cublasLtMatmulAlgoGetHeuristic(libraries_.cublas.get(), type_.get(), a_type_.get(), b_type_.get(),
                                        c_type_.get(), c_type_.get(), preference.get(), 1, &algorithm_, &found),
         "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw runtime::Error("GPU", "cuBLAS has no algorithm for a product");
  }

  const Libraries& libraries_;
  float scale_;
  float *a_, *b_, *c_;
  MatmulDescriptor type_;
  MatrixLayout a_type_, b_type_, c_type_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace

std::unique_ptr<LibraryCall> library_call(const Plan& plan, const Plan::Step& step, const Pointer& pointer,
                                          const Libraries& libraries) {
  if (const auto* form = std::get_if<Product>(&step.form))
    return std::make_unique<ProductCall>(step, *form, pointer, libraries);
  if (const auto* form = std::get_if<Convolution>(&step.form))
    return std::make_unique<ConvolutionCall>(plan, step, *form, pointer, libraries);
  if (const auto* form = std::get_if<Pooling>(&step.form))
    return std::make_unique<PoolingCall>(plan, step, *form, pointer, libraries);
  return std::make_unique<SoftmaxCall>(step, std::get<Softmax>(step.form), pointer, libraries);
}

}  // namespace rulemill::optimize::gpu

#endif
