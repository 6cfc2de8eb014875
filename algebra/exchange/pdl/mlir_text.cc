#include "algebra/exchange/pdl/mlir_text.h"

#include <algorithm>
#include <cctype>

#include "algebra/language/lexer.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_quoted = 40;
constexpr int max_attribute_nesting = 20;

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

}  // namespace

void MlirText::advance() {
  if (text_[at_.offset] == '\n') {
    ++at_.line;
    at_.line_begin = at_.offset + 1;
  }
  ++at_.offset;
}

void MlirText::skip_blanks() {
  while (at_.offset < text_.size()) {
    if (text_.substr(at_.offset, 2) == "//") {
      while (at_.offset < text_.size() && text_[at_.offset] != '\n') advance();
    } else if (std::isspace(static_cast<unsigned char>(text_[at_.offset])) != 0) {
      advance();
    } else {
      return;
    }
  }
}

char MlirText::peek() {
  skip_blanks();
  return at_.offset < text_.size() ? text_[at_.offset] : '\0';
}

bool MlirText::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(at_.offset, token.size()) != token) return false;
  const std::size_t end = at_.offset + token.size();
  if (is_word_character(token.back()) && end < text_.size() && is_word_character(text_[end])) return false;
  at_.offset = end;  // no token has a line's end
  return true;
}

void MlirText::expect(std::string_view token, std::string_view after) {
  if (!accept(token))
    fail("expected '" + std::string(token) + "' after " + std::string(after) + ", found " + next_text());
}

std::string MlirText::word() {
  skip_blanks();
  std::string result;
  while (at_.offset < text_.size() && is_word_character(text_[at_.offset])) result += text_[at_.offset++];
  return result;
}

std::string MlirText::value_name(std::string_view after) {
  if (!accept("%")) fail("expected a value such as %x after " + std::string(after) + ", found " + next_text());
  std::string name = word();
  if (name.empty()) fail("expected a name after %");
  if (accept("#")) fail("expected a value with one result, found %" + name + "#");
  return name;
}

bool MlirText::skip_string(std::string* into) {
  const std::size_t begin = at_.offset;
  for (++at_.offset; at_.offset < text_.size() && text_[at_.offset] != '\n'; ++at_.offset) {
    const char c = text_[at_.offset];
    if (c == '"') {
      ++at_.offset;
      return true;
    }
    if (c == '\\') {
      const std::string_view code = text_.substr(at_.offset + 1, 2);
      const bool is_quote = code == "22";
      at_.offset += is_quote ? 2 : 1;
      if (into != nullptr) *into += is_quote ? '"' : at_.offset < text_.size() ? text_[at_.offset] : ' ';
    } else if (into != nullptr) {
      *into += c;
    }
  }
  at_.offset = begin;
  return false;
}

std::string MlirText::string(std::string_view after) {
  if (peek() != '"') fail("expected a text in quotes after " + std::string(after) + ", found " + next_text());
  std::string result;
  if (!skip_string(&result)) fail("this quotation mark is not closed");
  return result;
}

std::string MlirText::attribute() {
  skip_blanks();
  const MlirPosition begin = at_;
  std::string result, open;
  while (at_.offset < text_.size()) {
    const char c = text_[at_.offset];
    if (c == '\n' && open.empty()) break;
    if (c == '"') {
      const std::size_t from = at_.offset;
      if (!skip_string(nullptr)) fail("this quotation mark is not closed");
      result += text_.substr(from, at_.offset - from);
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || text_.substr(at_.offset, 2) == "//") {
      const MlirPosition blank = at_;
      skip_blanks();
      if (open.empty() && at_.line != blank.line) break;
      result += ' ';
      continue;
    }
    if (text_.substr(at_.offset, 2) == "->") {
      result += "->";
      at_.offset += 2;
      continue;
    }
    const std::size_t closed = std::string_view(")]}>").find(c);
    if (closed != std::string_view::npos) {
      if (open.empty()) break;
      if (open.back() != "([{<"[closed]) fail("this bracket closes no bracket of the attribute");
      open.pop_back();
    }
    if (std::string_view("([{<").find(c) != std::string_view::npos) open += c;
    result += c;
    advance();
  }
  while (result.ends_with(' ')) result.pop_back();
  if (!open.empty() || result.empty()) {
    at_ = begin;
    fail(open.empty() ? "expected an attribute, found " + next_text() : "a bracket of this attribute is not closed");
  }
  return result;
}

void MlirText::skip_braces() {
  peek();
  const MlirPosition begin = at_;
  int depth = 0;
  while (peek() != '\0') {
    const char c = text_[at_.offset];
    if (c == '"') {
      if (!skip_string(nullptr)) fail("this quotation mark is not closed");
      continue;
    }
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    advance();
    if (depth == 0) return;
  }
  at_ = begin;
  fail("this brace is not closed");
}

std::string MlirText::next_text() {
  skip_blanks();
  std::string result;
  for (std::size_t i = at_.offset; i < text_.size() && text_[i] != '\n' && result.size() < max_quoted; ++i)
    result += static_cast<unsigned char>(text_[i]) < ' ' || static_cast<unsigned char>(text_[i]) > '~' ? '?' : text_[i];
  while (result.ends_with(' ')) result.pop_back();
  return result.empty() ? "the end of the text" : "'" + result + "'";
}

std::string MlirText::place_of(const MlirPosition& position) const {
  return algebra::place(origin_, position.line, static_cast<int>(position.offset - position.line_begin) + 1);
}

std::string MlirText::place() {
  skip_blanks();
  return place_of(at_);
}

void MlirText::fail(const std::string& message) { throw runtime::InputError(place(), message); }

namespace {

runtime::Json read_attribute(MlirText& text, int depth) {
  if (depth > max_attribute_nesting) text.fail("an attribute nested too deeply");
  if (text.peek() == '"') return text.string("");
  if (text.accept("[")) {
    runtime::Json list = runtime::Json::array();
    while (!text.accept("]")) {
      if (!list.empty()) text.expect(",", "an item of a list");
      list.push_back(read_attribute(text, depth + 1));
    }
    return list;
  }
  if (text.accept("{")) {
    runtime::Json dictionary = runtime::Json::object();
    while (!text.accept("}")) {
      if (!dictionary.empty()) text.expect(",", "an entry of a dictionary");
      const std::string key = text.peek() == '"' ? text.string("") : text.word();
      if (key.empty()) text.fail("expected a name, found " + text.next_text());
      text.expect("=", key);
      dictionary[key] = read_attribute(text, depth + 1);
    }
    return dictionary;
  }
  const std::string word = text.word();
  if (word.empty() || word.size() > 9 ||
      !std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }))
    text.fail("expected a text, a list, a dictionary or an integer");
  if (text.accept(":")) text.word();
  return std::stoll(word);
}

}  // namespace

runtime::Json read_mlir_attribute(MlirText& text) { return read_attribute(text, 0); }

}  // namespace rulemill::algebra
