// S-expressions, as egg writes patterns and egglog programs: atoms, strings and lists, with their positions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/error.h"

namespace rulemill::algebra {

struct SExpression {
  enum class Kind : std::uint8_t { Atom, String, List };
  Kind kind = Kind::Atom;
  std::string text;  // an atom; a string without its quotes
  std::vector<SExpression> items = {};
  int line = 1, column = 1;

  bool is_atom() const { return kind == Kind::Atom; }
  bool is_list() const { return kind == Kind::List; }
  /// The atom at the beginning of a list, otherwise "".
  std::string_view head() const;
};

/// Returns the expression as text, cut if it is long.
std::string to_string(const SExpression& expression);

/// Reads S-expressions one by one. A comment runs from ; or // to the end of the line. Commas count as spaces.
class SExpressionReader {
 public:
  SExpressionReader(std::string_view text, std::string origin, int line = 1, int column = 1)
      : text_(text), origin_(std::move(origin)), line_(line), column_(column) {}

  bool at_end();
  /// Reads the next expression. Throws InputError with origin:line:column for text that is none, for lists that are
  /// nested too deeply, and for control characters, so that messages can quote atoms.
  SExpression read();
  /// Reads this character if it is next. A semicolon is read here, too.
  bool accept(char symbol);
  /// Reads this symbol or word if it is next. A word ends where an atom does.
  bool accept(std::string_view text);
  /// Skips the text up to the next line that begins with an expression.
  void skip_to_next_line_start();

  int line() const { return line_; }
  int column() const { return column_; }

  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail(const SExpression& at, const std::string& message) const;

 private:
  void skip_blanks(bool semicolon_begins_comment = true);
  void advance();
  SExpression read_string(SExpression at);
  SExpression read_atom(SExpression at);

  std::string_view text_;
  std::string origin_;
  int line_, column_;
  int nesting_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace rulemill::algebra
