// What cuDNN's descriptors hold, and loops over tensors that they describe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/gpu_stand_in/calls.h"

namespace rulemill::gpu_stand_in {

using Dims = std::vector<int>;

struct Cudnn final : Object {
  static constexpr const char* name = "cuDNN handle";
  cudaStream_t stream = nullptr;
};

struct TensorInfo final : Object {
  static constexpr const char* name = "tensor descriptor";
  Dims dims, strides;  // empty until it is set

  std::size_t elements() const;
  /// Bytes from the first element to the last.
  std::size_t bytes() const;
  std::int64_t offset(const Dims& index) const;
};

/// The operands of a call, checked and ready to compute: `out` = alpha · f(`in`) + beta · `out`.
struct Blend {
  float alpha = 1, beta = 0;
  Blend(const void* of_alpha, const void* of_beta);
  void store(double value, float& out) const;
};

const TensorInfo& tensor_info(cudnnTensorDescriptor_t descriptor);
void require_tensor(const TensorInfo& tensor, const void* memory, const char* what);
void enqueue(cudnnHandle_t handle, const std::string& kernel, std::size_t elements, std::function<void()> work);

/// Calls `visit` with every index tuple below the extents, in row-major order.
template <class Visit>
void for_each_index(const Dims& extents, const Visit& visit) {
  Dims index(extents.size(), 0);
  for (;;) {
    visit(index);
    std::size_t d = extents.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

/// The elements of an image that the windows of one channel read: `visit(number in the window, element or null)`.
template <class Visit>
void for_each_in_window(const TensorInfo& image, const float* values, int batch, int channel, const Dims& first,
                        const Dims& window, const Dims& dilation, const Visit& visit) {
  std::int64_t number = 0;
  for_each_index(window, [&](const Dims& in) {
    std::int64_t offset = std::int64_t{batch} * image.strides[0] + std::int64_t{channel} * image.strides[1];
    bool inside = true;
    for (std::size_t d = 0; d < in.size(); ++d) {
      const int at = first[d] + in[d] * dilation[d];
      inside = inside && at >= 0 && at < image.dims[d + 2];
      offset += std::int64_t{at} * image.strides[d + 2];
    }
    visit(number++, inside ? values + offset : nullptr);
  });
}

}  // namespace rulemill::gpu_stand_in
