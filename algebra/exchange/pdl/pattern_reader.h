// Patterns in MLIR's text of the PDL dialect.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/json.h"

namespace rulemill::algebra {

/// An operand of any operation, or an operation with one result.
struct PdlNode {
  std::string place, name;
  std::string operation = {};  // "stablehlo.add"; empty for an operand
  std::vector<std::size_t> operands = {};
  std::map<std::string, std::optional<std::string>> attributes = {};  // those without text may have any value
  std::optional<std::size_t> type = {};
  bool is_match = true;
};

/// A pattern that replaces `root` by `replacement`.
struct PdlPattern {
  std::string name, place;
  std::string problem = {};             // why it cannot be read, if it cannot
  std::vector<std::string> types = {};  // "tensor<2xf32>", or of rulemill.type; empty: any type
  std::vector<PdlNode> nodes = {};      // operands before users
  std::size_t root = 0, replacement = 0;
  /// The arguments of rulemill.fits, which states types, attributes and conditions (docs/export.md).
  runtime::Json specification = nullptr;
  std::vector<std::size_t> specified = {};  // nodes
};

/// Reads the patterns of a module, in MLIR's pretty form. An error within a pattern becomes its problem. Throws
/// InputError with origin:line:column for a text that is no module of patterns.
std::vector<PdlPattern> read_pdl_patterns(std::string_view text, const std::string& origin);

}  // namespace rulemill::algebra
