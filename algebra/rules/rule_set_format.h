// Format constants shared by the writer and the reader of the rule database, besides rule_set.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rule_set.pb.h"

namespace rulemill::algebra {

/// Incremented when existing databases can no longer be read with their original meaning.
inline constexpr std::uint32_t rule_set_schema_version = 1;

/// The serialized checksum field of these bytes, which ends a database file.
std::string checksum_field(std::string_view bytes);

/// Returns whether the bytes of a database file end with their checksum.
bool has_valid_checksum(std::string_view file);

}  // namespace rulemill::algebra
