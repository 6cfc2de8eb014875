#include "optimize/model/runtime_fusion.h"

#include <algorithm>
#include <cctype>

#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

constexpr std::size_t max_pattern_depth = 32;

/// TERM := WORD [ "(" TERM { "," TERM } { ";" WORD "=" "[" INTEGER { "," INTEGER } "]" } ")" ]
class PatternParser {
 public:
  PatternParser(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  /// Sets `is_absorption` for a line "NAME absorbs: TERM".
  NamedTerm pattern(bool& is_absorption) {
    word("the pattern's name");
    is_absorption = !accept(':');
    if (is_absorption && (!is_word_next() || word("'absorbs'") != "absorbs" || !accept(':'))) fail("':' or 'absorbs:'");
    NamedTerm result = term(0);
    if (result.arguments.empty()) fail("an operator with its arguments");
    skip_blanks();
    if (at_ < text_.size()) fail("the end of the line");
    if (is_absorption && inner_operators_ != 1) fail("one operator inside the other");
    return result;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  [[noreturn]] void fail(const std::string& expected) const {
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
        fail("an integer of up to three digits");
      result.push_back(std::stoll(digits));
    } while (accept(','));
    expect(']');
    return result;
  }

  std::string word(const std::string& what) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) fail(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool accept(char sign) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  void expect(char sign) {
    if (!accept(sign)) fail(std::string("'") + sign + "'");
  }

  NamedTerm term(std::size_t depth) {
    if (depth > max_pattern_depth) fail("at most " + std::to_string(max_pattern_depth) + " nested operators");
    NamedTerm result{word("an operator or a value"), {}, {}};
    if (!accept('(')) return result;
    if (depth > 0) ++inner_operators_;
    do {
      result.arguments.push_back(term(depth + 1));
    } while (accept(','));
    while (accept(';')) {
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
  std::size_t inner_operators_ = 0;
};

/// A partial match of one pattern: values of its variables, and matched nodes except the last.
struct PatternMatch {
  std::map<std::string, ValueId> values;
  std::vector<NodeId> inner;
};

/// Returns true if the instance has the term's operator and list parameters.
bool has_operator(const algebra::OperatorInstance& instance, const NamedTerm& term) {
  return instance.operator_name == term.name && instance.inputs.size() == term.arguments.size() &&
         std::ranges::all_of(term.lists, [&](const auto& list) {
           const auto own = instance.parameters.find(list.first);
           return own != instance.parameters.end() && own->second == algebra::ParameterValue(list.second);
         });
}

bool fits(const GraphBank& bank, const NamedTerm& term, ValueId value, PatternMatch& state);

bool arguments_fit(const GraphBank& bank, const NamedTerm& term, const std::vector<ValueId>& arguments,
                   PatternMatch& state) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!fits(bank, term.arguments[i], arguments[i], state)) return false;
  }
  return true;
}

bool node_fits(const GraphBank& bank, const NamedTerm& term, NodeId id, PatternMatch& state) {
  const Node& node = bank.node(id);
  if (node.kind != Node::Kind::Algebra || node.constant || node.outputs.size() != 1) return false;
  const algebra::OperatorInstance& instance = bank.instance(node);
  if (!has_operator(instance, term)) return false;
  const PatternMatch before = state;
  if (arguments_fit(bank, term, node.arguments, state)) return true;
  state = before;
  if (!instance.commutative || node.arguments.size() != 2) return false;
  return arguments_fit(bank, term, {node.arguments[1], node.arguments[0]}, state);
}

bool fits(const GraphBank& bank, const NamedTerm& term, ValueId value, PatternMatch& state) {
  if (term.arguments.empty()) return state.values.emplace(term.name, value).first->second == value;
  const NodeId node = bank.value(value).node;
  if (!node_fits(bank, term, node, state)) return false;
  if (std::ranges::find(state.inner, node) == state.inner.end()) state.inner.push_back(node);
  return true;
}

}  // namespace

RuntimeFusions RuntimeFusions::parse(const std::string& text, const std::string& file) {
  RuntimeFusions result;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    line = line.substr(0, line.find('#'));
    ++number;
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    bool is_absorption = false;
    NamedTerm pattern = PatternParser(line, file + ":" + std::to_string(number)).pattern(is_absorption);
    (is_absorption ? result.absorptions_ : result.one_pass_).push_back(std::move(pattern));
  }
  return result;
}

RuntimeFusions RuntimeFusions::load(const std::filesystem::path& file) {
  return parse(runtime::read_file(file), file.string());
}

std::vector<NodeId> RuntimeFusions::fused_nodes(const GraphBank& bank, NodeId last) const {
  for (const NamedTerm& pattern : one_pass_) {
    PatternMatch state;
    if (node_fits(bank, pattern, last, state)) return state.inner;
  }
  return {};
}

bool RuntimeFusions::absorbs_operand(const algebra::OperatorInstance& user, std::size_t position,
                                     const algebra::OperatorInstance& inner) const {
  return std::ranges::any_of(absorptions_, [&](const NamedTerm& pattern) {
    return has_operator(user, pattern) && position < pattern.arguments.size() &&
           !pattern.arguments[position].arguments.empty() && has_operator(inner, pattern.arguments[position]);
  });
}

}  // namespace rulemill::optimize
