#include "algebra/exchange/pdl/pattern_reader.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "algebra/exchange/pdl/mlir_text.h"
#include "algebra/exchange/readings.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

/// Reads the body of one pattern.
class BodyReader {
 public:
  BodyReader(MlirText& text, PdlPattern& pattern) : text_(text), pattern_(pattern) {}

  void read() {
    text_.expect("{", "a pattern's name and benefit");
    while (!text_.accept("pdl.rewrite")) {
      if (text_.peek() == '}') text_.fail("expected pdl.rewrite at the end of the pattern");
      statement();
    }
    read_rewrite();
    text_.expect("}", "pdl.rewrite");
  }

 private:
  enum class Kind : std::uint8_t { Type, Attribute, Operand, Operation, Result };
  struct Value {
    Kind kind;
    std::size_t index;  // of a type, an attribute, or a node
  };

  const Value& value(const std::string& name, std::initializer_list<Kind> kinds, const char* what) {
    const auto found = values_.find(name);
    if (found == values_.end()) text_.fail("%" + name + " is not defined before");
    if (std::ranges::find(kinds, found->second.kind) == kinds.end())
      text_.fail("expected " + std::string(what) + ", and %" + name + " is none");
    return found->second;
  }
  std::size_t tensor(const std::string& name) {
    return value(name, {Kind::Operand, Kind::Result}, "an operand or a result").index;
  }
  std::size_t operation(const std::string& name) { return value(name, {Kind::Operation}, "an operation").index; }
  std::size_t type(const std::string& name) { return value(name, {Kind::Type}, "a type").index; }

  void define(const std::string& name, Kind kind, std::size_t index) {
    if (!values_.emplace(name, Value{kind, index}).second) text_.fail("%" + name + " is defined twice");
  }

  std::size_t add_type(const std::string& text) {
    pattern_.types.push_back(text);
    return pattern_.types.size() - 1;
  }

  void statement() {
    if (text_.accept("pdl.apply_native_constraint")) return native_constraint();
    if (!text_.is_value()) text_.fail("expected an operation of PDL that is read, found " + text_.next_text());
    const std::string place = text_.place(), name = text_.value_name("");
    text_.expect("=", "%" + name);
    if (text_.accept("pdl.type")) {
      define(name, Kind::Type, add_type(text_.accept(":") ? text_.attribute() : ""));
    } else if (text_.accept("pdl.operand")) {
      if (!is_match_) text_.fail("an operand within pdl.rewrite");
      pattern_.nodes.push_back({place, name});
      if (text_.accept(":")) pattern_.nodes.back().type = type(text_.value_name("':'"));
      define(name, Kind::Operand, pattern_.nodes.size() - 1);
    } else if (text_.accept("pdl.attribute")) {
      read_attribute(name);
    } else if (text_.accept("pdl.operation")) {
      read_operation(place, name);
    } else if (text_.accept("pdl.result")) {
      if (text_.word() != "0") text_.fail("expected result 0: operations with several results are not read");
      text_.expect("of", "the number of a result");
      const std::size_t node = operation(text_.value_name("of"));
      define(name, Kind::Result, node);
    } else if (text_.accept("pdl.apply_native_rewrite")) {
      native_rewrite(name);
    } else {
      text_.fail("expected an operation of PDL that is read, found " + text_.next_text());
    }
  }

  void read_attribute(const std::string& name) {
    if (text_.accept(":")) text_.fail("expected a constant attribute, found one of a type");
    std::optional<std::string> constant;
    if (text_.accept("=")) {
      const MlirPosition begin = text_.position();
      constant = text_.attribute();
      positions_[attributes_.size()] = begin;
    }
    define(name, Kind::Attribute, attributes_.size());
    attributes_.push_back(std::move(constant));
  }

  void read_operation(const std::string& place, const std::string& name) {
    PdlNode node{place, name};
    node.is_match = is_match_;
    if (text_.peek() != '"') text_.fail("expected an operation's name: a pattern of any operation is no rule");
    node.operation = text_.string("");
    if (text_.accept("(")) {
      for (const std::string& each : values_in_list("(")) node.operands.push_back(tensor(each));
    }
    if (text_.accept("{")) {
      do {
        const std::string key = text_.string("'{'");
        text_.expect("=", "an attribute's name");
        const std::string attribute = text_.value_name("=");
        node.attributes[key] = attributes_[value(attribute, {Kind::Attribute}, "an attribute").index];
      } while (text_.accept(","));
      text_.expect("}", "an attribute");
    }
    if (text_.accept("->")) {
      text_.expect("(", "->");
      const std::vector<std::string> types = values_in_list("(");
      if (types.size() != 1) text_.fail("expected an operation of one result");
      node.type = type(types[0]);
    }
    pattern_.nodes.push_back(std::move(node));
    define(name, Kind::Operation, pattern_.nodes.size() - 1);
  }

  /// Reads "%a, %b : types)".
  std::vector<std::string> values_in_list(const char* after) {
    std::vector<std::string> names;
    do {
      names.push_back(text_.value_name(after));
    } while (text_.accept(","));
    text_.expect(":", "values");
    do {
      text_.expect("!", "':'");
      const std::string type = text_.word();
      if (type == "pdl.range") text_.fail("ranges of values are not read");
    } while (text_.accept(","));
    text_.expect(")", "the types of values");
    return names;
  }

