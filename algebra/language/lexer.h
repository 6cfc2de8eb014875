// Tokens of the definition language and of rules as text, with their source locations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/error.h"

namespace rulemill::algebra {

struct Token {
  enum class Kind : std::uint8_t { Name, Number, Decimal, String, Symbol, End };
  Kind kind = Kind::End;
  std::string text;  // a string is without its quotes
  int line = 1;
  int column = 1;
};

/// Splits text into tokens. Comments run from # to the end of the line. Symbols are ... // => <= >= != and single
/// characters. Throws InputError on other characters, on words of more than 200 characters and on control characters in
/// strings, so that messages can quote tokens verbatim.
std::vector<Token> tokenize(std::string_view text, const std::string& origin);

/// A cursor over tokens that reports parse errors.
class TokenCursor {
 public:
  TokenCursor(std::string_view text, std::string origin)
      : origin_(std::move(origin)), tokens_(tokenize(text, origin_)) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }
  Token next();
  bool at_end() const { return peek().kind == Token::Kind::End; }
  bool is(std::string_view symbol_or_word, std::size_t ahead = 0) const;
  bool accept(std::string_view symbol_or_word);
  void expect(std::string_view symbol_or_word, std::string_view after);
  std::string expect_name(std::string_view what);
  std::int64_t expect_number(std::string_view what);

  [[noreturn]] void fail(const Token& at, const std::string& message) const;
  const std::string& origin() const { return origin_; }
  std::size_t position() const { return position_; }
  void rewind(std::size_t position) { position_ = position; }

 private:
  std::string origin_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
};

/// "origin:line:column"
std::string place(const std::string& origin, int line, int column);

/// "'x'", or "the end of the text".
std::string quoted(const Token& token);

}  // namespace rulemill::algebra
