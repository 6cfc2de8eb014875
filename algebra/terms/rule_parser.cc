// Parses the text form of rules and properties.
#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "algebra/language/poly_parser.h"
#include "algebra/library/library.h"
#include "algebra/terms/rule_text.h"
#include "runtime/text/join_text.h"

namespace rulemill::algebra {
namespace {

using runtime::InputError;

constexpr int max_nesting = 1000;

class RuleParser {
 public:
  RuleParser(std::string_view text, const std::string& origin, Library& library, TermBank& bank, Symbols& symbols)
      : cursor_(text, origin), library_(library), bank_(bank), symbols_(symbols) {}

  std::vector<Rule> parse() {
    std::vector<Rule> rules;
    while (!cursor_.at_end()) rules.push_back(parse_rule());
    return rules;
  }

  std::vector<ImportedRule> parse_imported() {
    std::vector<ImportedRule> rules;
    std::map<std::string, int> lines;
    while (!cursor_.at_end()) {
      const Token begin = cursor_.peek();
      const std::size_t position = cursor_.position();
      const std::string name = is_rule_start() ? cursor_.peek(1).text : fmt::format("line_{}", begin.line);
      rules.push_back({name, place(cursor_.origin(), begin.line, begin.column), std::nullopt, {}});
      try {
        Rule rule = parse_rule();
        const auto [known, inserted] = lines.try_emplace(rule.id, begin.line);
        if (!inserted)
          cursor_.fail(begin, fmt::format("the rule of line {} is called '{}', too", known->second, rule.id));
        if (!cursor_.at_end() && !is_rule_start()) fail_no_rule_start();
        normalize_variables(rule);
        rules.back().rule = std::move(rule);
      } catch (const InputError& error) {
        const std::size_t prefix = error.where().empty() ? 0 : error.where().size() + 2;
        if (!error.where().empty()) rules.back().place = error.where();
        rules.back().problem = std::string(error.what()).substr(prefix);
        cursor_.rewind(position + 1);
        while (!cursor_.at_end() && !is_rule_start()) cursor_.next();
      }
    }
    return rules;
  }

  Rule parse_terms(const std::map<std::string, Shape>& variables) {
    Rule rule;
    rule.id = "terms";
    for (const auto& [name, shape] : variables) {
      rule.variables.push_back(bank_.variable(name, static_cast<std::uint32_t>(shape.size())));
      rule.shapes.push_back(shape);
      definitions_[name] = {rule.variables.back(), std::nullopt};
    }
    parse_lets();
    rule.source = rule.target = parse_outputs();
    if (!cursor_.at_end())
      cursor_.fail(cursor_.peek(), "expected the end of the terms, found " + quoted(cursor_.peek()));
    return rule;
  }

 private:
  bool is_rule_start() const {
    return (cursor_.is("rule") || cursor_.is("property")) && cursor_.peek(1).kind == Token::Kind::Name;
  }

  [[noreturn]] void fail_no_rule_start() const {
    cursor_.fail(cursor_.peek(), "expected 'rule' or 'property', found " + quoted(cursor_.peek()));
  }

  /// Drops variables that do not occur. Directs a property from the side that binds all variables.
  void normalize_variables(Rule& rule) {
    const auto binds = [&](const std::vector<TermId>& side) {
      const std::vector<TermId> bound = bank_.variables(side);
      return [bound](TermId variable) { return std::ranges::find(bound, variable) != bound.end(); };
    };
    const auto on_left = binds(rule.source), on_right = binds(rule.target);
    for (std::size_t v = rule.variables.size(); v-- > 0;) {
      if (on_left(rule.variables[v]) || on_right(rule.variables[v])) continue;
      rule.variables.erase(rule.variables.begin() + static_cast<std::ptrdiff_t>(v));
      if (v < rule.shapes.size()) rule.shapes.erase(rule.shapes.begin() + static_cast<std::ptrdiff_t>(v));
    }
    const bool forward = std::ranges::all_of(bank_.variables(rule.target), on_left);
    const bool backward = std::ranges::all_of(bank_.variables(rule.source), on_right);
    if (!directed_ && !forward && backward) std::swap(rule.source, rule.target);
  }