  void native_constraint() {
    const std::string function = text_.string("pdl.apply_native_constraint");
    if (function != "rulemill.fits") text_.fail("the native constraint '" + function + "' is not known");
    text_.expect("(", "a function's name");
    const std::vector<std::string> names = values_in_list("(");
    if (!pattern_.specification.is_null()) text_.fail("rulemill.fits twice");
    const std::size_t attribute = value(names[0], {Kind::Attribute}, "an attribute").index;
    if (!positions_.contains(attribute)) text_.fail("%" + names[0] + " has no value");
    const MlirPosition end = text_.position();
    text_.rewind(positions_.at(attribute));
    pattern_.specification = read_mlir_attribute(text_);
    text_.rewind(end);
    for (std::size_t i = 1; i < names.size(); ++i)
      pattern_.specified.push_back(value(names[i], {Kind::Operand, Kind::Operation}, "an operand or operation").index);
  }

  void native_rewrite(const std::string& name) {
    const std::string function = text_.string("pdl.apply_native_rewrite");
    if (function != "rulemill.type" && function != "rulemill.attribute")
      text_.fail("the native rewrite '" + function + "' is not known");
    text_.expect("(", "a function's name");
    const std::vector<std::string> names = values_in_list("(");
    text_.expect(":", "the arguments of a native rewrite");
    text_.expect("!", "':'");
    text_.word();
    const std::size_t attribute = value(names[0], {Kind::Attribute}, "an attribute").index;
    if (!positions_.contains(attribute)) text_.fail("%" + names[0] + " has no value");
    const MlirPosition end = text_.position();
    text_.rewind(positions_.at(attribute));
    std::string filled = text_.string("=");
    text_.rewind(end);
    if (function == "rulemill.type") {
      define(name, Kind::Type, add_type(filled));
    } else {
      define(name, Kind::Attribute, attributes_.size());
      attributes_.emplace_back(std::move(filled));
    }
  }

  void read_rewrite() {
    const bool names_root = text_.is_value();
    if (names_root) pattern_.root = operation(text_.value_name("pdl.rewrite"));
    if (text_.accept("with")) text_.fail("a rewrite by a native function is not read");
    text_.expect("{", "pdl.rewrite");
    is_match_ = false;
    while (!text_.accept("pdl.replace")) statement();
    const std::size_t root = operation(text_.value_name("pdl.replace"));
    if (names_root && root != pattern_.root) text_.fail("expected the replacement of the pattern's root");
    pattern_.root = root;
    text_.expect("with", "the replaced operation");
    if (text_.accept("(")) {
      const std::vector<std::string> names = values_in_list("(");
      if (names.size() != 1) text_.fail("expected one result of the replaced operation");
      pattern_.replacement = tensor(names[0]);
    } else {
      pattern_.replacement = operation(text_.value_name("with"));
    }
    text_.expect("}", "pdl.replace");
    require_one_root();
  }

  /// An operation that the root does not use would be another condition.
  void require_one_root() {
    if (!pattern_.nodes[pattern_.root].is_match) text_.fail("the replaced operation is not one of the pattern");
    std::vector<bool> used(pattern_.nodes.size(), false);
    used[pattern_.root] = true;
    for (std::size_t i = pattern_.root + 1; i-- > 0;) {
      if (!used[i]) continue;
      for (const std::size_t operand : pattern_.nodes[i].operands) used[operand] = true;
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      const PdlNode& node = pattern_.nodes[i];
      if (!used[i] && node.is_match && !node.operation.empty())
        throw runtime::InputError(node.place, "the root does not use this operation");
    }
  }

  MlirText& text_;
  PdlPattern& pattern_;
  bool is_match_ = true;
  std::map<std::string, Value> values_;
  std::vector<std::optional<std::string>> attributes_;
  std::map<std::size_t, MlirPosition> positions_;  // of constants, by attribute
};

std::string symbol_name(MlirText& text) {
  if (!text.accept("@")) return "";
  return text.peek() == '"' ? text.string("@") : text.word();
}

PdlPattern read_pattern(MlirText& text, std::size_t number) {
  PdlPattern pattern;
  pattern.place = text.place();
  text.expect("pdl.pattern", "the beginning");
  pattern.name = symbol_name(text);
  if (pattern.name.empty()) pattern.name = "pattern_" + std::to_string(number);
  text.expect(":", "a pattern's name");
  text.expect("benefit", "':'");
  text.expect("(", "benefit");
  text.word();
  text.expect(")", "a benefit");
  if (text.peek() != '{') text.fail("expected '{' after a pattern's benefit, found " + text.next_text());
  const MlirPosition begin = text.position();
  text.skip_braces();
  const MlirPosition end = text.position();
  text.rewind(begin);
  try {
    BodyReader(text, pattern).read();
  } catch (const runtime::InputError& error) {
    pattern.place = error.where();
    pattern.problem = without_place(error);
  }
  text.rewind(end);
  return pattern;
}

}  // namespace

std::vector<PdlPattern> read_pdl_patterns(std::string_view text, const std::string& origin) {
  MlirText at(text, origin);
  std::vector<PdlPattern> patterns;
  int modules = 0;
  while (!at.at_end()) {
    if (at.accept("module") || at.accept("builtin.module")) {
      symbol_name(at);
      if (at.accept("attributes")) at.skip_braces();
      at.expect("{", "module");
      ++modules;
    } else if (modules > 0 && at.accept("}")) {
      --modules;
    } else {
      const MlirPosition begin = at.position();
      if (!at.accept("pdl.pattern"))
        at.fail("expected a module of patterns: 'module' or 'pdl.pattern', found " + at.next_text());
      at.rewind(begin);
      patterns.push_back(read_pattern(at, patterns.size() + 1));
    }
  }
  if (modules > 0) at.fail("expected '}' at the end of the module");
  return patterns;
}

}  // namespace rulemill::algebra
