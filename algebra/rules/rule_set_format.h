// What the writer and the reader of the rule database agree on beside rule_set.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rule_set.pb.h"

namespace rulemill::algebra {

/// Raised when a database of before can no longer be read as what it meant.
inline constexpr std::uint32_t rule_set_schema_version = 1;

/// The serialized checksum field for these bytes: the end of a database's file.
std::string checksum_field(std::string_view bytes);

}  // namespace rulemill::algebra
