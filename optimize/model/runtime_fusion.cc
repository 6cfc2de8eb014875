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

/// TERM := WORD [ ":" RANK | "(" ")" | "(" TERM { "," TERM } { ";" WORD "=" "[" [ INTEGER { "," INTEGER } ] "]" } ")" ]
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
    NamedTerm result{cursor_.expect_name("an operator or a value"), {}, {}, {}, false};
    if (cursor_.accept(":")) result.rank = cursor_.expect_number("a rank");
    if (!cursor_.accept("(")) return result;
    result.is_number = depth > 0 && cursor_.accept(")");
    if (result.is_number) return result;
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
  std::map<std::string, std::uint32_t> values;
  std::vector<std::uint32_t> inner;
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

/// Matches one pattern in a graph.
class PatternMatcher {
 public:
  explicit PatternMatcher(const PatternGraph& graph) : graph_(graph) {}

  bool node_fits(const NamedTerm& term, const PatternGraph::Node& node) {
    if (!has_operator(*node.instance, term)) return false;
    const PatternMatch before = match_;
    if (arguments_fit(term, node.arguments)) return true;
    match_ = before;
    if (!node.instance->commutative || node.arguments.size() != 2) return false;
    return arguments_fit(term, {node.arguments[1], node.arguments[0]});
  }
  std::vector<std::uint32_t> inner() const { return match_.inner; }

 private:
  bool arguments_fit(const NamedTerm& term, const std::vector<std::uint32_t>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!value_fits(term.arguments[i], arguments[i])) return false;
    }
    return true;
  }

  bool value_fits(const NamedTerm& term, std::uint32_t value) {
    if (term.is_number) return graph_.is_number(value, term.name);
    if (term.arguments.empty()) return match_.values.emplace(term.name, value).first->second == value;
    const std::optional<PatternGraph::Node> node = graph_.node_of(value);
    if (!node || !node_fits(term, *node)) return false;
    if (std::ranges::find(match_.inner, node->id) == match_.inner.end()) match_.inner.push_back(node->id);
    return true;
  }

  const PatternGraph& graph_;
  PatternMatch match_;
};

void add_numbers(const NamedTerm& term, std::set<std::string>& found) {
  if (term.is_number) found.insert(term.name);
  for (const NamedTerm& argument : term.arguments) add_numbers(argument, found);
}

}  // namespace

RuntimeFusions RuntimeFusions::parse(const std::string& text, const std::string& file) {
  RuntimeFusions result;
  PatternParser parser(text, file);
  while (!parser.at_end()) {
    ParsedPattern pattern = parser.parse_pattern();
    auto& patterns = pattern.kind == PatternKind::OnePass      ? result.one_pass_
                     : pattern.kind == PatternKind::Absorption ? result.absorptions_
                                                               : result.slower_pairs_;
    patterns.push_back({std::move(pattern.name), std::move(pattern.term)});
  }
  return result;
}

RuntimeFusions RuntimeFusions::load(const std::filesystem::path& file) {
  return parse(runtime::read_file(file), file.string());
}

std::optional<OnePass> RuntimeFusions::one_pass(const PatternGraph& graph, std::uint32_t value) const {
  const std::optional<PatternGraph::Node> last = graph.node_of(value);
  if (!last) return std::nullopt;
  for (const NamedPattern& pattern : one_pass_) {
    PatternMatcher matcher(graph);
    if (matcher.node_fits(pattern.term, *last)) return OnePass{pattern.name, matcher.inner()};
  }
  return std::nullopt;
}

bool RuntimeFusions::can_end_one_pass(const algebra::OperatorInstance& last) const {
  return std::ranges::any_of(one_pass_, [&](const NamedPattern& pattern) { return has_operator(last, pattern.term); });
}

std::set<std::string> RuntimeFusions::numbers() const {
  std::set<std::string> found;
  for (const NamedPattern& pattern : one_pass_) add_numbers(pattern.term, found);
  return found;
}

bool RuntimeFusions::absorbs_operand(const algebra::OperatorInstance& user, std::size_t position,
                                     const algebra::OperatorInstance& inner) const {
  return std::ranges::any_of(absorptions_, [&](const NamedPattern& pattern) {
    const std::vector<NamedTerm>& arguments = pattern.term.arguments;
    return has_operator(user, pattern.term) && position < arguments.size() && !arguments[position].arguments.empty() &&
           has_operator(inner, arguments[position]);
  });
}

const std::string* RuntimeFusions::slower_pair(const algebra::OperatorInstance& last,
                                               const algebra::OperatorInstance& inner) const {
  const auto found = std::ranges::find_if(slower_pairs_, [&](const NamedPattern& pattern) {
    return has_operator(last, pattern.term) && has_operator(inner, pattern.term.arguments[0]);
  });
  return found == slower_pairs_.end() ? nullptr : &found->name;
}

}  // namespace rulemill::optimize
