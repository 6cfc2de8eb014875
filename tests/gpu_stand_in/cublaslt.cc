// cublasLt: products of column-major matrices in batches, with epilogues.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/gpu_stand_in/calls.h"

namespace rulemill::gpu_stand_in {

void use_device();

namespace {

struct Cublas final : Object {
  static constexpr const char* name = "cublasLt handle";
};
struct MatmulInfo final : Object {
  static constexpr const char* name = "matmul descriptor";
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;

  bool has_bias() const { return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS; }
  bool has_relu() const { return epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS; }
};
struct MatrixInfo final : Object {
  static constexpr const char* name = "matrix layout";
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;

  std::size_t bytes() const {
    const auto last = (batches - 1) * batch_stride + static_cast<std::int64_t>(columns - 1) * leading;
    return (static_cast<std::size_t>(last) + rows) * sizeof(float);
  }
  float at(const float* data, std::int32_t batch, std::uint64_t row, std::uint64_t column) const {
    return data[batch * batch_stride + static_cast<std::int64_t>(row) + static_cast<std::int64_t>(column) * leading];
  }
};
struct PreferenceInfo final : Object {
  static constexpr const char* name = "matmul preference";
  std::size_t workspace_bytes = 0;
};

/// Copies an attribute whose size must be that of its documented type.
template <class T>
void assign(T& to, const void* value, std::size_t bytes) {
  require(bytes == sizeof(T), "an attribute of another size");
  std::memcpy(&to, value, bytes);
}

/// The operands of D = A · B; A and B may be transposed.
struct Matmul {
  MatmulInfo info;
  MatrixInfo a, b, d;

  Matmul(cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t of_a, cublasLtMatrixLayout_t of_b,
         cublasLtMatrixLayout_t of_c, cublasLtMatrixLayout_t of_d)
      : info(find<MatmulInfo>(descriptor)),
        a(find<MatrixInfo>(of_a)),
        b(find<MatrixInfo>(of_b)),
        d(find<MatrixInfo>(of_d)) {
    const auto& c = find<MatrixInfo>(of_c);
    const auto [rows, depth] = extents(a, info.transpose_a);
    const auto [other_depth, columns] = extents(b, info.transpose_b);
    require(depth == other_depth && d.rows == rows && d.columns == columns, "the sizes do not fit");
    require(c.rows == d.rows && c.columns == d.columns && c.leading == d.leading, "C and D differ");
    require(a.batches == d.batches && b.batches == d.batches && c.batches == d.batches, "the batches differ");
  }

  void compute(float alpha, const float* from_a, const float* from_b, float* to) const {
    const std::uint64_t depth = extents(a, info.transpose_a).second;
    for (std::int32_t n = 0; n < d.batches; ++n) {
      for (std::uint64_t i = 0; i < d.rows; ++i) {
        for (std::uint64_t j = 0; j < d.columns; ++j) {
          double sum = 0;
          for (std::uint64_t k = 0; k < depth; ++k)
            sum += static_cast<double>(element(a, info.transpose_a, from_a, n, i, k)) *
                   element(b, info.transpose_b, from_b, n, k, j);
          sum *= alpha;
          if (info.has_bias()) sum += info.bias[i];
          if (info.has_relu()) sum = std::max(sum, 0.0);
          to[n * d.batch_stride + static_cast<std::int64_t>(i + j * static_cast<std::uint64_t>(d.leading))] =
              static_cast<float>(sum);
        }
      }
    }
  }

 private:
  static std::pair<std::uint64_t, std::uint64_t> extents(const MatrixInfo& matrix, cublasOperation_t operation) {
    if (operation == CUBLAS_OP_N) return {matrix.rows, matrix.columns};
    return {matrix.columns, matrix.rows};
  }
  static float element(const MatrixInfo& matrix, cublasOperation_t operation, const float* data, std::int32_t batch,
                       std::uint64_t row, std::uint64_t column) {
    return operation == CUBLAS_OP_N ? matrix.at(data, batch, row, column) : matrix.at(data, batch, column, row);
  }
};

}  // namespace
}  // namespace rulemill::gpu_stand_in

using namespace rulemill::gpu_stand_in;

