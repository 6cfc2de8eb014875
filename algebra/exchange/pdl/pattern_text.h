// The text of one PDL pattern: operations, types and attributes, and the specification of its native constraint.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algebra/exchange/pdl/stablehlo_table.h"

namespace rulemill::algebra {

/// A StableHLO operation of a pattern. The texts are filled templates: what they leave in braces depends on sizes, and
/// `$` stands for the type of the rule's numbers.
struct PdlOperation {
  std::string name;
  std::vector<std::string> operands;
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::pair<std::string, std::string>> optional;
  std::string result;  // the type: "real: m, 4", or "bool: …"
};

/// Writes the matched operations first, then the new ones.
class PatternText {
 public:
  /// Adds an operand of any operation, of this type.
  void add_variable(const std::string& value, const std::string& type);
  /// Adds an operation and returns the value of its result.
  std::string add(const PdlOperation& operation);
  /// Ends the match. The operation that was added last is the root.
  void begin_rewrite();

  /// The pattern that replaces the root by this value, without its name; `%spec` is the first of `specification`.
  std::string body(const std::string& replacement) const;
  /// Whether both sides have the same operations, with results of the same types.
  bool is_balanced() const { return matched_ == created_; }
  /// What the native constraint checks.
  std::string specification(const std::vector<std::string>& conditions) const;

 private:
  void add_line(const std::string& line) { lines_ += (is_rewrite_ ? "      " : "    ") + line + "\n"; }
  std::string type(const std::string& text);
  std::string attribute(const std::string& text, bool is_checked);
  std::string native_arguments(const std::string& first) const;

  bool is_rewrite_ = false;
  std::string lines_, root_, variables_, operations_;
  std::vector<std::pair<std::string, std::string>> arguments_;  // of native functions: values, and their PDL types
  std::map<std::string, std::string> types_;                    // the value of a type
  std::multiset<std::string> matched_, created_;                // operations and types
  std::size_t operation_count_ = 0, attribute_count_ = 0;
};

/// Returns the text in MLIR's quotes.
std::string mlir_string(const std::string& text);

}  // namespace rulemill::algebra
