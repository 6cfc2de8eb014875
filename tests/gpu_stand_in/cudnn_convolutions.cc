// cuDNN's convolutions, with a bias and an activation.
#include <algorithm>
#include <cmath>

#include "tests/gpu_stand_in/cudnn_types.h"

namespace rulemill::gpu_stand_in {
namespace {

struct FilterInfo final : Object {
  static constexpr const char* name = "filter descriptor";
  Dims dims;  // in NCHW order, whatever the format
  bool channels_last = false;

  /// The filters as a tensor, with the strides of their format.
  TensorInfo tensor() const {
    TensorInfo info;
    info.dims = dims;
    info.strides.assign(dims.size(), 1);
    int stride = channels_last ? dims[1] : 1;
    for (std::size_t d = dims.size(); d-- > 2;) {
      info.strides[d] = stride;
      stride *= dims[d];
    }
    info.strides[1] = channels_last ? 1 : stride;
    info.strides[0] = channels_last ? stride : stride * dims[1];
    return info;
  }
};

struct ConvolutionInfo final : Object {
  static constexpr const char* name = "convolution descriptor";
  Dims pad, stride, dilation;
  int groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

struct ActivationInfo final : Object {
  static constexpr const char* name = "activation descriptor";
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;

  double apply(double value) const {
    if (mode == CUDNN_ACTIVATION_IDENTITY) return value;
    if (std::isnan(value)) return nan == CUDNN_PROPAGATE_NAN ? value : 0;
    return std::max(value, 0.0);
  }
};

/// A convolution whose arguments have been checked.
struct CheckedConvolution {
  TensorInfo x, w, y;
  ConvolutionInfo info;
  const float *x_data, *w_data;
  float* y_data;