  Rule parse_rule() {
    if (!cursor_.accept("rule") && !cursor_.accept("property")) fail_no_rule_start();
    definitions_.clear();
    current_definition_.clear();
    nesting_ = 0;
    Rule rule;
    rule.id = cursor_.expect_name("the rule's name");
    cursor_.expect("(", "before the rule's variables");
    bool any_shape = false, all_shapes = true;
    while (!cursor_.is(")")) {
      parse_variable(rule, any_shape, all_shapes);
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect(")", "after the rule's variables");
    if (any_shape && !all_shapes)
      cursor_.fail(cursor_.peek(), "either every variable has a shape or every one has a rank");
    rule.tier = cursor_.accept("core") ? Tier::Core : cursor_.accept("derived") ? Tier::Derived : Tier::None;
    parse_lets();
    rule.source = parse_outputs();
    rule.widens = cursor_.accept("->");
    directed_ = rule.widens || cursor_.accept("=>");
    if (!directed_) cursor_.expect("=", "'=>' or '->' after the source");
    const Token target = cursor_.peek();
    rule.target = parse_outputs();
    if (rule.source.size() != rule.target.size())
      cursor_.fail(target,
                   fmt::format("the source has {} outputs, the target {}", rule.source.size(), rule.target.size()));
    if (cursor_.accept("when")) {
      do rule.condition.push_back(parse_condition());
      while (cursor_.accept(","));
    }
    return rule;
  }

  void parse_lets() {
    while (cursor_.accept("let")) {
      const Token at = cursor_.peek();
      const std::string name = cursor_.expect_name("a name");
      cursor_.expect("=", "after the name");
      if (definitions_.contains(name)) cursor_.fail(at, "'" + name + "' already has a meaning in this rule");
      current_definition_ = name;
      definitions_[name] = parse_application();
      current_definition_.clear();
    }
  }

  void parse_variable(Rule& rule, bool& any_shape, bool& all_shapes) {
    const Token at = cursor_.peek();
    const std::string name = cursor_.expect_name("a variable's name");
    if (definitions_.contains(name)) cursor_.fail(at, "two variables are called '" + name + "'");
    Shape shape;
    std::uint32_t rank = 0;
    if (cursor_.accept(":")) {
      const Token number = cursor_.peek();
      const std::int64_t value = cursor_.expect_number("the variable's rank");
      if (value < 0 || value > 8) cursor_.fail(number, "expected a rank from 0 to 8");
      rank = static_cast<std::uint32_t>(value);
      all_shapes = false;
    } else {
      cursor_.expect("[", "or ':' and a rank after the variable '" + name + "'");
      while (!cursor_.is("]")) {
        const Token dimension = cursor_.peek();
        shape.push_back(parse_poly(cursor_, symbols_));
        if (cursor_.accept("...")) add_pack(rule, shape.back(), dimension);
        if (!cursor_.accept(",")) break;
      }
      cursor_.expect("]", "after the shape of '" + name + "'");
      rank = static_cast<std::uint32_t>(shape.size());
      any_shape = true;
      rule.shapes.push_back(std::move(shape));
    }
    const TermId variable = bank_.variable(name, rank);
    rule.variables.push_back(variable);
    definitions_[name] = {cursor_.accept("of") ? parse_values(variable, rank) : variable, std::nullopt};
  }

  /// Parses the rest of `c[] of positive` or `c[] of bool`, which declares the term positive(c) or truth_of_number(c):
  /// these are all positive numbers and all truth values.
  TermId parse_values(TermId variable, std::uint32_t rank) {
    const Token at = cursor_.peek();
    std::optional<std::string> name = "truth_of_number";
    if (!cursor_.accept("bool")) {
      if (!cursor_.accept("positive")) cursor_.fail(at, "expected positive or bool, found " + quoted(at));
      name = library_.positive_operator();
    }
    if (!name || !library_.has_operator(*name)) cursor_.fail(at, "no operator of these definitions has such an output");
    const NodeId node =
        bank_.apply(library_.instantiate(*name, {}, std::span(&rank, 1)).id, std::span(&variable, 1), {});
    return bank_.output(node, 0);
  }

  void add_pack(Rule& rule, const Poly& size, const Token& at) {
    const auto pack = size.atom();
    if (!pack) cursor_.fail(at, "a dimension pack is one name, as in d...");
    if (std::ranges::find(rule.packs, *pack) == rule.packs.end()) rule.packs.push_back(*pack);
  }

  SizeCondition parse_condition() {
    SizeCondition condition;
    condition.left = parse_poly(cursor_, symbols_);
    const ComparisonSign& sign = parse_comparison_sign(cursor_);
    condition.relation = sign.relation;
    condition.right = parse_poly(cursor_, symbols_);
    if (sign.swapped) std::swap(condition.left, condition.right);
    return condition;
  }

  std::vector<TermId> parse_outputs() {
    std::vector<TermId> outputs;
    do outputs.push_back(parse_term());
    while (cursor_.accept(","));
    return outputs;
  }

  /// The value of a name: a variable's term, or a node whose output is selected by the use.
  struct Definition {
    TermId term{};
    std::optional<NodeId> node;
  };

  TermId parse_term() {
    const Token at = cursor_.peek();
    const Definition definition = parse_application();
    if (!definition.node) {
      if (cursor_.is(".")) cursor_.fail(cursor_.peek(), "a variable has no outputs to choose from");
      return definition.term;
    }
    const OperatorInstance& instance = library_.instance(bank_.node(*definition.node).instance);
    if (!cursor_.accept(".")) {
      if (instance.outputs.size() > 1)
        cursor_.fail(
            at, "'" + instance.operator_name + "' has several outputs: choose one with ." + instance.outputs[0].name);
      return bank_.output(*definition.node, 0);
    }
    const Token chosen = cursor_.peek();
    const std::string name = cursor_.expect_name("an output's name");
    for (std::uint32_t i = 0; i < instance.outputs.size(); ++i) {
      if (instance.outputs[i].name == name) return bank_.output(*definition.node, i);
    }
    cursor_.fail(chosen, "'" + instance.operator_name + "' has no output '" + name + "'; expected one of " +
                             runtime::join_text(instance.outputs, &TensorDefinition::name));
  }

  /// Reports an undefined name. A name that this or a later `let` defines would close a cycle.
  [[noreturn]] void fail_unknown(const Token& at) {
    const std::string& name = at.text;
    if (name == current_definition_)
      cursor_.fail(at, "'" + name + "' is used in its own definition; expected a graph without cycles");
    for (std::size_t ahead = 0; cursor_.peek(ahead).kind != Token::Kind::End; ++ahead) {
      if (cursor_.is("rule", ahead) || cursor_.is("property", ahead)) break;
      if (!cursor_.is("let", ahead) || cursor_.peek(ahead + 1).text != name) continue;
      cursor_.fail(at, fmt::format("'{}' is used before line {} defines it; expected a graph without cycles, each name "
                                   "defined before its uses",
                                   name, cursor_.peek(ahead + 1).line));
    }
    cursor_.fail(at, "'" + name + "' is no variable of this rule");
  }

  Definition parse_application() {
    const Token at = cursor_.peek();
    if (nesting_ == max_nesting)
      cursor_.fail(at, fmt::format("a term nested too deeply: more than {} parentheses", max_nesting));
    ++nesting_;
    const Definition definition = parse_node(at);
    --nesting_;
    return definition;
  }

  /// By name; nullopt for '?'.
  using SizeArguments = std::map<std::string, std::vector<std::optional<Poly>>>;

  Definition parse_node(const Token& at) {
    const std::string name = cursor_.expect_name("a variable or an operator");
    if (!cursor_.is("(")) {
      const auto found = definitions_.find(name);
      if (found == definitions_.end()) fail_unknown(at);
      return found->second;
    }
    cursor_.next();
    if (!library_.has_operator(name)) cursor_.fail(at, unknown_operator(name, library_.operator_names()));
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    while (!cursor_.is(")") && !cursor_.is(";")) {
      arguments.push_back(parse_term());
      ranks.push_back(bank_.rank(arguments.back()));
      if (!cursor_.accept(",")) break;
    }
    Parameters parameters;
    SizeArguments sizes;
    if (cursor_.accept(";")) {
      do parse_parameter(name, parameters, sizes);
      while (cursor_.accept(","));
    }
    cursor_.expect(")", "after the arguments of '" + name + "'");
    if (arguments.size() != library_.arity(name))
      cursor_.fail(
          at, fmt::format("operator '{}' takes {} arguments, found {}", name, library_.arity(name), arguments.size()));
    const std::vector<Poly> values = size_values(at, name, sizes, ranks);
    try {
      const OperatorInstance& instance = library_.instantiate(name, parameters, ranks);
      if (values.size() != instance.size_parameter_count())
        cursor_.fail(at, fmt::format("expected as many sizes as '{}' has for inputs of these ranks, {}, found {}", name,
                                     instance.size_parameter_count(), values.size()));
      return {{}, bank_.apply(instance.id, arguments, values)};
    } catch (const InputError& error) {
      cursor_.fail(at, (error.where().empty() ? "" : "this cannot be made of '" + name + "': ") + error.what());
    }
  }

  /// Returns the sizes in the definition's order. Appends the length of an explicit pack of sizes to `ranks`.
  std::vector<Poly> size_values(const Token& at, const std::string& name, const SizeArguments& sizes,
                                std::vector<std::uint32_t>& ranks) {
    std::vector<Poly> values;
    for (const std::string& size : library_.size_parameter_names(name)) {
      const bool pack = size.ends_with("...");
      const std::string key = pack ? size.substr(0, size.size() - 3) : size;
      const auto given = sizes.find(key);
      if (pack && given == sizes.end()) cursor_.fail(at, "operator '" + name + "' needs its sizes: " + key + "=[…]");
      if (pack && library_.has_explicit_rank(name)) ranks.push_back(static_cast<std::uint32_t>(given->second.size()));
      std::vector<std::optional<Poly>> entries(1);
      if (given != sizes.end()) entries = given->second;
      if (!pack && entries.size() != 1) cursor_.fail(at, "'" + key + "' is one size, found a list");
      for (const std::optional<Poly>& entry : entries) values.push_back(entry ? *entry : Poly(symbols_.open_size(key)));
    }
    for (const std::string& parameter : library_.parameter_names(name)) {
      const auto given = sizes.find(parameter);
      if (given == sizes.end()) continue;
      for (const std::optional<Poly>& entry : given->second)
        values.push_back(entry ? *entry : Poly(symbols_.open_size(parameter)));
    }
    return values;
  }

  /// parameter=value; a size may be '?' or absent, which makes it fresh.
  void parse_parameter(const std::string& op, Parameters& parameters, SizeArguments& sizes) {
    const Token at = cursor_.peek();
    const std::string name = cursor_.expect_name("a parameter's name");
    cursor_.expect("=", "after the parameter's name");
    const std::vector<std::string> size_names = library_.size_parameter_names(op);
    const bool is_size = std::ranges::find(size_names, name) != size_names.end();
    const bool is_pack = std::ranges::find(size_names, name + "...") != size_names.end();
    const std::vector<std::string> parameter_names = library_.parameter_names(op);
    if (!is_size && !is_pack && std::ranges::find(parameter_names, name) == parameter_names.end())
      cursor_.fail(at, "operator '" + op + "' has no parameter '" + name + "'");
    auto size_value = [&]() -> std::optional<Poly> {
      if (cursor_.accept("?")) return std::nullopt;
      return parse_poly(cursor_, symbols_);
    };
    if (is_size) {
      sizes[name] = {size_value()};
      return;
    }
    if (cursor_.accept("[")) {
      const bool can_be_symbolic = library_.can_be_symbolic(op, name);
      std::vector<std::optional<Poly>> list;
      std::vector<std::int64_t> numbers;
      while (!cursor_.is("]")) {
        if (is_pack || can_be_symbolic)
          list.push_back(size_value());
        else
          numbers.push_back(cursor_.expect_number("a number"));
        if (!cursor_.accept(",")) break;
      }
      cursor_.expect("]", "after the list");
      if (is_pack)
        sizes[name] = std::move(list);
      else if (can_be_symbolic)
        set_integers(name, std::move(list), true, parameters, sizes);
      else
        parameters[name] = std::move(numbers);
      return;
    }
    if (is_pack) cursor_.fail(at, "'" + name + "' is a list of sizes: " + name + "=[…]");
    if (library_.can_be_symbolic(op, name))
      set_integers(name, {size_value()}, false, parameters, sizes);
    else if (cursor_.peek().kind == Token::Kind::Number)
      parameters[name] = cursor_.expect_number("a number");
    else
      parameters[name] = cursor_.expect_name("a value");
  }

  /// Sets an integer parameter. If a size is among the values, the parameter is symbolic and the values are sizes of
  /// the node: numbers from 1 on if all are visibly positive, else from 0 on.
  void set_integers(const std::string& name, std::vector<std::optional<Poly>> values, bool is_list,
                    Parameters& parameters, SizeArguments& sizes) {
    std::vector<std::int64_t> numbers;
    bool positive = true;
    for (const std::optional<Poly>& value : values) {
      if (value && value->constant()) numbers.push_back(*value->constant());
      positive = positive && (!value || symbols_.is_positive(*value));
    }
    if (numbers.size() < values.size()) {
      const SymbolicParameter symbolic{name, 0, 0, is_list, positive ? 1 : 0};
      for (std::optional<Poly>& value : values) {
        if (value) value = symbolic.to_size(*value);
      }
      parameters[name] = Symbolic{symbolic.min_value};
      sizes[name] = std::move(values);
    } else if (is_list) {
      parameters[name] = std::move(numbers);
    } else {
      parameters[name] = numbers[0];
    }
  }

  TokenCursor cursor_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::map<std::string, Definition> definitions_;
  std::string current_definition_;  // the name that the current `let` defines
  int nesting_ = 0;                 // of parentheses
  bool directed_ = false;           // the last rule was written with '=>'
};

}  // namespace

std::vector<Rule> parse_rules(std::string_view text, const std::string& origin, Library& library, TermBank& bank,
                              Symbols& symbols) {
  return RuleParser(text, origin, library, bank, symbols).parse();
}

std::vector<ImportedRule> parse_imported_rules(std::string_view text, const std::string& origin, Library& library,
                                               TermBank& bank, Symbols& symbols) {
  return RuleParser(text, origin, library, bank, symbols).parse_imported();
}

Rule parse_terms(std::string_view text, const std::string& origin, const std::map<std::string, Shape>& variables,
                 Library& library, TermBank& bank, Symbols& symbols) {
  return RuleParser(text, origin, library, bank, symbols).parse_terms(variables);
}

}  // namespace rulemill::algebra
