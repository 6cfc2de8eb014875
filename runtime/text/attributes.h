// Named values that are stored with a file or a table: texts, counts and floating-point numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace rulemill::runtime {

using Attribute = std::variant<std::string, std::uint64_t, double>;
using Attributes = std::map<std::string, Attribute>;

}  // namespace rulemill::runtime
