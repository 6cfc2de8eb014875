// Reads rules and properties in their text form.
#include <algorithm>
#include <map>

#include "algebra/language/poly_parse.h"
#include "algebra/terms/rule_text.h"
#include "runtime/joined.h"

namespace rulemill::algebra {
namespace {

using runtime::InputError;

constexpr int deepest = 1000;

struct Sign {
  std::string_view text;
  Relation relation;
  bool other_way_round = false;
};
constexpr Sign signs[] = {{"=", Relation::Eq},  {"!=", Relation::Ne},      {"<", Relation::Lt},
                          {"<=", Relation::Le}, {">", Relation::Lt, true}, {">=", Relation::Le, true}};

class RuleParser {
 public:
  RuleParser(std::string_view text, const std::string& origin, Library& library, TermBank& bank, Symbols& symbols)
      : cursor_(text, origin), library_(library), bank_(bank), symbols_(symbols) {}

  std::vector<Rule> parse() {
    std::vector<Rule> rules;
    while (!cursor_.at_end()) rules.push_back(parse_rule());
    return rules;
  }

  std::vector<PlacedRule> parse_foreign() {
    std::vector<PlacedRule> rules;
    std::map<std::string, int> lines;
    while (!cursor_.at_end()) {
      const Token begin = cursor_.peek();
      Rule rule = parse_rule();
      const auto [known, inserted] = lines.try_emplace(rule.id, begin.line);
      if (!inserted) {
        cursor_.fail(begin, "the rule of line " + std::to_string(known->second) + " is called '" + rule.id + "', too");
      }
      check_variables(rule);
      rules.push_back({place(cursor_.origin(), begin.line, begin.column), std::move(rule)});
    }
    return rules;
  }

