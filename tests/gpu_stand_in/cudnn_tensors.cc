// cuDNN's handles and tensors, and the calls that take no filters: sums, activations, pools and softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/gpu_stand_in/cudnn_types.h"

namespace rulemill::gpu_stand_in {

void use_device();

namespace {

struct PoolingInfo final : Object {
  static constexpr const char* name = "pooling descriptor";
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  Dims window, pad, stride;
};

/// What the result of a window along a dimension counts.
int pooled_length(int length, int window, int pad, int stride) { return 1 + (length + 2 * pad - window) / stride; }

double pooled(const PoolingInfo& pooling, const TensorInfo& x, const float* values, const Dims& to) {
  Dims first;
  for (std::size_t d = 0; d < pooling.window.size(); ++d)
    first.push_back(to[d + 2] * pooling.stride[d] - pooling.pad[d]);
  double sum = 0, maximum = -std::numeric_limits<double>::infinity();
  std::int64_t count = 0;
  for_each_in_window(x, values, to[0], to[1], first, pooling.window, Dims(first.size(), 1),
                     [&](std::int64_t number, const float* value) {
                       count = number + 1;
                       if (value == nullptr) return;
                       sum += *value;
                       if (std::isnan(*value) || *value > maximum) maximum = *value;
                     });
  return pooling.mode == CUDNN_POOLING_MAX ? maximum : sum / static_cast<double>(count);
}

void softmax_line(const TensorInfo& x, const float* in, float* out, const Blend& blend) {
  const int length = x.dims[1], stride = x.strides[1];
  double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int i = 0; i < length; ++i) maximum = std::max(maximum, static_cast<double>(in[std::int64_t{i} * stride]));
  for (int i = 0; i < length; ++i) sum += std::exp(in[std::int64_t{i} * stride] - maximum);
  for (int i = 0; i < length; ++i)
    blend.store(std::exp(in[std::int64_t{i} * stride] - maximum) / sum, out[std::int64_t{i} * stride]);
}

}  // namespace

std::size_t TensorInfo::elements() const {
  std::size_t count = 1;
  for (const int dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

std::size_t TensorInfo::bytes() const {
  Dims last;
  for (const int dim : dims) last.push_back(dim - 1);
  return (static_cast<std::size_t>(offset(last)) + 1) * sizeof(float);
}

std::int64_t TensorInfo::offset(const Dims& index) const {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) sum += std::int64_t{dims[d] == 1 ? 0 : index[d]} * strides[d];
  return sum;
}

Blend::Blend(const void* of_alpha, const void* of_beta)
    : alpha(*static_cast<const float*>(of_alpha)), beta(*static_cast<const float*>(of_beta)) {}

void Blend::store(double value, float& out) const {
  out = static_cast<float>(alpha * value + (beta == 0 ? 0 : beta * static_cast<double>(out)));
}

const TensorInfo& tensor_info(cudnnTensorDescriptor_t descriptor) {
  const auto& tensor = find<TensorInfo>(descriptor);
  require(!tensor.dims.empty(), "a tensor descriptor has not been set");
  return tensor;
}

void require_tensor(const TensorInfo& tensor, const void* memory, const char* what) {
  constexpr std::size_t alignment = 16;
  require_memory(memory, tensor.bytes(), what, alignment);
}

void enqueue(cudnnHandle_t handle, const std::string& kernel, std::size_t elements, std::function<void()> work) {
  submit(find<Cudnn>(handle).stream, kernel, elements, std::move(work));
}

}  // namespace rulemill::gpu_stand_in

using namespace rulemill::gpu_stand_in;