extern "C" {

std::size_t cublasLtGetVersion() {
  call<cublasStatus_t>(__func__, [] {});
  return CUBLAS_VERSION;
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  call<cublasStatus_t>(__func__, [] {});
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "an error of the stand-in";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return call<cublasStatus_t>(__func__, [&] {
    use_device();
    create<Cublas>(handle);
  });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return call<cublasStatus_t>(__func__, [&] { destroy_object(handle); });
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t type,
                                        cudaDataType_t scale) {
  return call<cublasStatus_t>(__func__, [&] {
    require(type == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F, "not float32 throughout");
    create<MatmulInfo>(descriptor);
  });
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  return call<cublasStatus_t>(__func__, [&] { destroy_object(descriptor); });
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return call<cublasStatus_t>(__func__, [&] {
    auto& info = find<MatmulInfo>(descriptor);
    switch (attribute) {
      case CUBLASLT_MATMUL_DESC_TRANSA:
        return assign(info.transpose_a, value, bytes);
      case CUBLASLT_MATMUL_DESC_TRANSB:
        return assign(info.transpose_b, value, bytes);
      case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return assign(info.epilogue, value, bytes);
      case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return assign(info.bias, value, bytes);
      default:
        require(false, "another attribute");
    }
  });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  return call<cublasStatus_t>(__func__, [&] {
    require(type == CUDA_R_32F && rows > 0 && columns > 0, "an empty matrix, or not float32");
    require(leading >= static_cast<std::int64_t>(rows), "the leading dimension is less than the rows");
    auto made = std::make_unique<MatrixInfo>();
    made->rows = rows;
    made->columns = columns;
    made->leading = leading;
    create(layout, std::move(made));
  });
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return call<cublasStatus_t>(__func__, [&] { destroy_object(layout); });
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  return call<cublasStatus_t>(__func__, [&] {
    auto& info = find<MatrixInfo>(layout);
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return assign(info.batches, value, bytes);
    require(attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, "another attribute");
    assign(info.batch_stride, value, bytes);
  });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return call<cublasStatus_t>(__func__, [&] { create<PreferenceInfo>(preference); });
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return call<cublasStatus_t>(__func__, [&] { destroy_object(preference); });
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  return call<cublasStatus_t>(__func__, [&] {
    require(attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, "another attribute");
    assign(find<PreferenceInfo>(preference).workspace_bytes, value, bytes);
  });
}

/// Suggests one algorithm, which needs all of the workspace.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results, int* returned) {
  return call<cublasStatus_t>(__func__, [&] {
    find<Cublas>(handle);
    const Matmul checked(descriptor, a, b, c, d);
    require(requested > 0, "no result is requested");
    results[0] = {};
    results[0].workspaceSize = find<PreferenceInfo>(preference).workspace_bytes;
    std::memcpy(&results[0].algo, &results[0].workspaceSize, sizeof results[0].workspaceSize);
    *returned = 1;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha,
                              const void* a_data, cublasLtMatrixLayout_t a, const void* b_data,
                              cublasLtMatrixLayout_t b, const void* beta, const void*, cublasLtMatrixLayout_t c,
                              void* d_data, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, std::size_t bytes, cudaStream_t stream) {
  return call<cublasStatus_t>(__func__, [&] {
    constexpr std::size_t preferred_alignment = 256, least_alignment = 16;  // of matrices and of the bias
    find<Cublas>(handle);
    const Matmul matmul(descriptor, a, b, c, d);
    require(*static_cast<const float*>(beta) == 0, "a sum with another matrix");
    require_memory(a_data, matmul.a.bytes(), "A", preferred_alignment);
    require_memory(b_data, matmul.b.bytes(), "B", preferred_alignment);
    require_memory(d_data, matmul.d.bytes(), "D", preferred_alignment);
    if (matmul.info.has_bias())
      require_memory(matmul.info.bias, matmul.d.rows * sizeof(float), "the bias", least_alignment);
    std::size_t needed = 0;
    std::memcpy(&needed, algorithm, sizeof needed);
    require(bytes >= needed, "the workspace is too small");
    require_memory(workspace, bytes, "the workspace", least_alignment);
    submit(stream, __func__, matmul.d.rows * matmul.d.columns, [=, scale = *static_cast<const float*>(alpha)] {
      matmul.compute(scale, static_cast<const float*>(a_data), static_cast<const float*>(b_data),
                     static_cast<float*>(d_data));
    });
  });
}

}  // extern "C"
