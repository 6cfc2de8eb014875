// The lengths of an operator's dimension packs, which follow from the ranks of its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {

/// The length of each pack of an operator whose inputs have these ranks; nullopt if the ranks do not fit. If the
/// operator has an explicit rank, it is the last entry of `ranks`.
std::optional<std::map<std::string, std::uint32_t>> pack_lengths(const syntax::Operator& op,
                                                                 std::span<const std::uint32_t> ranks,
                                                                 const Parameters& parameters = {});

/// Whether the operator has a pack of sizes that no input has, so that the pack's length must be given.
bool has_explicit_rank(const syntax::Operator& op);

}  // namespace rulemill::algebra
