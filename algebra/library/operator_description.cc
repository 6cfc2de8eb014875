#include "algebra/library/operator_description.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "algebra/language/syntax.h"
#include "algebra/operators/aten_domain.h"
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

  enum class End : std::uint8_t { Bracket, Separator, Line };

  /// Returns what begins at this place, on one line: up to the bracket that closes the first one; or before the comma,
  /// semicolon or closing bracket of the same depth; or to the end of the line, or of those that a bracket continues.
  std::string text(syntax::Place start, End end) const {
    std::string text;
    int open = 0;
    bool has_gap = false, is_in_string = false;
    auto column = static_cast<std::size_t>(start.column) - 1;
    for (auto line = static_cast<std::size_t>(start.line) - 1; line < lines_.size(); ++line, column = 0) {
      const bool is_new_line = !text.empty();
      has_gap = is_new_line && !is_opening(text.back());
      for (; column < lines_[line].size() && (is_in_string || lines_[line][column] != '#'); ++column) {
        const char c = lines_[line][column];
        if (!is_in_string && c == ' ') {
          has_gap = has_gap || (!text.empty() && !(is_new_line && is_opening(text.back())));
          continue;
        }
        if (c == '"') is_in_string = !is_in_string;
        const bool closes = !is_in_string && is_closing(c);
        if (end == End::Separator && open == 0 && (closes || c == ',' || c == ';')) return text;
        if (has_gap && !(is_new_line && closes)) text += ' ';
        has_gap = false;
        text += c;
        open += closes ? -1 : !is_in_string && is_opening(c) ? 1 : 0;
        if (end == End::Bracket && open == 0 && closes) return text;
      }
      if (end == End::Line && open == 0) break;
    }
    return text;
  }

 private:
  static bool is_opening(char c) { return c == '(' || c == '[' || c == '{'; }
  static bool is_closing(char c) { return c == ')' || c == ']' || c == '}'; }

  syntax::Definitions definitions_;
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
  result.signature = file.text(op.place, DefinitionFile::End::Bracket);
  result.definition = file.paragraph(op.place.line);
  for (const syntax::Input& input : op.inputs)
    result.inputs.push_back({file.text(input.place, DefinitionFile::End::Bracket), type_name(input.scalar_kind)});
  for (const syntax::Tensor& output : op.outputs)
    result.outputs.push_back({file.text(output.place, DefinitionFile::End::Bracket), type_name(output.scalar_kind)});
  for (const syntax::Parameter& parameter : op.parameters)
    result.parameters.push_back({file.text(parameter.place, DefinitionFile::End::Separator), meaning_of(parameter)});
  for (const syntax::OnnxMappingSyntax& mapping : op.onnx)
    (mapping.domain == aten_domain ? result.aten : result.onnx)
        .push_back(file.text(mapping.place, DefinitionFile::End::Line));
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
    for (const syntax::Operator& op : file.operators())
      result[op.name] = file.text(op.place, DefinitionFile::End::Bracket);
  }
  return result;
}

}  // namespace rulemill::algebra
