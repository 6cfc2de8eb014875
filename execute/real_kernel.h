// Programs over the reals, on the CPU: what kernel_body.h is for the field. All points of eight tensors at once.
#pragma once

#include "execute/program.h"

namespace rulemill::execute {

/// As RunKernel: operands are inputs, then one pointer a step to write to, then the coefficients, which have one point;
/// hashes: two words a lane a step.
void run_reals(const Program& program, const Pair* const* operands, const Pair* keys, std::uint64_t* hashes);

/// As HashKernel; `elements` as they are stored.
void hash_reals(const Pair* block, std::uint32_t elements, const Pair* keys, std::uint64_t* hashes);

}  // namespace rulemill::execute
