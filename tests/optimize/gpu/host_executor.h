// A plan run on the host: kernels by the host compiler, library calls by plain loops that follow the libraries'
// documentation, not the definitions. Memory is used as planned, so that overlapping tensors corrupt each other.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "optimize/gpu/plan/plan.h"
#include "tests/optimize/gpu/host_kernels.h"

namespace rulemill::optimize::gpu {

struct HostTensor {
  std::vector<std::int64_t> dims;
  float* values = nullptr;
  Layout layout = Layout::RowMajor;
};

inline std::size_t at(std::int64_t element) { return static_cast<std::size_t>(element); }

inline float apply_epilogue(double value, const Epilogue& epilogue, const std::vector<HostTensor>& tensors,
                            std::int64_t channel) {
  if (epilogue.bias) value += tensors[*epilogue.bias].values[channel];
  return static_cast<float>(epilogue.relu ? std::max(value, 0.0) : value);
}

/// Calls `visit` with every index tuple below the extents.
template <class Visit>
void for_each_index(const std::vector<std::int64_t>& extents, const Visit& visit) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  std::vector<std::int64_t> index(extents.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = extents.size(); d-- > 0;) {
      index[d] = rest % extents[d];
      rest /= extents[d];
    }
    visit(i, index);
  }
}

/// As cublasLtMatmul: D = A · B of column-major matrices, each optionally transposed.
inline void run_op(const Product& p, const std::vector<HostTensor>& tensors, const HostTensor& out) {
  const Product::Strides &l = p.left_strides, &r = p.right_strides, &o = p.out_strides;
  const CublasMatrix a = cublas_matrix(p.depth, r.row, p.columns, r.column),
                     b = cublas_matrix(p.rows, l.row, p.depth, l.column),
                     d = cublas_matrix(p.rows, o.row, p.columns, o.column);
  REQUIRE_FALSE(d.is_transposed);
  REQUIRE((d.rows == p.columns && d.columns == p.rows));
  for (const CublasMatrix& matrix : {a, b, d}) REQUIRE(matrix.leading >= matrix.rows);
  const auto value = [](const CublasMatrix& m, const float* from, std::int64_t row, std::int64_t column) {
    return static_cast<double>(m.is_transposed ? from[column + row * m.leading] : from[row + column * m.leading]);
  };
  for (std::int64_t batch = 0; batch < p.batches; ++batch) {
    const float *right = tensors[p.right].values + batch * r.batch, *left = tensors[p.left].values + batch * l.batch;
    for_each_index({d.rows, d.columns}, [&](std::int64_t, const std::vector<std::int64_t>& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < p.depth; ++k) sum += value(a, right, at[0], k) * value(b, left, k, at[1]);
      out.values[batch * o.batch + at[0] + at[1] * d.leading] =
          apply_epilogue(p.scale * sum, p.epilogue, tensors, at[0]);
    });
  }
}

/// Returns an element by the strides of its layout.
inline float& element_at(const HostTensor& tensor, const std::vector<std::int64_t>& index) {
  const std::vector<std::int64_t> element_strides = strides(tensor.dims, tensor.layout);
  std::int64_t element = 0;
  for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * element_strides[d];
  return tensor.values[element];
}

/// Returns the element that a window reads; null outside of the image.
inline const float* read_at(const HostTensor& image, const std::vector<std::int64_t>& index) {
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= image.dims[d]) return nullptr;
  }
  return &element_at(image, index);
}

/// As cudnnConvolutionForward: cross-correlation, channel groups, symmetric zero padding.
inline void run_op(const Convolution& c, const std::vector<HostTensor>& tensors, const HostTensor& out) {
  const HostTensor &image = tensors[c.image], &filters = tensors[c.filters];
  REQUIRE(c.has_symmetric_padding(image.dims, filters.dims, out.dims));
  const std::int64_t filters_per_group = filters.dims[0] / c.groups;
  REQUIRE(image.dims[1] == filters.dims[1] * c.groups);
  REQUIRE((layouts_coincide(image.dims) || image.layout == out.layout));
  REQUIRE((layouts_coincide(filters.dims) || filters.layout == out.layout));
  const std::vector<std::int64_t> window(filters.dims.begin() + 1, filters.dims.end());
  for_each_index(out.dims, [&](std::int64_t, const std::vector<std::int64_t>& to) {
    double sum = 0;
    for_each_index(window, [&](std::int64_t, const std::vector<std::int64_t>& in) {
      std::vector<std::int64_t> from{to[0], to[1] / filters_per_group * filters.dims[1] + in[0]};
      for (std::size_t d = 0; d < c.stride.size(); ++d)
        from.push_back(to[d + 2] * c.stride[d] + in[d + 1] * c.dilation[d] - c.pad_begin[d]);
      std::vector<std::int64_t> tap{to[1]};
      tap.insert(tap.end(), in.begin(), in.end());
      if (const float* value = read_at(image, from)) sum += static_cast<double>(*value) * element_at(filters, tap);
    });
    element_at(out, to) = apply_epilogue(sum, c.epilogue, tensors, to[1]);
  });
}