extern "C" {

std::size_t cudnnGetVersion() {
  call<cudnnStatus_t>(__func__, [] {});
  return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  call<cudnnStatus_t>(__func__, [] {});
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "an error of the stand-in";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return call<cudnnStatus_t>(__func__, [&] {
    use_device();
    create<Cudnn>(handle);
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return call<cudnnStatus_t>(__func__, [&] { destroy_object(handle); });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return call<cudnnStatus_t>(__func__, [&] {
    find_object(stream);
    find<Cudnn>(handle).stream = stream;
  });
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { create<TensorInfo>(descriptor); });
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { destroy_object(descriptor); });
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int count,
                                         const int* dims, const int* strides) {
  return call<cudnnStatus_t>(__func__, [&] {
    constexpr std::size_t most_elements = std::size_t{1} << 31;
    require(type == CUDNN_DATA_FLOAT && count >= 4 && count <= CUDNN_DIM_MAX, "a tensor of floats has 4 to 8 dims");
    for (int d = 0; d < count; ++d) require(dims[d] > 0 && strides[d] > 0, "a dim or stride is not positive");
    auto& tensor = find<TensorInfo>(descriptor);
    tensor.dims.assign(dims, dims + count);
    tensor.strides.assign(strides, strides + count);
    require(tensor.bytes() / sizeof(float) <= most_elements, "the tensor is too large", CUDNN_STATUS_NOT_SUPPORTED);
  });
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { create<PoolingInfo>(descriptor); });
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t descriptor) {
  return call<cudnnStatus_t>(__func__, [&] { destroy_object(descriptor); });
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int count, const int* window, const int* pad,
                                          const int* stride) {
  return call<cudnnStatus_t>(__func__, [&] {
    require(mode == CUDNN_POOLING_MAX || mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, "an unknown pool");
    require(count == 2 || count == 3, "a pool has 2 or 3 dims");
    for (int d = 0; d < count; ++d)
      require(window[d] > 0 && stride[d] > 0 && pad[d] >= 0 && pad[d] < window[d], "the padding covers a window");
    auto& pooling = find<PoolingInfo>(descriptor);
    pooling.mode = mode;
    pooling.window.assign(window, window + count);
    pooling.pad.assign(pad, pad + count);
    pooling.stride.assign(stride, stride + count);
  });
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t descriptor, const void* alpha,
                                  cudnnTensorDescriptor_t x_descriptor, const void* x_data, const void* beta,
                                  cudnnTensorDescriptor_t y_descriptor, void* y_data) {
  return call<cudnnStatus_t>(__func__, [&] {
    const PoolingInfo pooling = find<PoolingInfo>(descriptor);
    const TensorInfo x = tensor_info(x_descriptor), y = tensor_info(y_descriptor);
    require(x.dims.size() == pooling.window.size() + 2 && y.dims.size() == x.dims.size(), "the ranks differ");
    require(x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1], "batches or channels differ");
    for (std::size_t d = 0; d < pooling.window.size(); ++d)
      require(y.dims[d + 2] == pooled_length(x.dims[d + 2], pooling.window[d], pooling.pad[d], pooling.stride[d]),
              "the result has another size");
    require_tensor(x, x_data, "x");
    require_tensor(y, y_data, "y");
    const Blend blend(alpha, beta);
    enqueue(
        handle, __func__, y.elements(), [=, in = static_cast<const float*>(x_data), out = static_cast<float*>(y_data)] {
          for_each_index(y.dims, [&](const Dims& to) { blend.store(pooled(pooling, x, in, to), out[y.offset(to)]); });
        });
  });
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                  const void* alpha, cudnnTensorDescriptor_t x_descriptor, const void* x_data,
                                  const void* beta, cudnnTensorDescriptor_t y_descriptor, void* y_data) {
  return call<cudnnStatus_t>(__func__, [&] {
    const TensorInfo x = tensor_info(x_descriptor), y = tensor_info(y_descriptor);
    require(algorithm == CUDNN_SOFTMAX_ACCURATE && mode == CUDNN_SOFTMAX_MODE_CHANNEL, "another softmax");
    require(x.dims == y.dims && x.strides == y.strides, "x and y differ");
    require_tensor(x, x_data, "x");
    require_tensor(y, y_data, "y");
    const Blend blend(alpha, beta);
    enqueue(
        handle, __func__, y.elements(), [=, in = static_cast<const float*>(x_data), out = static_cast<float*>(y_data)] {
          Dims lines = x.dims;
          lines[1] = 1;
          for_each_index(
              lines, [&](const Dims& first) { softmax_line(x, in + x.offset(first), out + x.offset(first), blend); });
        });
  });
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t a_descriptor,
                             const void* a_data, const void* beta, cudnnTensorDescriptor_t c_descriptor, void* c_data) {
  return call<cudnnStatus_t>(__func__, [&] {
    const TensorInfo a = tensor_info(a_descriptor), c = tensor_info(c_descriptor);
    require(a.dims.size() == c.dims.size(), "the ranks differ");
    for (std::size_t d = 0; d < a.dims.size(); ++d)
      require(a.dims[d] == 1 || a.dims[d] == c.dims[d], "a dim is neither one nor equal");
    require_tensor(a, a_data, "a");
    require_tensor(c, c_data, "c");
    const Blend blend(alpha, beta);
    enqueue(handle, __func__, c.elements(),
            [=, in = static_cast<const float*>(a_data), out = static_cast<float*>(c_data)] {
              for_each_index(c.dims, [&](const Dims& at) { blend.store(in[a.offset(at)], out[c.offset(at)]); });
            });
  });
}

}  // extern "C"
