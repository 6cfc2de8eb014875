// Programs over the reals, on the CPU, as kernel_body.h is for the field: all points of eight tensors together.
#pragma once

#include "execute/program/program.h"

namespace rulemill::execute {

/// As RunKernel. The coefficients have one point.
void run_reals(const Program& program, const FieldPair* const* operands, const FieldPair* keys, std::uint64_t* hashes);

/// As HashKernel; `elements` counts stored elements.
void hash_reals(const FieldPair* block, std::uint32_t elements, const FieldPair* keys, std::uint64_t* hashes);

}  // namespace rulemill::execute
