// CUDA source of the kernel of a tensor expression: one thread per element, reductions as loops, sizes as literals,
// bounds checks only where an index can leave its tensor. Except for a few CUDA keywords it is also C++, so that it can
// be tested without a GPU.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algebra/operators/function.h"
#include "optimize/gpu/lowering/tensor_expr.h"

namespace rulemill::optimize::gpu {

struct Kernel {
  std::string name;                  // a hash of the text: equal kernels have equal names
  std::string source;                // extern "C" __global__ void NAME(const float* READ..., float* out)
  std::vector<std::uint32_t> reads;  // tensors, in the order of the parameters, which is that of first use
  std::set<std::uint32_t> functions;
  std::int64_t elements = 0;  // number of elements and of threads

  static constexpr std::uint32_t threads_per_block = 256;
  std::uint32_t blocks() const {
    return static_cast<std::uint32_t>((elements + threads_per_block - 1) / threads_per_block);
  }
};

/// Layouts of the output and, by number, of the tensors that are read.
struct KernelLayouts {
  Layout out = Layout::RowMajor;
  std::span<const Layout> reads;  // empty: all row-major
};

/// Generates a kernel. `dims`: of the tensors that the expression reads, by number. Throws Overflow for offsets beyond
/// 64 bits.
Kernel make_kernel(const TensorExpr& expr, std::span<const std::vector<std::int64_t>> dims,
                   std::span<const algebra::Function> functions, const algebra::Symbols& symbols,
                   const KernelLayouts& layouts = {});

/// Returns the source to compile: called functions, and each kernel once.
std::string translation_unit(std::span<const Kernel> kernels, std::span<const algebra::Function> functions);

}  // namespace rulemill::optimize::gpu
