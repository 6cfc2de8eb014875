#include "algebra/exchange/egg/egg_translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "algebra/exchange/egg/egg_arguments.h"
#include "algebra/exchange/egg/size_expression.h"
#include "algebra/exchange/text_identifier.h"
#include "algebra/language/lexer.h"
#include "algebra/library/unknown_operator.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_term_depth = 1000, max_stated_rank = 8;
constexpr std::array<std::string_view, 6> comparison_signs = {"=", "!=", "<", "<=", ">", ">="};

/// Identifiers of the names in a file: ?x becomes x. Different names get different ones.
class Names {
 public:
  const std::set<std::string>& used() const { return used_; }

  std::string of(const std::string& written) {
    const auto known = names_.find(written);
    if (known != names_.end()) return known->second;
    std::string name = text_identifier(written.starts_with('?') ? written.substr(1) : written);
    while (!used_.insert(name).second) name += "_";
    return names_.emplace(written, name).first->second;
  }

 private:
  std::map<std::string, std::string> names_;
  std::set<std::string> used_;
};

class Translator {
 public:
  Translator(const EggStatement& statement, const Library& library) : statement_(statement), library_(library) {
    result_.name = rule_name(statement);
    result_.place = statement.place;
  }

  RuleTemplate translate() {
    read_facts();
    std::set<std::size_t> on_left, on_right;
    result_.source = side(statement_.source, on_left);
    result_.target = side(statement_.target, on_right);
    result_.size_names = size_names_.used();
    for (const auto& [name, pattern] : statement_.bindings) {
      if (!open_.contains(name)) fail(pattern, "expected a size, or a pattern of a side, found " + to_string(pattern));
    }
    for (std::size_t u = 0; u < result_.unknowns.size(); ++u) {
      if (!result_.unknowns[u].shape) continue;  // a stated shape binds its variable
      on_left.insert(u);
      on_right.insert(u);
    }
    if (std::ranges::includes(on_left, on_right)) return std::move(result_);
    if (statement_.directed || !std::ranges::includes(on_right, on_left)) fail_unbound(on_left, on_right);
    std::swap(result_.source, result_.target);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const SExpression& at, const std::string& message) const {
    throw runtime::InputError(place_of(at), message);
  }
  [[noreturn]] void fail_unbound(const std::set<std::size_t>& bound, const std::set<std::size_t>& used) const {
    const auto extra = std::ranges::find_if(used, [&](std::size_t each) { return !bound.contains(each); });
    throw runtime::InputError(statement_.place, fmt::format("the target has the variable {}, which the source lacks",
                                                            result_.unknowns[*extra].variable));
  }
  std::string place_of(const SExpression& at) const { return place(statement_.origin, at.line, at.column); }

  /// Shapes of variables, and conditions on sizes.
  void read_facts() {
    for (const SExpression& fact : statement_.facts) {
      if (is_shape_fact(fact)) {
        read_shape(fact);
      } else if (std::ranges::find(comparison_signs, fact.head()) != comparison_signs.end() && fact.items.size() == 3) {
        result_.conditions.push_back(fmt::format("{} {} {}", size(fact.items[1]), fact.head(), size(fact.items[2])));
      } else {
        fail(fact, "expected a condition on sizes, as (= m (* 2 n)), or a shape, as (shape2 ?x m n), found " +
                       to_string(fact));
      }
    }
  }

  void read_shape(const SExpression& fact) {
    const std::string_view rank = fact.head().substr(std::string_view("shape").size());
    if (fact.items.size() < 2 || fact.items.size() - 2 > max_stated_rank ||
        rank != std::to_string(fact.items.size() - 2))
      fail(fact,
           fmt::format("expected a tensor and {} sizes after {}, at most {}", rank, fact.head(), max_stated_rank));
    if (!fact.items[1].is_atom() || statement_.bindings.contains(fact.items[1].text))
      fail(fact.items[1], "expected a variable, found " + to_string(fact.items[1]));
    UnknownRank& variable = result_.unknowns[variable_of(fact.items[1].text)];
    if (variable.shape) fail(fact, fmt::format("{} has two shapes", fact.items[1].text));
    variable.shape.emplace();
    for (std::size_t i = 2; i < fact.items.size(); ++i) variable.shape->push_back(size(fact.items[i]));
  }

  std::string size(const SExpression& expression) {
    return size_text(expression, statement_.origin, [&](const std::string& name) { return size_names_.of(name); });
  }

