// Format constants shared by the writer and the readers of the rule database, besides rule_set.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rule_set.pb.h"
#include "runtime/text/hash.h"

namespace rulemill::algebra {

/// Incremented when existing databases can no longer be read with their original meaning.
inline constexpr std::uint32_t rule_set_schema_version = 2;

/// The serialized checksum field of these bytes, which ends a database file.
std::string checksum_field(std::string_view bytes);
std::string checksum_field(const runtime::Hash128& of_bytes);

/// Returns whether the bytes of a database file end with their checksum.
bool has_valid_checksum(std::string_view file);
/// The size of that field: a tag, a length, and 32 digits.
inline constexpr std::size_t checksum_bytes = 35;

}  // namespace rulemill::algebra
