#include "algebra/language/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rulemill::algebra {
namespace {

constexpr std::array<std::string_view, 6> long_symbols = {"...", "//", "=>", "<=", ">=", "!="};
constexpr std::string_view single_symbols = "()[]{}<>=+-*/%,;:.?|";

constexpr std::size_t longest_word = 200, longest_string = 1000;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string place(const std::string& origin, int line, int column) {
  return origin + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string quoted(const Token& token) {
  return token.kind == Token::Kind::End ? "the end of the text" : "'" + token.text + "'";
}

namespace {

/// What is printed of a character as it is, or its number.
std::string shown(char c) {
  if (c >= ' ' && c <= '~') return std::string("character '") + c + "'";
  const char* digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("character 0x") + digits[byte / 16] + digits[byte % 16];
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& origin) {
  std::vector<Token> tokens;
  int line = 1;
  std::size_t line_start = 0;
  std::size_t at = 0;
  auto column = [&] { return static_cast<int>(at - line_start) + 1; };
  auto fail = [&](const std::string& message) { throw runtime::InputError(place(origin, line, column()), message); };
  auto take = [&](Token::Kind kind, std::size_t length) {
    if (length > longest_word) {
      fail("a word of " + std::to_string(length) + " characters; expected at most " + std::to_string(longest_word));
    }
    tokens.push_back({kind, std::string(text.substr(at, length)), line, column()});
    at += length;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      line_start = ++at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '#') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (starts_name(c)) {
      std::size_t length = 1;
      while (at + length < text.size() && continues_name(text[at + length])) ++length;
      take(Token::Kind::Name, length);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      std::size_t length = 1;
      bool decimal = false;
      while (at + length < text.size()) {
        const char d = text[at + length];
        const bool point = d == '.' && !decimal && at + length + 1 < text.size() &&
                           std::isdigit(static_cast<unsigned char>(text[at + length + 1]));
        if (!std::isdigit(static_cast<unsigned char>(d)) && !point) break;
        decimal = decimal || point;
        ++length;
      }
      take(decimal ? Token::Kind::Decimal : Token::Kind::Number, length);
    } else if (c == '"') {
      const std::size_t close = text.find_first_of("\"\n", at + 1);
      if (close == std::string_view::npos || text[close] == '\n') fail("this string has no closing quote");
      const std::string_view inside = text.substr(at + 1, close - at - 1);
      if (inside.size() > longest_string) {
        fail("a string of " + std::to_string(inside.size()) + " characters; expected at most " +
             std::to_string(longest_string));
      }
      const auto control =
          std::ranges::find_if(inside, [](char d) { return std::iscntrl(static_cast<unsigned char>(d)) != 0; });
      if (control != inside.end()) fail("unexpected " + shown(*control) + " in a string");
      tokens.push_back({Token::Kind::String, std::string(inside), line, column()});
      at = close + 1;
    } else {
      std::size_t length = single_symbols.find(c) == std::string_view::npos ? 0 : 1;
      for (std::string_view symbol : long_symbols) {
        if (text.substr(at, symbol.size()) == symbol) {
          length = symbol.size();
          break;
        }
      }
      if (length == 0) fail("unexpected " + shown(c));
      take(Token::Kind::Symbol, length);
    }
  }
  tokens.push_back({Token::Kind::End, "", line, column()});
  return tokens;
}

Token TokenCursor::next() {
  Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenCursor::is(std::string_view symbol_or_word, std::size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == Token::Kind::Symbol || token.kind == Token::Kind::Name) && token.text == symbol_or_word;
}

bool TokenCursor::accept(std::string_view symbol_or_word) {
  if (!is(symbol_or_word)) return false;
  next();
  return true;
}

void TokenCursor::expect(std::string_view symbol_or_word, std::string_view after) {
  if (accept(symbol_or_word)) return;
  fail(peek(), "expected '" + std::string(symbol_or_word) + "' " + std::string(after) + ", found " + quoted(peek()));
}

std::string TokenCursor::name(std::string_view what) {
  if (peek().kind != Token::Kind::Name) fail(peek(), "expected " + std::string(what) + ", found " + quoted(peek()));
  return next().text;
}

std::int64_t TokenCursor::number(std::string_view what) {
  const bool negative = accept("-");
  const Token token = peek();
  if (token.kind != Token::Kind::Number) fail(token, "expected " + std::string(what) + ", found " + quoted(token));
  if (token.text.size() > 15) fail(token, "the number " + token.text + " is too large");
  next();
  const std::int64_t value = std::stoll(token.text);
  return negative ? -value : value;
}

void TokenCursor::fail(const Token& at, const std::string& message) const {
  throw runtime::InputError(place(origin_, at.line, at.column), message);
}

}  // namespace rulemill::algebra