  /// Adds the terms of a side, and the variables in them.
  std::vector<std::size_t> side(const std::vector<SExpression>& outputs, std::set<std::size_t>& variables) {
    std::vector<std::size_t> terms;
    std::set<std::size_t> reached;
    for (const SExpression& output : outputs) terms.push_back(term(output));
    const auto visit = [&](const auto& self, std::size_t index) -> void {
      if (!reached.insert(index).second) return;
      const TermTemplate& each = result_.terms[index];
      if (each.op.empty()) variables.insert(*each.unknown);
      for (const std::size_t argument : each.arguments) self(self, argument);
    };
    for (const std::size_t each : terms) visit(visit, each);
    return terms;
  }

  std::size_t term(const SExpression& expression) {
    if (depth_ == max_term_depth)
      fail(expression, fmt::format("a term nested too deeply: more than {} operators", depth_));
    ++depth_;
    const std::size_t index = expression.is_list() ? call(expression) : atom(expression);
    --depth_;
    return index;
  }

  /// A variable, or the name of a pattern.
  std::size_t atom(const SExpression& expression) {
    const std::string& name = expression.text;
    const bool is_number = std::isdigit(static_cast<unsigned char>(name[name.starts_with('-') ? 1 : 0])) != 0;
    if (!expression.is_atom() || is_number)
      fail(expression, "expected a variable or a term, found " + to_string(expression));
    if (const auto known = named_terms_.find(name); known != named_terms_.end()) return known->second;
    const auto bound = statement_.bindings.find(name);
    std::size_t index = 0;
    if (bound == statement_.bindings.end()) {
      index = add({.place = place_of(expression), .unknown = variable_of(name)});
    } else {
      if (!open_.insert(name).second) fail(expression, fmt::format("{} occurs in its own pattern", name));
      index = term(bound->second);
    }
    named_terms_.emplace(name, index);
    return index;
  }

  std::size_t variable_of(const std::string& written) {
    const auto [found, is_new] = variables_.try_emplace(written, result_.unknowns.size());
    if (is_new) result_.unknowns.push_back({variable_names_.of(written)});
    return found->second;
  }

  std::size_t call(const SExpression& expression) {
    const std::string op = operator_of(expression);
    if (op.empty()) fail(expression, "expected an operator and its arguments, found " + to_string(expression));
    if (!library_.has_operator(op)) {
      if (expression.items.size() == 2) return output(expression);
      fail(expression, unknown_operator(op, library_.operator_names()));
    }
    EggArguments arguments = arguments_of(expression, statement_.origin, library_,
                                          [&](const std::string& name) { return size_names_.of(name); });
    TermTemplate made{.place = place_of(expression), .op = op};
    for (const SExpression* tensor : arguments.tensors) made.arguments.push_back(term(*tensor));
    made.parameters = std::move(arguments.parameters);
    made.output = std::move(arguments.output);
    made.ranks = std::move(arguments.ranks);
    if (library_.has_explicit_rank(op) && !arguments.states_sizes) {
      const std::string pack = library_.size_parameter_names(op).back();
      made.pack = pack.substr(0, pack.size() - 3);
      made.unknown = result_.unknowns.size();
      result_.unknowns.emplace_back();
    }
    return add(std::move(made));
  }

  /// (first (split ?x 1)): one of several outputs.
  std::size_t output(const SExpression& expression) {
    const std::string name(expression.head());
    const std::size_t inner = term(expression.items[1]);
    TermTemplate chosen = result_.terms[inner];
    const std::vector<std::string> outputs =
        chosen.op.empty() || !chosen.output.empty() ? std::vector<std::string>{} : library_.output_names(chosen.op);
    if (outputs.size() < 2 || std::ranges::find(outputs, name) == outputs.end())
      fail(expression, unknown_operator(name, library_.operator_names()));
    chosen.output = name;
    return add(std::move(chosen));
  }

  std::size_t add(TermTemplate made) {
    result_.terms.push_back(std::move(made));
    return result_.terms.size() - 1;
  }

  const EggStatement& statement_;
  const Library& library_;
  RuleTemplate result_;
  Names variable_names_, size_names_;
  std::map<std::string, std::size_t> variables_;    // as written: number of the unknown
  std::map<std::string, std::size_t> named_terms_;  // variables and patterns
  std::set<std::string> open_;                      // patterns that were begun
  std::size_t depth_ = 0;
};

}  // namespace

std::string rule_name(const EggStatement& statement) { return text_identifier(statement.name); }

RuleTemplate translate(const EggStatement& statement, const Library& library) {
  return Translator(statement, library).translate();
}

}  // namespace rulemill::algebra