  double at(const Dims& to) const {
    const int filters_per_group = w.dims[0] / info.groups;
    const Dims window(w.dims.begin() + 2, w.dims.end());
    Dims first;
    for (std::size_t d = 0; d < window.size(); ++d) first.push_back(to[d + 2] * info.stride[d] - info.pad[d]);
    const int first_channel = to[1] / filters_per_group * w.dims[1];
    // In either format the elements of a window have one distance from each other.
    const std::int64_t step = w.strides.back();
    double sum = 0;
    for (int q = 0; q < w.dims[1]; ++q) {
      const float* taps = w_data + std::int64_t{to[1]} * w.strides[0] + std::int64_t{q} * w.strides[1];
      for_each_in_window(x, x_data, to[0], first_channel + q, first, window, info.dilation,
                         [&](std::int64_t tap, const float* value) {
                           if (value != nullptr) sum += static_cast<double>(*value) * taps[tap * step];
                         });
    }
    return sum;
  }
};

CheckedConvolution checked(cudnnTensorDescriptor_t x_descriptor, const void* x_data,
                           cudnnFilterDescriptor_t w_descriptor, const void* w_data,
                           cudnnConvolutionDescriptor_t descriptor, cudnnTensorDescriptor_t y_descriptor,
                           void* y_data) {
  const auto& filters = find<FilterInfo>(w_descriptor);
  require(!filters.dims.empty(), "a filter descriptor has not been set");
  CheckedConvolution made{tensor_info(x_descriptor),         filters.tensor(),
                          tensor_info(y_descriptor),         find<ConvolutionInfo>(descriptor),
                          static_cast<const float*>(x_data), static_cast<const float*>(w_data),
                          static_cast<float*>(y_data)};
  const auto& [x, w, y, info, x_values, w_values, y_values] = made;
  require(w.dims.size() == x.dims.size() && y.dims.size() == x.dims.size() && info.pad.size() + 2 == x.dims.size(),
          "the ranks differ");
  require(x.dims[1] == w.dims[1] * info.groups && w.dims[0] % info.groups == 0, "the groups do not divide channels");
  require(y.dims[0] == x.dims[0] && y.dims[1] == w.dims[0], "the result has other batches or channels");
  for (std::size_t d = 0; d < info.pad.size(); ++d) {
    const int window = (w.dims[d + 2] - 1) * info.dilation[d] + 1;
    require(y.dims[d + 2] == 1 + (x.dims[d + 2] + 2 * info.pad[d] - window) / info.stride[d],
            "the result has another size");
  }
  for (const TensorInfo* tensor : {&x, &y}) {
    const bool has_stride_one = tensor->strides[1] == 1;
    require(tensor->dims[1] == 1 || tensor->elements() == static_cast<std::size_t>(tensor->dims[0] * tensor->dims[1]) ||
                has_stride_one == filters.channels_last,
            "the filters have another format than the images");
  }
  require_tensor(x, x_data, "x");
  require_tensor(w, w_data, "w");
  require_tensor(y, y_data, "y");
  return made;
}

constexpr std::size_t precomputed_bytes = 4096;  // the workspace of an algorithm with precomputed indices

void require_workspace(cudnnConvolutionFwdAlgo_t algorithm, const void* workspace, std::size_t bytes) {
  if (algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) return;
  require(bytes >= precomputed_bytes, "the workspace is too small");
  require_memory(workspace, precomputed_bytes, "the workspace");
}

std::string kernel_name(const char* call, cudnnConvolutionFwdAlgo_t algorithm) {
  return std::string(call) + " " + std::to_string(algorithm);
}

}  // namespace
}  // namespace rulemill::gpu_stand_in

using namespace rulemill::gpu_stand_in;

extern "C" {

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { create<FilterInfo>(descriptor); });
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { destroy_object(descriptor); });
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int* dims) {
  return call<cudnnStatus_t>(__func__, [&] {
    require(type == CUDNN_DATA_FLOAT && count >= 4 && count <= CUDNN_DIM_MAX, "filters of floats have 4 to 8 dims");
    require(format == CUDNN_TENSOR_NCHW || format == CUDNN_TENSOR_NHWC, "an unknown format");
    auto& filters = find<FilterInfo>(descriptor);
    filters.dims.assign(dims, dims + count);
    filters.channels_last = format == CUDNN_TENSOR_NHWC;
  });
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { create<ConvolutionInfo>(descriptor); });
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { destroy_object(descriptor); });
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int count, const int* pad,
                                              const int* stride, const int* dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
  return call<cudnnStatus_t>(__func__, [&] {
    require(count == 2 || count == 3, "a convolution has 2 or 3 dims");
    require(mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT, "another convolution");
    for (int d = 0; d < count; ++d)
      require(pad[d] >= 0 && stride[d] > 0 && dilation[d] > 0, "a negative padding, or no stride or dilation");
    auto& info = find<ConvolutionInfo>(descriptor);
    info.pad.assign(pad, pad + count);
    info.stride.assign(stride, stride + count);
    info.dilation.assign(dilation, dilation + count);
  });
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  return call<cudnnStatus_t>(__func__, [&] {
    require(groups > 0, "no group");
    find<ConvolutionInfo>(descriptor).groups = groups;
  });
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  return call<cudnnStatus_t>(__func__, [&] { find<ConvolutionInfo>(descriptor).math = math; });
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { create<ActivationInfo>(descriptor); });
}

cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { destroy_object(descriptor); });
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double) {
  return call<cudnnStatus_t>(__func__, [&] {
    require(mode == CUDNN_ACTIVATION_RELU || mode == CUDNN_ACTIVATION_IDENTITY, "another activation");
    find<ActivationInfo>(descriptor).mode = mode;
    find<ActivationInfo>(descriptor).nan = nan;
  });
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t descriptor, const void* alpha,
                                     cudnnTensorDescriptor_t x_descriptor, const void* x_data, const void* beta,
                                     cudnnTensorDescriptor_t y_descriptor, void* y_data) {
  return call<cudnnStatus_t>(__func__, [&] {
    const ActivationInfo activation = find<ActivationInfo>(descriptor);
    const TensorInfo x = tensor_info(x_descriptor), y = tensor_info(y_descriptor);
    require(activation.mode != CUDNN_ACTIVATION_IDENTITY, "the identity is for fused calls only");
    require(x.dims == y.dims && (x_data != y_data || x.strides == y.strides), "x and y differ");
    require_tensor(x, x_data, "x");
    require_tensor(y, y_data, "y");
    const Blend blend(alpha, beta);
    enqueue(handle, __func__, y.elements(),
            [=, in = static_cast<const float*>(x_data), out = static_cast<float*>(y_data)] {
              for_each_index(
                  y.dims, [&](const Dims& at) { blend.store(activation.apply(in[x.offset(at)]), out[y.offset(at)]); });
            });
  });
}