/// As cudnnPoolingForward: a maximum excluding padding, a mean including it.
inline void run_op(const Pooling& p, const std::vector<HostTensor>& tensors, const HostTensor& out) {
  const HostTensor& image = tensors[p.image];
  REQUIRE((layouts_coincide(image.dims) || image.layout == out.layout));
  for_each_index(out.dims, [&](std::int64_t, const std::vector<std::int64_t>& to) {
    double sum = 0, maximum = -std::numeric_limits<double>::infinity();
    std::int64_t count = 0;
    for_each_index(p.window, [&](std::int64_t, const std::vector<std::int64_t>& in) {
      std::vector<std::int64_t> from{to[0], to[1]};
      for (std::size_t d = 0; d < in.size(); ++d) from.push_back(to[d + 2] * p.stride[d] + in[d] - p.pad[d]);
      ++count;
      if (const float* value = read_at(image, from)) {
        sum += *value;
        maximum = std::max(maximum, static_cast<double>(*value));
      }
    });
    element_at(out, to) = static_cast<float>(p.mean ? sum / static_cast<double>(count) : maximum);
  });
}

inline void run_op(const Softmax& s, const std::vector<HostTensor>& tensors, const HostTensor& out) {
  for (std::int64_t line = 0; line < s.outer * s.inner; ++line) {
    const std::int64_t first = line / s.inner * s.length * s.inner + line % s.inner;
    const float* in = tensors[s.input].values + first;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t i = 0; i < s.length; ++i) maximum = std::max(maximum, static_cast<double>(in[i * s.inner]));
    for (std::int64_t i = 0; i < s.length; ++i) sum += std::exp(in[i * s.inner] - maximum);
    for (std::int64_t i = 0; i < s.length; ++i)
      out.values[first + i * s.inner] = static_cast<float>(std::exp(in[i * s.inner] - maximum) / sum);
  }
}

inline void run_op(const std::monostate&, const std::vector<HostTensor>&, const HostTensor&) {}

/// Runs the plan; returns the values of the outputs. `values_of` returns those of inputs and constants.
inline std::vector<std::vector<float>> run_on_host(const Plan& plan, const HostKernels& host,
                                                   const std::function<std::vector<float>(ValueId)>& values_of) {
  std::vector<float> arena(plan.arena_bytes / sizeof(float), std::nanf("")),
      constants(plan.constant_bytes / sizeof(float), std::nanf(""));
  std::vector<HostTensor> tensors;
  for (const auto& tensor : plan.tensors)
    tensors.push_back(
        {tensor.dims, (tensor.constant ? constants : arena).data() + tensor.offset / sizeof(float), tensor.layout});
  for (const auto* ports : {&plan.inputs, &plan.constants}) {
    for (const auto& port : *ports) {
      const HostTensor& tensor = tensors[port.tensor];
      std::ranges::copy(to_layout(values_of(port.value), tensor.dims, tensor.layout), tensor.values);
    }
  }
  for (const auto& step : plan.steps) {
    const HostTensor& out = tensors[step.out];
    if (step.kernel == Plan::no_kernel) {
      std::visit([&](const auto& op) { run_op(op, tensors, out); }, step.op);
      continue;
    }
    std::vector<const float*> reads;
    for (const std::uint32_t read : step.reads) reads.push_back(tensors[read].values);
    host.run(plan.kernels[step.kernel], reads, out.values);
  }
  std::vector<std::vector<float>> outputs;
  for (const auto& output : plan.outputs) {
    const HostTensor& tensor = tensors[output.tensor];
    outputs.emplace_back(tensor.values, tensor.values + plan.tensors[output.tensor].elements());
  }
  return outputs;
}

}  // namespace rulemill::optimize::gpu
