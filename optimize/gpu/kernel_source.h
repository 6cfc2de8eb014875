// CUDA source of the kernel that computes one tensor by its definition: one thread an element, reductions as loops, all
// sizes as numbers, reads checked only where an index can leave its tensor. The same text is C++ but for a handful of
// CUDA's words, so that it can be run and tested without a device.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/function.h"
#include "optimize/gpu/element.h"

namespace rulemill::optimize::gpu {

struct Kernel {
  std::string name;                  // follows from the text: equal kernels have equal names
  std::string source;                // extern "C" __global__ void NAME(const float* READ..., float* out)
  std::vector<std::uint32_t> reads;  // tensors, in the order of the parameters: of first use
  std::set<std::uint32_t> functions;
  std::int64_t elements = 0;  // and threads

  static constexpr std::uint32_t threads_a_block = 256;
  std::uint32_t blocks() const {
    return static_cast<std::uint32_t>((elements + threads_a_block - 1) / threads_a_block);
  }
};

/// In which order tensors lie: what a kernel writes, and what it reads, by number.
struct KernelLayouts {
  Layout out = Layout::RowMajor;
  std::span<const Layout> reads;  // empty: all row-major
};

/// `dims` are those of the tensors that the body reads, by number. Throws Overflow for indices beyond 64 bits.
Kernel kernel_of(const Body& body, std::span<const std::vector<std::int64_t>> dims,
                 std::span<const algebra::Function> functions, const algebra::Symbols& symbols,
                 const KernelLayouts& layouts = {});

/// All that has to be compiled together: what kernels call, and each kernel once.
std::string translation_unit(std::span<const Kernel> kernels, std::span<const algebra::Function> functions);

}  // namespace rulemill::optimize::gpu
