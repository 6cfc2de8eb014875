// A cursor over MLIR's text: words, names of values, strings, and text in brackets. Skips blanks and comments.
#pragma once

#include <string>
#include <string_view>

#include "runtime/text/json.h"

namespace rulemill::algebra {

/// Where a cursor stands in its text.
struct MlirPosition {
  std::size_t offset = 0;
  int line = 1;
  std::size_t line_begin = 0;
};

class MlirText {
 public:
  MlirText(std::string_view text, std::string origin) : text_(text), origin_(std::move(origin)) {}

  bool at_end() { return peek() == '\0'; }
  /// The next character that is no blank; '\0' at the end.
  char peek();
  /// Reads this symbol or word if it is next. A word ends where its letters, digits, dots and underscores do.
  bool accept(std::string_view token);
  void expect(std::string_view token, std::string_view after);
  /// Reads letters, digits, dots, dollars and underscores; "" if there are none.
  std::string word();
  /// Reads %name and returns the name.
  std::string value_name(std::string_view after);
  bool is_value() { return peek() == '%'; }
  /// Reads a text in quotes.
  std::string string(std::string_view after);
  /// Reads up to the end of the line or a closing bracket, except in brackets and quotes. Blanks become one space.
  std::string attribute();
  /// Skips text in braces. Throws InputError at the opening brace if it is not closed.
  void skip_braces();

  /// The next few characters, for messages.
  std::string next_text();
  std::string place();
  std::string place_of(const MlirPosition& position) const;
  const MlirPosition& position() const { return at_; }
  void rewind(const MlirPosition& position) { at_ = position; }
  /// Throws InputError at the next character.
  [[noreturn]] void fail(const std::string& message);

 private:
  void skip_blanks();
  void advance();
  bool skip_string(std::string* into);

  std::string_view text_;
  std::string origin_;
  MlirPosition at_;
};

/// Reads an attribute of lists, dictionaries, strings and integers.
runtime::Json read_mlir_attribute(MlirText& text);

}  // namespace rulemill::algebra