 private:
  /// Leaves out variables that do not occur; an equation without a direction goes where its left side says all of them.
  void check_variables(Rule& rule) {
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
    if (!cursor_.accept("rule") && !cursor_.accept("property")) {
      cursor_.fail(cursor_.peek(), "expected 'rule' or 'property', found " + quoted(cursor_.peek()));
    }
    names_.clear();
    Rule rule;
    rule.id = cursor_.name("the rule's name");
    cursor_.expect("(", "before the rule's variables");
    bool any_shape = false, all_shapes = true;
    while (!cursor_.is(")")) {
      parse_variable(rule, any_shape, all_shapes);
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect(")", "after the rule's variables");
    if (any_shape && !all_shapes)
      cursor_.fail(cursor_.peek(), "either every variable has a shape or every one has a rank");
    rule.tier = cursor_.accept("core") ? Tier::Core : cursor_.accept("shortcut") ? Tier::Shortcut : Tier::None;
    while (cursor_.accept("let")) {
      const Token at = cursor_.peek();
      const std::string name = cursor_.name("a name");
      cursor_.expect("=", "after the name");
      if (names_.contains(name)) cursor_.fail(at, "'" + name + "' already has a meaning in this rule");
      defined_now_ = name;
      names_[name] = parse_application();
      defined_now_.clear();
    }
    rule.source = parse_outputs();
    directed_ = cursor_.accept("=>");
    if (!directed_) cursor_.expect("=", "or '=>' after the source");
    const Token target = cursor_.peek();
    rule.target = parse_outputs();
    if (rule.source.size() != rule.target.size()) {
      cursor_.fail(target, "the source has " + std::to_string(rule.source.size()) + " outputs, the target " +
                               std::to_string(rule.target.size()));
    }
    if (cursor_.accept("when")) {
      do rule.condition.push_back(parse_condition());
      while (cursor_.accept(","));
    }
    return rule;
  }

  void parse_variable(Rule& rule, bool& any_shape, bool& all_shapes) {
    const Token at = cursor_.peek();
    const std::string name = cursor_.name("a variable's name");
    if (names_.contains(name)) cursor_.fail(at, "two variables are called '" + name + "'");
    Shape shape;
    std::uint32_t rank = 0;
    if (cursor_.accept(":")) {
      const Token number = cursor_.peek();
      const std::int64_t value = cursor_.number("the variable's rank");
      if (value < 0 || value > 8) cursor_.fail(number, "expected a rank from 0 to 8");
      rank = static_cast<std::uint32_t>(value);
      all_shapes = false;
    } else {
      cursor_.expect("[", "or ':' and a rank after the variable '" + name + "'");
      while (!cursor_.is("]")) {
        const Token dimension = cursor_.peek();
        shape.push_back(parse_poly(cursor_, symbols_));
        if (cursor_.accept("...")) add_group(rule, shape.back(), dimension);
        if (!cursor_.accept(",")) break;
      }
      cursor_.expect("]", "after the shape of '" + name + "'");
      rank = static_cast<std::uint32_t>(shape.size());
      any_shape = true;
      rule.shapes.push_back(std::move(shape));
    }
    const TermId variable = bank_.variable(name, rank);
    rule.variables.push_back(variable);
    names_[name] = {cursor_.accept("of") ? positives(variable, rank) : variable, std::nullopt};
  }

  /// What `c[] of positives` stands for: positive(c).
  TermId positives(TermId variable, std::uint32_t rank) {
    const Token at = cursor_.peek();
    if (!cursor_.accept("positives")) cursor_.fail(at, "expected positives, found " + quoted(at));
    const std::optional<std::string> name = library_.positives_operator();
    if (!name) cursor_.fail(at, "no operator of these definitions has an output of positives");
    const NodeId node =
        bank_.apply(library_.instantiate(*name, {}, std::span(&rank, 1)).id, std::span(&variable, 1), {});
    return bank_.output(node, 0);
  }

  void add_group(Rule& rule, const Poly& size, const Token& at) {
    const auto group = size.atom();
    if (!group) cursor_.fail(at, "a group of dimensions is one name, as in d...");
    if (std::ranges::find(rule.groups, *group) == rule.groups.end()) rule.groups.push_back(*group);
  }

  SizeCondition parse_condition() {
    SizeCondition condition;
    condition.left = parse_poly(cursor_, symbols_);
    const Token token = cursor_.next();
    condition.right = parse_poly(cursor_, symbols_);
    const auto* sign = std::ranges::find(signs, token.text, &Sign::text);
    if (sign == std::end(signs)) cursor_.fail(token, "expected one of = != < <= > >=, found " + quoted(token));
    condition.relation = sign->relation;
    if (sign->other_way_round) std::swap(condition.left, condition.right);
    return condition;
  }

  std::vector<TermId> parse_outputs() {
    std::vector<TermId> outputs;
    do outputs.push_back(parse_term());
    while (cursor_.accept(","));
    return outputs;
  }

  /// A variable, or a node that an output is still to be chosen of.
  struct Meaning {
    TermId term{};
    std::optional<NodeId> node;
  };

  TermId parse_term() {
    const Token at = cursor_.peek();
    const Meaning meaning = parse_application();
    if (!meaning.node) {
      if (cursor_.is(".")) cursor_.fail(cursor_.peek(), "a variable has no outputs to choose from");
      return meaning.term;
    }
    const Instance& instance = library_.instance(bank_.node(*meaning.node).instance);
    if (!cursor_.accept(".")) {
      if (instance.outputs.size() > 1)
        cursor_.fail(
            at, "'" + instance.operator_name + "' has several outputs: choose one with ." + instance.outputs[0].name);
      return bank_.output(*meaning.node, 0);
    }
    const Token chosen = cursor_.peek();
    const std::string name = cursor_.name("an output's name");
    for (std::uint32_t i = 0; i < instance.outputs.size(); ++i) {
      if (instance.outputs[i].name == name) return bank_.output(*meaning.node, i);
    }
    cursor_.fail(chosen, "'" + instance.operator_name + "' has no output '" + name + "'; expected one of " +
                             runtime::joined(instance.outputs, &TensorDefinition::name));
  }

  std::uint32_t rank_of(TermId id) const {
    const Term& term = bank_.term(id);
    if (term.is_variable) return term.rank;
    return static_cast<std::uint32_t>(bank_.instance_of(id).outputs[term.output].dims.size());
  }

  /// A name without a meaning: one that a `let` gives only now or later would close a cycle.
  [[noreturn]] void fail_unknown(const Token& at) {
    const std::string& name = at.text;
    if (name == defined_now_) {
      cursor_.fail(at, "'" + name + "' is used in its own definition; expected a graph without cycles");
    }
    for (std::size_t ahead = 0; cursor_.peek(ahead).kind != Token::Kind::End; ++ahead) {
      if (cursor_.is("rule", ahead) || cursor_.is("property", ahead)) break;
      if (!cursor_.is("let", ahead) || cursor_.peek(ahead + 1).text != name) continue;
      cursor_.fail(at, "'" + name + "' is used before line " + std::to_string(cursor_.peek(ahead + 1).line) +
                           " defines it; expected a graph without cycles, each name defined before its uses");
    }
    cursor_.fail(at, "'" + name + "' is no variable of this rule");
  }

  Meaning parse_application() {
    const Token at = cursor_.peek();
    if (nesting_ == deepest)
      cursor_.fail(at, "a term nested too deeply: more than " + std::to_string(deepest) + " parentheses");
    ++nesting_;
    const Meaning meaning = parse_node(at);
    --nesting_;
    return meaning;
  }

  /// By name; '?' is no number.
  using GivenSizes = std::map<std::string, std::vector<std::optional<Poly>>>;

  Meaning parse_node(const Token& at) {
    const std::string name = cursor_.name("a variable or an operator");
    if (!cursor_.is("(")) {
      const auto found = names_.find(name);
      if (found == names_.end()) fail_unknown(at);
      return found->second;
    }
    cursor_.next();
    if (!library_.has_operator(name))
      cursor_.fail(at, "unknown operator '" + name + "'; known are " + runtime::joined(library_.operator_names()));
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    while (!cursor_.is(")") && !cursor_.is(";")) {
      arguments.push_back(parse_term());
      ranks.push_back(rank_of(arguments.back()));
      if (!cursor_.accept(",")) break;
    }
    Parameters parameters;
    GivenSizes sizes;
    if (cursor_.accept(";")) {
      do parse_parameter(name, parameters, sizes);
      while (cursor_.accept(","));
    }
    cursor_.expect(")", "after the arguments of '" + name + "'");
    if (arguments.size() != library_.arity(name)) {
      cursor_.fail(at, "operator '" + name + "' takes " + std::to_string(library_.arity(name)) + " arguments, found " +
                           std::to_string(arguments.size()));
    }
    const std::vector<Poly> values = size_values(at, name, sizes, ranks);
    try {
      const Instance& instance = library_.instantiate(name, parameters, ranks);
      return {{}, bank_.apply(instance.id, arguments, values)};
    } catch (const InputError& error) {
      cursor_.fail(at, (error.where().empty() ? "" : "this cannot be made of '" + name + "': ") + error.what());
    }
  }

  /// In the definition's order; the ranks become that of a pack of sizes.
  std::vector<Poly> size_values(const Token& at, const std::string& name, const GivenSizes& sizes,
                                std::vector<std::uint32_t>& ranks) {
    std::vector<Poly> values;
    for (const std::string& size : library_.size_parameter_names(name)) {
      const bool pack = size.ends_with("...");
      const std::string key = pack ? size.substr(0, size.size() - 3) : size;
      const auto given = sizes.find(key);
      if (pack && given == sizes.end()) cursor_.fail(at, "operator '" + name + "' needs its sizes: " + key + "=[…]");
      if (pack && library_.has_open_rank(name)) ranks.push_back(static_cast<std::uint32_t>(given->second.size()));
      std::vector<std::optional<Poly>> entries(1);
      if (given != sizes.end()) entries = given->second;
      if (!pack && entries.size() != 1) cursor_.fail(at, "'" + key + "' is one size, found a list");
      for (const std::optional<Poly>& entry : entries)
        values.push_back(entry ? *entry : Poly(symbols_.fresh_size(key)));
    }
    for (const std::string& parameter : library_.parameter_names(name)) {
      const auto given = sizes.find(parameter);
      if (given == sizes.end()) continue;
      for (const std::optional<Poly>& entry : given->second)
        values.push_back(entry ? *entry : Poly(symbols_.fresh_size(parameter)));
    }
    return values;
  }

  /// parameter=value; a size may be '?' or absent, which makes it fresh.
  void parse_parameter(const std::string& op, Parameters& parameters, GivenSizes& sizes) {
    const Token at = cursor_.peek();
    const std::string name = cursor_.name("a parameter's name");
    cursor_.expect("=", "after the parameter's name");
    const std::vector<std::string> size_names = library_.size_parameter_names(op);
    const bool is_size = std::ranges::find(size_names, name) != size_names.end();
    const bool is_pack = std::ranges::find(size_names, name + "...") != size_names.end();
    const std::vector<std::string> parameter_names = library_.parameter_names(op);
    if (!is_size && !is_pack && std::ranges::find(parameter_names, name) == parameter_names.end()) {
      cursor_.fail(at, "operator '" + op + "' has no parameter '" + name + "'");
    }
    auto size_value = [&]() -> std::optional<Poly> {
      if (cursor_.accept("?")) return std::nullopt;
      return parse_poly(cursor_, symbols_);
    };
    if (is_size) {
      sizes[name] = {size_value()};
      return;
    }
    if (cursor_.accept("[")) {
      const bool may_be_open = library_.may_be_open(op, name);
      std::vector<std::optional<Poly>> list;
      std::vector<std::int64_t> numbers;
      while (!cursor_.is("]")) {
        if (is_pack || may_be_open)
          list.push_back(size_value());
        else
          numbers.push_back(cursor_.number("a number"));
        if (!cursor_.accept(",")) break;
      }
      cursor_.expect("]", "after the list");
      if (is_pack)
        sizes[name] = std::move(list);
      else if (may_be_open)
        set_integers(at, name, std::move(list), true, parameters, sizes);
      else
        parameters[name] = std::move(numbers);
      return;
    }
    if (is_pack) cursor_.fail(at, "'" + name + "' is a list of sizes: " + name + "=[…]");
    if (library_.may_be_open(op, name))
      set_integers(at, name, {size_value()}, false, parameters, sizes);
    else if (cursor_.peek().kind == Token::Kind::Number)
      parameters[name] = cursor_.number("a number");
    else
      parameters[name] = cursor_.name("a value");
  }

  /// Numbers alone are a value; with a size among them the parameter is open, and they are sizes of the node.
  void set_integers(const Token& at, const std::string& name, std::vector<std::optional<Poly>> values, bool is_list,
                    Parameters& parameters, GivenSizes& sizes) {
    std::vector<std::int64_t> numbers;
    bool positive = true;
    for (const std::optional<Poly>& value : values) {
      if (value && value->constant()) numbers.push_back(*value->constant());
      if (!value) continue;
      positive = positive && symbols_.positive(*value);
      if (!value->constant() && !symbols_.nonnegative(*value))
        cursor_.fail(at, "'" + name + "' may be negative; it is open from 0, as in s - 1, or from 1, as in s");
    }
    if (numbers.size() < values.size()) {
      const OpenParameter open{name, 0, 0, is_list, positive ? 1 : 0};
      for (std::optional<Poly>& value : values) {
        if (value) value = open.size_of(*value);
      }
      parameters[name] = Open{open.least};
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
  std::map<std::string, Meaning> names_;
  std::string defined_now_;  // by the `let` that is being read
  int nesting_ = 0;          // of parentheses
  bool directed_ = false;    // the last rule was written with '=>'
};

}  // namespace

std::vector<Rule> parse_rules(std::string_view text, const std::string& origin, Library& library, TermBank& bank,
                              Symbols& symbols) {
  return RuleParser(text, origin, library, bank, symbols).parse();
}

std::vector<PlacedRule> parse_foreign_rules(std::string_view text, const std::string& origin, Library& library,
                                            TermBank& bank, Symbols& symbols) {
  return RuleParser(text, origin, library, bank, symbols).parse_foreign();
}

}  // namespace rulemill::algebra
