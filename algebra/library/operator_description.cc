#include "algebra/library/operator_description.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "algebra/language/lexer.h"
#include "algebra/language/syntax.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

struct FilePlace {
  std::string file;
  int line = 1, column = 1;
};

/// Splits "file:line:column".
FilePlace split_place(const std::string& text) {
  const std::size_t column = text.rfind(':'), line = text.rfind(':', column - 1);
  return {text.substr(0, line), std::stoi(text.substr(line + 1)), std::stoi(text.substr(column + 1))};
}

/// A file of definitions: its syntax, tokens and lines.
class DefinitionFile {
 public:
  explicit DefinitionFile(const std::string& file) {
    const std::string text = runtime::read_file(file);
    definitions_ = syntax::parse(text, file);
    tokens_ = tokenize(text, file);
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines_.push_back(line);
    for (const syntax::Operator& op : definitions_.operators) starts_.insert(op.place.line);
    for (const syntax::FunctionSyntax& function : definitions_.functions)
      starts_.insert(split_place(function.place).line);
    for (const syntax::Include& include : definitions_.includes) starts_.insert(split_place(include.place).line);
  }

  const std::vector<syntax::Operator>& operators() const { return definitions_.operators; }
  const syntax::Operator& get(const std::string& name) const {
    const auto found = std::ranges::find(definitions_.operators, name, &syntax::Operator::name);
    if (found == definitions_.operators.end())
      throw runtime::InputError(definitions_.origin, "has changed since it was loaded: no operator '" + name + "'");
    return *found;
  }

  /// Returns the paragraph that begins in this line, up to the next one, with the comment above it.
  std::string paragraph(int line) const {
    const auto is_comment = [](const std::string& text) { return text.starts_with('#'); };
    const auto next = starts_.upper_bound(line);
    auto first = static_cast<std::size_t>(line) - 1;
    std::size_t end = std::max(first + 1, next == starts_.end() ? lines_.size() : static_cast<std::size_t>(*next) - 1);
    while (end > first + 1 && (lines_[end - 1].empty() || is_comment(lines_[end - 1]))) --end;
    while (first > 0 && is_comment(lines_[first - 1])) --first;
    std::string text;
    for (; first < end; ++first) text += lines_[first] + "\n";
    return text;
  }

  /// Returns the tokens from this place up to the bracket that closes the first one.
  std::string text_to_bracket(syntax::Place start) const {
    std::size_t i = index_of(start);
    const std::size_t first = i;
    int open = 0;
    for (; i < tokens_.size(); ++i) {
      if (is_opening(tokens_[i])) ++open;
      if (is_closing(tokens_[i]) && --open == 0) break;
    }
    return joined(first, std::min(i + 1, tokens_.size()));
  }

  /// Returns the tokens from this place up to the next comma or semicolon at the same depth, or the closing bracket.
  std::string text_to_separator(syntax::Place start) const {
    std::size_t i = index_of(start);
    const std::size_t first = i;
    for (int open = 0; i < tokens_.size(); ++i) {
      if (open == 0 && (is_closing(tokens_[i]) || tokens_[i].text == "," || tokens_[i].text == ";")) break;
      open += is_opening(tokens_[i]) ? 1 : is_closing(tokens_[i]) ? -1 : 0;
    }
    return joined(first, i);
  }

  /// Returns the tokens from this place, on this line and on those that a brace or parenthesis continues.
  std::string text_of_line(syntax::Place start) const {
    std::size_t i = index_of(start);
    const std::size_t first = i;
    int open = 0, line = start.line;
    for (; i < tokens_.size() && tokens_[i].kind != Token::Kind::End; ++i) {
      if (open == 0 && tokens_[i].line != line) break;
      open += is_opening(tokens_[i]) ? 1 : is_closing(tokens_[i]) ? -1 : 0;
      line = tokens_[i].line;
    }
    return joined(first, i);
  }

 private:
  static bool is_one_of(const Token& token, std::initializer_list<const char*> symbols) {
    return token.kind == Token::Kind::Symbol && std::ranges::find(symbols, token.text) != symbols.end();
  }
  static bool is_opening(const Token& token) { return is_one_of(token, {"(", "[", "{"}); }
  static bool is_closing(const Token& token) { return is_one_of(token, {")", "]", "}"}); }

