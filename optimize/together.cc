#include "optimize/together.h"

#include <algorithm>
#include <cctype>

#include "runtime/atomic_file.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

constexpr std::size_t deepest = 32;

/// TERM := WORD [ "(" TERM { "," TERM } { ";" WORD "=" "[" INTEGER { "," INTEGER } "]" } ")" ]
class Line {
 public:
  Line(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  /// `takes`: whether the line says so.
  NamedTerm pattern(bool& takes) {
    word("the pattern's name");
    takes = !take(':');
    if (takes && (!is_word_next() || word("'takes'") != "takes" || !take(':'))) refuse("':' or 'takes:'");
    NamedTerm result = term(0);
    if (result.arguments.empty()) refuse("an operator with its arguments");
    skip_blanks();
    if (at_ < text_.size()) refuse("the end of the line");
    if (takes && inner_ != 1) refuse("one operator inside the other");
    return result;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    throw runtime::InputError(place_ + ":" + std::to_string(at_ + 1), "expected " + expected);
  }

  bool is_word_next() {
    skip_blanks();
    return at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0;
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> result;
    expect('[');
    do {
      const std::string digits = word("an integer");
      if (digits.size() > 3 || !std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; }))
        refuse("an integer of up to three digits");
      result.push_back(std::stoll(digits));
    } while (take(','));
    expect(']');
    return result;
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
    NamedTerm result{word("an operator or a value"), {}, {}};
    if (!take('(')) return result;
    if (depth > 0) ++inner_;
    do {
      result.arguments.push_back(term(depth + 1));
    } while (take(','));
    while (take(';')) {
      const std::string name = word("a parameter's name");
      expect('=');
      result.lists[name] = integers();
    }
    expect(')');
    return result;
  }

  std::string_view text_;
  std::string place_;
  std::size_t at_ = 0;
  std::size_t inner_ = 0;  // operators inside others
};

/// A try to find one pattern: what its names stand for, and the nodes met below the last.
struct Try {
  std::map<std::string, ValueId> values;
  std::vector<NodeId> inner;
};

/// What the term says of the operator itself.
bool is_named(const algebra::Instance& instance, const NamedTerm& term) {
  return instance.operator_name == term.name && instance.inputs.size() == term.arguments.size() &&
         std::ranges::all_of(term.lists, [&](const auto& list) {
           const auto own = instance.parameters.find(list.first);
           return own != instance.parameters.end() && own->second == algebra::ParameterValue(list.second);
         });
}

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
  if (!is_named(instance, term)) return false;
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
    bool takes = false;
    NamedTerm pattern = Line(line, file + ":" + std::to_string(number)).pattern(takes);
    (takes ? result.taken_ : result.patterns_).push_back(std::move(pattern));
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

bool Together::takes(const algebra::Instance& user, std::size_t place, const algebra::Instance& inner) const {
  return std::ranges::any_of(taken_, [&](const NamedTerm& pattern) {
    return is_named(user, pattern) && place < pattern.arguments.size() && !pattern.arguments[place].arguments.empty() &&
           is_named(inner, pattern.arguments[place]);
  });
}

}  // namespace rulemill::optimize
