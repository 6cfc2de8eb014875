// The kernel body compiled for each instruction set; executor.cc selects one.
#pragma once

#include <cstdint>

#include "execute/program/program_view.h"

namespace rulemill::execute {

/// Runs every step of a program on a block. operands: the inputs, one writable pointer per step, then the coefficients.
/// hashes: two words per lane and step, [(step · 2 + which) · block_width + lane].
using RunKernel = void (*)(const ProgramView& program, const FieldPair* const* operands, const FieldPair* keys,
                           std::uint64_t* hashes);
/// hashes: [which · block_width + lane].
using HashKernel = void (*)(const FieldPair* block, std::uint32_t elements, const FieldPair* keys,
                            std::uint64_t* hashes);

struct Kernels {
  RunKernel run = nullptr;
  HashKernel hash = nullptr;
};

Kernels scalar_kernels();
/// Null where the compiler's target is not x86-64.
Kernels avx2_kernels();
Kernels avx512_kernels();

}  // namespace rulemill::execute