/// Reports two algorithms that work and one that needs too much memory. As documented, it overwrites y.
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t x_descriptor,
                                                     const void* x_data, cudnnFilterDescriptor_t w_descriptor,
                                                     const void* w_data, cudnnConvolutionDescriptor_t descriptor,
                                                     cudnnTensorDescriptor_t y_descriptor, void* y_data, int requested,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* results,
                                                     void* workspace, std::size_t bytes) {
  return call<cudnnStatus_t>(__func__, [&] {
    forbid_in_capture();
    find<Cudnn>(handle);
    const auto found = checked(x_descriptor, x_data, w_descriptor, w_data, descriptor, y_descriptor, y_data);
    require(requested > 0, "no result is requested");
    require_memory(workspace, bytes, "the workspace");
    std::fill_n(found.y_data, found.y.bytes() / sizeof(float), std::nanf(""));
    const auto math = faults().math_type ? static_cast<cudnnMathType_t>(*faults().math_type) : found.info.math;
    const cudnnConvolutionFwdAlgoPerf_t all[] = {
        {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_STATUS_SUCCESS, 0.05F, bytes + 1, CUDNN_DETERMINISTIC, math, {}},
        {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_SUCCESS, 0.1F, 0, CUDNN_DETERMINISTIC, math, {}},
        {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
         CUDNN_STATUS_SUCCESS,
         0.2F,
         precomputed_bytes,
         CUDNN_DETERMINISTIC,
         math,
         {}},
        {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, -1, 0, CUDNN_DETERMINISTIC, math, {}}};
    *returned = std::min(requested, 4);
    std::copy_n(all, *returned, results);
  });
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_descriptor,
                                      const void* x_data, cudnnFilterDescriptor_t w_descriptor, const void* w_data,
                                      cudnnConvolutionDescriptor_t descriptor, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, std::size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_descriptor, void* y_data) {
  return call<cudnnStatus_t>(__func__, [&] {
    const auto convolution = checked(x_descriptor, x_data, w_descriptor, w_data, descriptor, y_descriptor, y_data);
    require_workspace(algorithm, workspace, bytes);
    const Blend blend(alpha, beta);
    enqueue(handle, kernel_name(__func__, algorithm), convolution.y.elements(), [=] {
      for_each_index(convolution.y.dims, [&](const Dims& to) {
        blend.store(convolution.at(to), convolution.y_data[convolution.y.offset(to)]);
      });
    });
  });
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_descriptor, const void* x_data,
    cudnnFilterDescriptor_t w_descriptor, const void* w_data, cudnnConvolutionDescriptor_t descriptor,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, std::size_t bytes, const void* alpha2,
    cudnnTensorDescriptor_t z_descriptor, const void* z_data, cudnnTensorDescriptor_t bias_descriptor,
    const void* bias_data, cudnnActivationDescriptor_t activation_descriptor, cudnnTensorDescriptor_t y_descriptor,
    void* y_data) {
  return call<cudnnStatus_t>(__func__, [&] {
    const auto convolution = checked(x_descriptor, x_data, w_descriptor, w_data, descriptor, y_descriptor, y_data);
    require_workspace(algorithm, workspace, bytes);
    const ActivationInfo activation = find<ActivationInfo>(activation_descriptor);
    const TensorInfo bias = tensor_info(bias_descriptor), &z = tensor_info(z_descriptor);
    const Blend blend(alpha, alpha2);
    require(z.dims == convolution.y.dims && z.strides == convolution.y.strides, "z and y differ");
    require(blend.beta == 0 || z_data == y_data, "a sum with another tensor");
    require_tensor(bias, bias_data, "the bias");
    const bool is_supported =
        activation.nan == CUDNN_NOT_PROPAGATE_NAN && bias.dims[0] == 1 && bias.strides[1] == 1 &&
        bias.dims[1] == convolution.w.dims[0] &&
        (activation.mode == CUDNN_ACTIVATION_RELU || algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
    if (!is_supported) throw Failure{CUDNN_STATUS_NOT_SUPPORTED};
    enqueue(handle, kernel_name(__func__, algorithm), convolution.y.elements(),
            [=, of_channel = static_cast<const float*>(bias_data)] {
              for_each_index(convolution.y.dims, [&](const Dims& to) {
                float& out = convolution.y_data[convolution.y.offset(to)];
                float sum = out;
                blend.store(convolution.at(to), sum);
                out = static_cast<float>(activation.apply(sum + of_channel[to[1]]));
              });
            });
  });
}

}  // extern "C"
