#include "algebra/exchange/egg/egg_statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>

#include "algebra/exchange/egg/size_expression.h"
#include "algebra/exchange/readings.h"
#include "algebra/language/lexer.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

/// Commands of egglog that state no rule. `shapeR` states dimensions in programs of egglog_writer.h.
constexpr std::array<std::string_view, 30> other_commands = {
    "datatype",    "datatype*",  "sort",           "function",
    "constructor", "relation",   "ruleset",        "unstable-combined-ruleset",
    "let",         "set",        "union",          "delete",
    "subsume",     "run",        "repeat",         "run-schedule",
    "check",       "fail",       "extract",        "query-extract",
    "prove",       "print-size", "print-function", "print-stats",
    "push",        "pop",        "include",        "input",
    "output",      "set-option"};

bool is_skipped_command(const SExpression& command) {
  return std::ranges::find(other_commands, command.head()) != other_commands.end() || is_shape_fact(command);
}

/// A rule file, read one rule at a time.
class EggTextReader {
 public:
  EggTextReader(std::string_view text, const std::string& origin) : reader_(text, origin), origin_(origin) {}

  std::vector<EggStatement> read() {
    while (!reader_.at_end()) {
      current_ = {fmt::format("line_{}", reader_.line()), origin_, place(origin_, reader_.line(), reader_.column())};
      const SExpressionReader begin = reader_;
      is_complete_ = false;
      try {
        if (read_statement()) statements_.push_back(std::move(current_));
      } catch (const runtime::InputError& error) {
        current_.place = error.where();
        current_.problem = without_place(error);
        statements_.push_back(std::move(current_));
        if (is_complete_) continue;
        reader_ = begin;
        reader_.skip_to_next_line_start();
      }
    }
    return std::move(statements_);
  }

 private:
  /// Returns false for a command that states no rule.
  bool read_statement() {
    const SExpression first = reader_.read();
    if (first.is_atom() && first.text.ends_with('!')) return read_macro(first);
    if (first.is_atom() && first.text.size() > 1 && first.text.ends_with(':')) {
      current_.name = first.text.substr(0, first.text.size() - 1);
      return read_patterns(reader_.read());
    }
    if (!first.is_list() && reader_.accept(":")) {
      current_.name = first.text;
      return read_patterns(reader_.read());
    }
    if (const auto directed = accept_arrow()) {
      current_.directed = *directed;
      current_.source = {first};
      return read_target();
    }
    is_complete_ = first.is_list();
    return interpret(first);
  }

  std::optional<bool> accept_arrow() {
    if (reader_.accept("=>")) return true;
    if (reader_.accept("<=>")) return false;
    return std::nullopt;
  }

  bool read_patterns(const SExpression& source) {
    current_.source = {pattern(source)};
    const auto directed = accept_arrow();
    if (!directed) reader_.fail("expected => or <=> after the source");
    current_.directed = *directed;
    return read_target();
  }

  bool read_target() {
    current_.target = {pattern(reader_.read())};
    reader_.at_end();
    const SExpression next{SExpression::Kind::Atom, "", {}, reader_.line(), reader_.column()};
    if (reader_.accept("if")) reader_.fail(next, "a condition in Rust cannot be read; state it as :when ((= m n))");
    if (reader_.accept(":when")) add_facts(reader_.read());
    return true;
  }

  /// rw!("name"; "source" => "target")
  bool read_macro(const SExpression& macro) {
    if (macro.text != "rw!" && macro.text != "rewrite!")
      reader_.fail(macro, "expected rw! or rewrite!, found " + macro.text);
    if (!reader_.accept('(')) reader_.fail("expected ( after " + macro.text);
    const SExpression name = reader_.read();
    if (name.is_list()) reader_.fail(name, "expected the rule's name");
    current_.name = name.text;
    if (!reader_.accept(';')) reader_.fail("expected ; after the rule's name");
    read_patterns(reader_.read());
    if (!reader_.accept(')')) reader_.fail("expected ) after the rule");
    return true;
  }

