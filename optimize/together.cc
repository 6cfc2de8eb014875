#include "optimize/together.h"

#include <algorithm>
#include <cctype>

#include "runtime/atomic_file.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

constexpr std::size_t deepest = 32;

/// TERM := WORD [ "(" TERM { "," TERM } ")" ]
class Line {
 public:
  Line(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  NamedTerm pattern() {
    word("the pattern's name");
    expect(':');
    NamedTerm result = term(0);
    if (result.arguments.empty()) refuse("an operator with its arguments");
    skip_blanks();
    if (at_ < text_.size()) refuse("the end of the line");
    return result;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    throw runtime::InputError(place_ + ":" + std::to_string(at_ + 1), "expected " + expected);
  }

  std::string word(const std::string& what) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) refuse(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool take(char sign) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  void expect(char sign) {
    if (!take(sign)) refuse(std::string("'") + sign + "'");
  }

  NamedTerm term(std::size_t depth) {
    if (depth > deepest) refuse("no more than " + std::to_string(deepest) + " operators inside each other");
    NamedTerm result{word("an operator or a value"), {}};
    if (!take('(')) return result;
    do {
      result.arguments.push_back(term(depth + 1));
    } while (take(','));
    expect(')');
    return result;
  }

  std::string_view text_;
  std::string place_;
  std::size_t at_ = 0;
};

/// A try to find one pattern: what its names stand for, and the nodes met below the last.
struct Try {
  std::map<std::string, ValueId> values;
  std::vector<NodeId> inner;
};

bool fits(const GraphBank& bank, const NamedTerm& term, ValueId value, Try& state);

bool arguments_fit(const GraphBank& bank, const NamedTerm& term, const std::vector<ValueId>& arguments, Try& state) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!fits(bank, term.arguments[i], arguments[i], state)) return false;
  }
  return true;
}

bool node_fits(const GraphBank& bank, const NamedTerm& term, NodeId id, Try& state) {
  const Node& node = bank.node(id);
  if (node.kind != Node::Kind::Algebra || node.constant || node.outputs.size() != 1) return false;
  const algebra::Instance& instance = bank.instance(node);
  if (instance.operator_name != term.name || node.arguments.size() != term.arguments.size()) return false;
  const Try before = state;
  if (arguments_fit(bank, term, node.arguments, state)) return true;
  state = before;
  if (!instance.commutative || node.arguments.size() != 2) return false;
  return arguments_fit(bank, term, {node.arguments[1], node.arguments[0]}, state);
}

bool fits(const GraphBank& bank, const NamedTerm& term, ValueId value, Try& state) {
  if (term.arguments.empty()) return state.values.emplace(term.name, value).first->second == value;
  const NodeId node = bank.value(value).node;
  if (!node_fits(bank, term, node, state)) return false;
  if (std::ranges::find(state.inner, node) == state.inner.end()) state.inner.push_back(node);
  return true;
}

}  // namespace

Together Together::parse(const std::string& text, const std::string& file) {
  Together result;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    line = line.substr(0, line.find('#'));
    ++number;
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    result.patterns_.push_back(Line(line, file + ":" + std::to_string(number)).pattern());
  }
  return result;
}

Together Together::load(const std::filesystem::path& file) { return parse(runtime::read_file(file), file.string()); }

std::vector<NodeId> Together::with(const GraphBank& bank, NodeId last) const {
  for (const NamedTerm& pattern : patterns_) {
    Try state;
    if (node_fits(bank, pattern, last, state)) return state.inner;
  }
  return {};
}

}  // namespace rulemill::optimize
