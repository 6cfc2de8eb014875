// The executor's body compiled for each instruction set; executor.cc chooses among them.
#pragma once

#include <cstdint>

#include "execute/program_view.h"

namespace rulemill::execute {

/// Runs every step of the program on a block. operands: inputs, then one pointer a step to write to, then the
/// coefficients. hashes: two words a lane a step, [(step · 2 + which) · block_width + lane].
using RunKernel = void (*)(const ProgramView& program, const Pair* const* operands, const Pair* keys,
                           std::uint64_t* hashes);
/// hashes: [which · block_width + lane].
using HashKernel = void (*)(const Pair* block, std::uint32_t elements, const Pair* keys, std::uint64_t* hashes);

struct Kernels {
  RunKernel run = nullptr;
  HashKernel hash = nullptr;
};

Kernels scalar_kernels();
/// Null where the compiler's target is not x86-64.
Kernels avx2_kernels();
Kernels avx512_kernels();

}  // namespace rulemill::execute