  std::size_t index_of(syntax::Place start) const {
    const auto found = std::ranges::find_if(
        tokens_, [&](const Token& token) { return token.line == start.line && token.column == start.column; });
    return static_cast<std::size_t>(found - tokens_.begin());
  }

  /// Joins tokens as they are written, on one line.
  std::string joined(std::size_t first, std::size_t end) const {
    std::string text;
    int end_of_last = 0;
    for (std::size_t i = first; i < end; ++i) {
      const Token& token = tokens_[i];
      const std::string written = token.kind == Token::Kind::String ? '"' + token.text + '"' : token.text;
      const bool is_new_line = i > first && token.line != tokens_[i - 1].line;
      const bool has_gap = i > first && (is_new_line || token.column > end_of_last);
      const bool is_in_bracket = is_new_line && (is_opening(tokens_[i - 1]) || is_closing(token));
      text += (has_gap && !is_in_bracket ? " " : "") + written;
      end_of_last = token.column + static_cast<int>(written.size());
    }
    return text;
  }

  syntax::Definitions definitions_;
  std::vector<Token> tokens_;
  std::vector<std::string> lines_;
  std::set<int> starts_;  // of paragraphs
};

const char* type_name(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::Bool:
      return "bool";
    case ScalarKind::Int:
      return "int";
    case ScalarKind::Positive:
      return "positive";
    default:
      return "real";
  }
}

std::string meaning_of(const syntax::Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::Size:
      return "a size";
    case ParameterKind::Sizes:
      return "a list of sizes";
    case ParameterKind::Int:
      return parameter.int_values.empty() ? "an integer" : "one of these numbers, the first by default";
    case ParameterKind::Ints:
      return "an integer for each dimension of " + parameter.pack + "...; one number stands for a list of it";
    case ParameterKind::Enum:
      return "one of these words, the first by default";
    case ParameterKind::Axis:
      return "an axis of the first input";
    case ParameterKind::Axes:
      return "a list of axes of the first input";
    case ParameterKind::NewAxes:
      return "a list of positions in the result";
    case ParameterKind::Permutation:
      return "an order of the first input's axes";
    case ParameterKind::Spread:
      return "how an input is repeated: for each dimension 0 (whole), 1 (one element for all) or 2 (absent)";
  }
  return {};
}

std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) {
    if (std::ranges::find(result, name) == result.end()) result.push_back(name);
  }
  return result;
}

}  // namespace

OperatorDescription describe_operator(const Library& library, const std::string& name) {
  OperatorDescription result;
  result.place = library.place_of(name);
  const DefinitionFile file(split_place(result.place).file);
  const syntax::Operator& op = file.get(name);
  result.signature = file.text_to_bracket(op.place);
  result.definition = file.paragraph(op.place.line);
  for (const syntax::Input& input : op.inputs)
    result.inputs.push_back({file.text_to_bracket(input.place), type_name(input.scalar_kind)});
  for (const syntax::Tensor& output : op.outputs)
    result.outputs.push_back({file.text_to_bracket(output.place), type_name(output.scalar_kind)});
  for (const syntax::Parameter& parameter : op.parameters)
    result.parameters.push_back({file.text_to_separator(parameter.place), meaning_of(parameter)});
  for (const syntax::OnnxMappingSyntax& mapping : op.onnx) result.onnx.push_back(file.text_of_line(mapping.place));
  result.parts = distinct(syntax::called_operators(op));
  for (const std::string& function : distinct(syntax::applied_functions(op))) {
    const std::string place = library.place_of_function(function);
    if (place.empty()) continue;  // an enum value that names no function, such as none
    const FilePlace at = split_place(place);
    result.functions.push_back({function, place, DefinitionFile(at.file).paragraph(at.line)});
  }
  return result;
}

std::map<std::string, std::string> operator_signatures(const Library& library) {
  std::set<std::string> files;
  for (const std::string& name : library.operator_names()) files.insert(split_place(library.place_of(name)).file);
  std::map<std::string, std::string> result;
  for (const std::string& path : files) {
    const DefinitionFile file(path);
    for (const syntax::Operator& op : file.operators()) result[op.name] = file.text_to_bracket(op.place);
  }
  return result;
}

}  // namespace rulemill::algebra
