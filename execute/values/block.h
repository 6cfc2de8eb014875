// The memory layout of tensors of one type: blocks of eight.
#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/values/field.h"

namespace rulemill::execute {

/// Tensors of a block. Element e of tensor l of a block is at [e · block_width + l].
inline constexpr std::uint32_t block_width = 8;

/// Offset of tensor `slot` in consecutive blocks.
RM_HD constexpr std::size_t tensor_offset(std::uint32_t slot, std::uint32_t elements) {
  return std::size_t{slot / block_width} * elements * block_width + slot % block_width;
}

}  // namespace rulemill::execute
