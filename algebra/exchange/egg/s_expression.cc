#include "algebra/exchange/egg/s_expression.h"

#include <cctype>
#include <utility>

#include "algebra/language/lexer.h"
#include "runtime/text/printable.h"

namespace rulemill::algebra {
namespace {

constexpr int max_list_nesting = 1000;
constexpr std::size_t max_atom_length = 200, max_quoted_length = 10'000, max_shown_length = 60;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ','; }
bool is_printable(char c) { return c > ' ' && c <= '~'; }
bool continues_atom(char c) { return is_printable(c) && c != '(' && c != ')' && c != '"' && c != ';' && c != ','; }

void append(const SExpression& expression, std::string& text) {
  if (text.size() > max_shown_length) return;
  if (!expression.is_list()) {
    text += expression.text;
    return;
  }
  text += "(";
  for (std::size_t i = 0; i < expression.items.size(); ++i) {
    if (i > 0) text += " ";
    append(expression.items[i], text);
  }
  text += ")";
}

}  // namespace

std::string_view SExpression::head() const {
  return is_list() && !items.empty() && items[0].is_atom() ? std::string_view(items[0].text) : std::string_view();
}

std::string to_string(const SExpression& expression) {
  std::string text;
  append(expression, text);
  return runtime::make_printable(text, max_shown_length);
}

bool SExpressionReader::at_end() {
  skip_blanks();
  return offset_ == text_.size();
}

void SExpressionReader::advance() {
  if (text_[offset_] == '\n') {
    ++line_;
    column_ = 0;
  }
  ++offset_;
  ++column_;
}

void SExpressionReader::skip_blanks(bool semicolon_begins_comment) {
  while (offset_ < text_.size()) {
    const bool is_comment =
        (semicolon_begins_comment && text_[offset_] == ';') || text_.substr(offset_).starts_with("//");
    if (is_comment) {
      while (offset_ < text_.size() && text_[offset_] != '\n') advance();
    } else if (is_blank(text_[offset_])) {
      advance();
    } else {
      return;
    }
  }
}

bool SExpressionReader::accept(char symbol) {
  skip_blanks(symbol != ';');
  if (offset_ == text_.size() || text_[offset_] != symbol) return false;
  advance();
  return true;
}

bool SExpressionReader::accept(std::string_view text) {
  skip_blanks();
  const std::string_view rest = text_.substr(offset_);
  if (!rest.starts_with(text)) return false;
  const bool is_word = std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  if (is_word && rest.size() > text.size() && continues_atom(rest[text.size()])) return false;
  for (std::size_t i = 0; i < text.size(); ++i) advance();
  return true;
}

void SExpressionReader::skip_to_next_line_start() {
  while (offset_ < text_.size()) {
    advance();
    if (offset_ == text_.size() || column_ != 1) continue;
    const char c = text_[offset_];
    if (c == '(' || c == '"' || std::isalpha(static_cast<unsigned char>(c)) != 0) return;
  }
}

SExpression SExpressionReader::read() {
  skip_blanks();
  SExpression result{SExpression::Kind::List, "", {}, line_, column_};
  if (offset_ == text_.size()) fail("expected an expression, found the end of the text");
  if (text_[offset_] == '"') return read_string(std::move(result));
  if (text_[offset_] != '(') return read_atom(std::move(result));
  if (nesting_ == max_list_nesting)
    fail("an expression nested too deeply: more than " + std::to_string(max_list_nesting) + " parentheses");
  advance();
  ++nesting_;
  while (!accept(')')) {
    if (at_end()) fail(result, "this parenthesis is not closed");
    result.items.push_back(read());
  }
  --nesting_;
  return result;
}

SExpression SExpressionReader::read_string(SExpression at) {
  at.kind = SExpression::Kind::String;
  advance();
  const std::size_t begin = offset_;
  while (offset_ < text_.size() && text_[offset_] != '"') {
    advance();
    if (offset_ - begin > max_quoted_length)
      fail(at, "a string of more than " + std::to_string(max_quoted_length) + " characters");
  }
  if (offset_ == text_.size()) fail(at, "this string is not closed");
  at.text = text_.substr(begin, offset_ - begin);
  advance();
  return at;
}

SExpression SExpressionReader::read_atom(SExpression at) {
  at.kind = SExpression::Kind::Atom;
  const std::size_t begin = offset_;
  while (offset_ < text_.size() && continues_atom(text_[offset_])) advance();
  if (offset_ == begin)
    fail("expected an expression, found '" + runtime::make_printable(text_.substr(offset_, 1)) + "'");
  at.text = text_.substr(begin, offset_ - begin);
  if (at.text.size() > max_atom_length)
    fail(at, "a word of more than " + std::to_string(max_atom_length) + " characters");
  return at;
}

void SExpressionReader::fail(const std::string& message) const {
  throw runtime::InputError(place(origin_, line_, column_), message);
}

void SExpressionReader::fail(const SExpression& at, const std::string& message) const {
  throw runtime::InputError(place(origin_, at.line, at.column), message);
}

}  // namespace rulemill::algebra