  /// A pattern by itself, or as a string.
  SExpression pattern(const SExpression& given) {
    if (given.kind != SExpression::Kind::String) return given;
    SExpressionReader inner(given.text, origin_, given.line, given.column + 1);
    SExpression result = inner.read();
    if (!inner.at_end()) inner.fail("expected the end of the pattern");
    return result;
  }

  bool interpret(const SExpression& command) {
    const std::string_view head = command.head();
    if (head == "rewrite" || head == "birewrite") {
      require_operands(command, "two patterns");
      current_.directed = head == "rewrite";
      current_.source = {command.items[1]};
      current_.target = {command.items[2]};
      read_options(command);
      return true;
    }
    if (head == "rule") {
      require_operands(command, "premises and actions");
      add_facts(command.items[1]);
      read_options(command);
      return add_actions(command.items[2]);
    }
    if (is_skipped_command(command)) return false;
    reader_.fail(command, "expected (rewrite …), (birewrite …), (rule …), rw!(…) or NAME: SOURCE => TARGET, found " +
                              to_string(command));
  }

  void require_operands(const SExpression& command, const char* operands) const {
    if (command.items.size() < 3) reader_.fail(command, fmt::format("expected {} after {}", operands, command.head()));
  }

  /// :when (FACT…) :name "NAME" :ruleset NAME :subsume :naive
  void read_options(const SExpression& command) {
    for (std::size_t i = 3; i < command.items.size(); ++i) {
      const SExpression& option = command.items[i];
      if (option.text == ":subsume" || option.text == ":naive") continue;
      const bool has_value = i + 1 < command.items.size();
      if (option.text == ":when" && has_value) {
        add_facts(command.items[++i]);
      } else if (option.text == ":name" && has_value) {
        current_.name = command.items[++i].text;
      } else if (option.text == ":ruleset" && has_value) {
        ++i;
      } else {
        reader_.fail(option,
                     "expected :when (FACT…), :name \"NAME\", :ruleset NAME or :subsume, found " + to_string(option));
      }
    }
  }

  void add_facts(const SExpression& facts) {
    if (!facts.is_list()) reader_.fail(facts, "expected a list of facts, found " + to_string(facts));
    for (const SExpression& fact : facts.items) {
      if (const auto [name, term] = binding_of(fact); name != nullptr) {
        bind(*name, *term);
      } else {
        current_.facts.push_back(fact);
      }
    }
  }

  /// The name and the pattern of (= e (matmul ?a ?b)).
  static std::pair<const SExpression*, const SExpression*> binding_of(const SExpression& fact) {
    if (fact.head() != "=" || fact.items.size() != 3) return {nullptr, nullptr};
    for (const std::size_t name : {1, 2}) {
      const SExpression &left = fact.items[name], &right = fact.items[3 - name];
      if (left.is_atom() && !is_integer(left.text) && right.is_list() && !is_size_expression(right))
        return {&left, &right};
    }
    return {nullptr, nullptr};
  }

  void bind(const SExpression& name, const SExpression& term) {
    if (!current_.bindings.emplace(name.text, term).second)
      reader_.fail(name, name.text + " already names another pattern");
  }

  /// Returns false if the actions unite nothing.
  bool add_actions(const SExpression& actions) {
    if (!actions.is_list()) reader_.fail(actions, "expected a list of actions, found " + to_string(actions));
    for (const SExpression& action : actions.items) {
      if (action.head() == "let" && action.items.size() == 3) {
        bind(action.items[1], action.items[2]);
      } else if (action.head() == "union" && action.items.size() == 3) {
        current_.source.push_back(action.items[1]);
        current_.target.push_back(action.items[2]);
      }
    }
    return !current_.source.empty();
  }

  SExpressionReader reader_;
  std::string origin_;
  EggStatement current_;
  bool is_complete_ = false;  // the current rule was read to its end, so that an error in it does not affect the next
  std::vector<EggStatement> statements_;
};

}  // namespace

std::vector<EggStatement> read_egg_statements(std::string_view text, const std::string& origin) {
  return EggTextReader(text, origin).read();
}

}  // namespace rulemill::algebra
