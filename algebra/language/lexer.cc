#include "algebra/language/lexer.h"

#include <algorithm>
#include <array>

namespace rulemill::algebra {
namespace {

constexpr std::array<std::string_view, 7> long_symbols = {"...", "//", "=>", "->", "<=", ">=", "!="};
constexpr std::string_view single_symbols = "()[]{}<>=+-*/%,;:.?|";

constexpr std::size_t max_word_length = 200, max_string_length = 1000;

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

/// Quotes a printable character; another is given by its code.
std::string describe(char c) {
  if (c >= ' ' && c <= '~') return std::string("character '") + c + "'";
  const char* digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("character 0x") + digits[byte / 16] + digits[byte % 16];
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  std::vector<Token> tokens() {
    while (offset_ < text_.size()) lex_token();
    tokens_.push_back({Token::Kind::End, "", line_, column()});
    return std::move(tokens_);
  }

 private:
  void lex_token() {
    const char c = text_[offset_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++offset_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++offset_;
    } else if (c == '#') {
      while (offset_ < text_.size() && text_[offset_] != '\n') ++offset_;
    } else if (starts_name(c)) {
      std::size_t length = 1;
      while (offset_ + length < text_.size() && continues_name(text_[offset_ + length])) ++length;
      emit(Token::Kind::Name, length);
    } else if (is_digit(c)) {
      lex_number();
    } else if (c == '"') {
      lex_string();
    } else {
      lex_symbol();
    }
  }

  void lex_number() {
    std::size_t length = 1;
    bool decimal = false;
    for (; offset_ + length < text_.size(); ++length) {
      const char d = text_[offset_ + length];
      const bool point =
          d == '.' && !decimal && offset_ + length + 1 < text_.size() && is_digit(text_[offset_ + length + 1]);
      if (!is_digit(d) && !point) break;
      decimal = decimal || point;
    }
    emit(decimal ? Token::Kind::Decimal : Token::Kind::Number, length);
  }

  void lex_string() {
    const std::size_t close = text_.find_first_of("\"\n", offset_ + 1);
    if (close == std::string_view::npos || text_[close] == '\n') fail("this string has no closing quote");
    const std::string_view inside = text_.substr(offset_ + 1, close - offset_ - 1);
    if (inside.size() > max_string_length) {
      fail("a string of " + std::to_string(inside.size()) + " characters; expected at most " +
           std::to_string(max_string_length));
    }
    const auto control =
        std::ranges::find_if(inside, [](char d) { return std::iscntrl(static_cast<unsigned char>(d)) != 0; });
    if (control != inside.end()) fail("unexpected " + describe(*control) + " in a string");
    tokens_.push_back({Token::Kind::String, std::string(inside), line_, column()});
    offset_ = close + 1;
  }

  void lex_symbol() {
    const auto is_next = [&](std::string_view symbol) { return text_.substr(offset_, symbol.size()) == symbol; };
    const auto found = std::ranges::find_if(long_symbols, is_next);
    if (found != long_symbols.end()) return emit(Token::Kind::Symbol, found->size());
    if (single_symbols.find(text_[offset_]) == std::string_view::npos) fail("unexpected " + describe(text_[offset_]));
    emit(Token::Kind::Symbol, 1);
  }

  void emit(Token::Kind kind, std::size_t length) {
    if (length > max_word_length)
      fail("a word of " + std::to_string(length) + " characters; expected at most " + std::to_string(max_word_length));
    tokens_.push_back({kind, std::string(text_.substr(offset_, length)), line_, column()});
    offset_ += length;
  }

  int column() const { return static_cast<int>(offset_ - line_start_) + 1; }
  [[noreturn]] void fail(const std::string& message) const {
    throw runtime::InputError(place(origin_, line_, column()), message);
  }

  std::string_view text_;
  const std::string& origin_;
  int line_ = 1;
  std::size_t line_start_ = 0, offset_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& origin) { return Lexer(text, origin).tokens(); }

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

std::string TokenCursor::expect_name(std::string_view what) {
  if (peek().kind != Token::Kind::Name) fail(peek(), "expected " + std::string(what) + ", found " + quoted(peek()));
  return next().text;
}

std::int64_t TokenCursor::expect_number(std::string_view what) {
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
