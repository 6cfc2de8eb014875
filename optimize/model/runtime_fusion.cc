#include "optimize/model/runtime_fusion.h"

#include <fmt/format.h>
#include <algorithm>

#include "algebra/language/lexer.h"
#include "runtime/files/atomic_file.h"

namespace rulemill::optimize {

namespace {

constexpr std::size_t max_pattern_depth = 32;

enum class PatternKind : std::uint8_t { OnePass, Absorption, Slower };

struct ParsedPattern {
  std::string name;
  PatternKind kind;
  NamedTerm term;
};

/// TERM := WORD [ ":" RANK | "(" TERM { "," TERM } { ";" WORD "=" "[" [ INTEGER { "," INTEGER } ] "]" } ")" ]
class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& file) : cursor_(text, file) {}

  bool at_end() const { return cursor_.at_end(); }

  ParsedPattern parse_pattern() {
    ParsedPattern result{cursor_.expect_name("the pattern's name"), PatternKind::OnePass, {}};
    std::string missing_colon = "or 'absorbs:' or 'slows:' after the pattern's name";
    for (const auto& [word, kind] : {std::pair("absorbs", PatternKind::Absorption), {"slows", PatternKind::Slower}}) {
      if (result.kind != PatternKind::OnePass || !cursor_.accept(word)) continue;
      result.kind = kind;
      missing_colon = fmt::format("after '{}'", word);
    }
    cursor_.expect(":", missing_colon);
    const algebra::Token at = cursor_.peek();
    inner_operators_ = 0;
    result.term = parse_term(0);
    const std::vector<NamedTerm>& arguments = result.term.arguments;
    if (arguments.empty()) cursor_.fail(at, "expected an operator with its arguments");
    if (result.kind == PatternKind::OnePass) return result;
    if (inner_operators_ != 1) cursor_.fail(at, "expected one operator inside the other");
    if (result.kind == PatternKind::Slower && arguments[0].arguments.empty())
      cursor_.fail(at, "expected an operator as the first argument");
    return result;
  }

 private:
  NamedTerm parse_term(std::size_t depth) {
    if (depth > max_pattern_depth)
      cursor_.fail(cursor_.peek(), fmt::format("expected at most {} nested operators", max_pattern_depth));
    NamedTerm result{cursor_.expect_name("an operator or a value"), {}, {}, {}};
    if (cursor_.accept(":")) result.rank = cursor_.expect_number("a rank");
    if (!cursor_.accept("(")) return result;
    if (depth > 0) ++inner_operators_;
    do result.arguments.push_back(parse_term(depth + 1));
    while (cursor_.accept(","));
    while (cursor_.accept(";")) {
      std::vector<std::int64_t>& list = result.lists[cursor_.expect_name("a parameter's name")];
      cursor_.expect("=", "after the parameter's name");
      cursor_.expect("[", "before the integers");
      if (cursor_.accept("]")) continue;
      do list.push_back(cursor_.expect_number("an integer"));
      while (cursor_.accept(","));
      cursor_.expect("]", "after the integers");
    }
    cursor_.expect(")", "after the arguments of '" + result.name + "'");
    return result;
  }

  algebra::TokenCursor cursor_;
  std::size_t inner_operators_ = 0;
};

/// A partial match of one pattern: values of its variables, and matched nodes except the last.
struct PatternMatch {
  std::map<std::string, ValueId> values;
  std::vector<NodeId> inner;
};

/// Returns true if the instance has the term's operator, list parameters and ranks of variables.
bool has_operator(const algebra::OperatorInstance& instance, const NamedTerm& term) {
  const auto has_rank = [](const NamedTerm& argument, const auto& input) {
    return !argument.rank || *argument.rank == std::ssize(input);
  };
  return instance.operator_name == term.name && instance.inputs.size() == term.arguments.size() &&
         std::ranges::equal(term.arguments, instance.inputs, has_rank) &&
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
  PatternParser parser(text, file);
  while (!parser.at_end()) {
    ParsedPattern pattern = parser.parse_pattern();
    if (pattern.kind == PatternKind::Slower)
      result.slower_pairs_.push_back({std::move(pattern.name), std::move(pattern.term)});
    else
      (pattern.kind == PatternKind::Absorption ? result.absorptions_ : result.one_pass_)
          .push_back(std::move(pattern.term));
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

const std::string* RuntimeFusions::slower_pair(const algebra::OperatorInstance& last,
                                               const algebra::OperatorInstance& inner) const {
  const auto found = std::ranges::find_if(slower_pairs_, [&](const SlowerPair& pair) {
    return has_operator(last, pair.pattern) && has_operator(inner, pair.pattern.arguments[0]);
  });
  return found == slower_pairs_.end() ? nullptr : &found->name;
}

}  // namespace rulemill::optimize
