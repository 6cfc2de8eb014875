#include "algebra/exchange/egglog_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "algebra/exchange/egglog_query.h"
#include "algebra/exchange/fixed_forms.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "algebra/terms/symbolic_parameters.h"

namespace rulemill::algebra {
namespace {

/// An operator in the program. Parameters that are numbers, and sizes, are arguments; the others are part of the name.
struct Constructor {
  std::vector<std::string> names;  // by output
  std::vector<Poly> numbers;       // the values of the integer arguments, in order
};

class EgglogProgram {
 public:
  EgglogProgram(TermBank& bank, Symbols& symbols) : bank_(bank), symbols_(symbols) {}

  /// Returns the rule as text: where the source is found, both sides are united.
  std::string write_rule(const Rule& rule, const TypedRule& typed) {
    EgglogQuery query(symbols_);
    std::string body, head;
    for (std::size_t r = 0; r < rule.source.size(); ++r) {
      if (bank_.term(rule.source[r]).is_variable) throw NotExpressible{"an output of its pattern is an input"};
      query.add(fmt::format("(= e{}_ {})", r, pattern(rule.source[r], query)));
    }
    for (std::size_t v = 0; v < rule.variables.size(); ++v)
      query.add(shape_fact(variable_name(rule.variables[v]), typed.rule.shapes[v], query));
    query.solve();
    for (const SizeCondition& condition : typed.rule.condition) {
      static const std::map<Relation, const char*> signs = {
          {Relation::Eq, "="}, {Relation::Ne, "!="}, {Relation::Lt, "<"}, {Relation::Le, "<="}};
      const std::string left = query.expression(condition.left), right = query.expression(condition.right);
      query.add(fmt::format("({} {} {})", signs.at(condition.relation), left, right));
    }
    for (std::size_t r = 0; r < rule.target.size(); ++r) {
      const std::string target =
          expression(rule.target[r], [&](const Poly& number) { return query.expression(number); });
      head += fmt::format("{}(union e{}_ {})", r == 0 ? "" : "\n   ", r, target);
    }
    for (const NodeId id : nodes_of(rule, bank_)) declare(bank_.node(id));
    return fmt::format("(rule ({})\n  ({}))\n", fmt::join(query.facts(), "\n       "), head);
  }

  /// Declares what the sides of the goal need. Returns its block at these sizes.
  std::string write_goal(const TypedRule& goal, const Substitution& sizes) {
    std::string text = "; goal " + goal.rule.id + "\n";
    for (std::size_t v = 0; v < goal.rule.variables.size(); ++v) {
      const std::string name = goal_variable(goal.rule.id, goal.rule.variables[v]);
      text += fmt::format("(let {} (variable \"{}\"))\n", name, bank_.term(goal.rule.variables[v]).name);
      EgglogQuery numbers(symbols_);
      Shape shape;
      for (const Poly& dim : goal.rule.shapes[v]) shape.push_back(symbols_.substitute(dim, sizes));
      text += shape_fact(name, shape, numbers) + "\n";
    }
    goal_ = &goal.rule.id;
    const auto number = [&](const Poly& poly) {
      return std::to_string(symbols_.substitute(poly, sizes).constant().value());
    };
    for (const bool is_source : {true, false}) {
      const auto& side = is_source ? goal.rule.source : goal.rule.target;
      for (std::size_t r = 0; r < side.size(); ++r)
        text += fmt::format("(let ${}.{}.{} {})\n", goal.rule.id, is_source ? "source" : "target", r,
                            expression(side[r], number));
    }
    goal_ = nullptr;
    for (const NodeId id : nodes_of(goal.rule, bank_)) declare(bank_.node(id));
    return text;
  }

  /// Returns the declarations, the rules of shapes, and commutativity.
  std::string declarations() const {
    std::string text = "(datatype Tensor\n  (variable String)";
    for (const auto& [name, types] : constructors_) text += fmt::format("\n  ({}{})", name, types);
    text += ")\n\n; shapeR: the dimensions of a tensor of rank R\n";
    for (const std::size_t rank : ranks_) {
      std::string types;
      for (std::size_t d = 0; d < rank; ++d) types += " i64";
      text += fmt::format("(relation shape{} (Tensor{}))\n", rank, types);
    }
    return text + "\n; shapes of results\n" + shape_rules_ + "\n; commutative operators\n" + commutative_rules_;
  }

 private:
  std::string variable_name(TermId variable) const {
    return goal_ != nullptr ? goal_variable(*goal_, variable) : "?" + bank_.term(variable).name;
  }
  std::string goal_variable(const std::string& goal, TermId variable) const {
    return "$" + goal + "." + bank_.term(variable).name;
  }

  std::string shape_fact(const std::string& tensor, const Shape& shape, EgglogQuery& query) {
    ranks_.insert(shape.size());
    std::string text = fmt::format("(shape{} {}", shape.size(), tensor);
    for (const Poly& dim : shape) text += " " + query.pattern(dim);
    return text + ")";
  }

  Constructor constructor(const Node& node) const {
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    Constructor result;
    std::string name = instance.operator_name;
    for (const auto& input : instance.inputs) name += fmt::format("-{}", input.size());
    if (instance.inputs.empty()) name += fmt::format("-{}", instance.outputs[0].dims.size());
    for (const auto& [parameter, value] : instance.parameters) {
      const ParameterKind kind = bank_.library().parameter_kind(instance.operator_name, parameter);
      if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && kind == ParameterKind::Int) {
        result.numbers.emplace_back(*number);
      } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
                 list != nullptr && kind == ParameterKind::Ints) {
        result.numbers.insert(result.numbers.end(), list->begin(), list->end());
      } else if (std::holds_alternative<Symbolic>(value)) {
        const auto symbolic = std::ranges::find(instance.symbolic_parameters, parameter, &SymbolicParameter::name);
        for (std::uint32_t k = 0; k < symbolic->count; ++k)
          result.numbers.push_back(symbolic->to_number(node.sizes.at(symbolic->first + k)));
      } else {
        std::string text = to_string(value);
        std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
        std::ranges::replace(text, ',', '.');
        name += "-" + parameter + "." + text;
      }
    }
    result.numbers.insert(result.numbers.end(), node.sizes.begin(),
                          node.sizes.begin() + instance.declared_size_count());
    const bool has_one = instance.outputs.size() == 1;
    for (const TensorDefinition& output : instance.outputs)
      result.names.push_back(has_one ? name : name + "-" + output.name);
    return result;
  }

  template <class Number>
  std::string expression(TermId id, const Number& number) const {
    const Term& term = bank_.term(id);
    if (term.is_variable) return variable_name(id);
    const Node& node = bank_.node(term.node);
    const Constructor found = constructor(node);
    std::string text = "(" + found.names.at(term.output);
    for (const TermId argument : node.arguments) text += " " + expression(argument, number);
    for (const Poly& value : found.numbers) text += " " + number(value);
    return text + ")";
  }

  std::string pattern(TermId id, EgglogQuery& query) const {
    return expression(id, [&](const Poly& number) { return query.pattern(number); });
  }

  /// Declares a constructor per output, and adds the rules of their shapes.
  void declare(const Node& node) {
    if (!declared_.insert(node.instance).second) return;
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    // The node over size slots.
    std::vector<Poly> slots;
    for (std::size_t s = 0; s < instance.size_names.size(); ++s)
      slots.emplace_back(symbols_.size("s" + std::to_string(s)));
    Node general = node;
    general.sizes.assign(slots.begin() + instance.first_size_parameter, slots.end());
    const Constructor made = constructor(general);
    std::string types;
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) types += " Tensor";
    for (std::size_t i = 0; i < made.numbers.size(); ++i) types += " i64";
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      constructors_.emplace(made.names[o], types);
      add_shape_rule(instance, made, slots, o);
    }
    if (instance.commutative && commutative_.insert(made.names[0]).second) {
      std::string numbers;
      for (std::size_t i = 0; i < made.numbers.size(); ++i) numbers += fmt::format(" n{}", i);
      commutative_rules_ += fmt::format("(rewrite ({0} a b{1}) ({0} b a{1}))\n", made.names[0], numbers);
    }
  }

  void add_shape_rule(const OperatorInstance& instance, const Constructor& made, const std::vector<Poly>& slots,
                      std::uint32_t output) {
    EgglogQuery query(symbols_);
    const auto value = [&](const IndexExprPtr& expr) { return evaluate(*expr, slots, {}, symbols_); };
    std::string call = "(" + made.names[output];
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) call += fmt::format(" t{}", i);
    for (const Poly& number : made.numbers) call += " " + query.pattern(number);
    query.add("(= e " + call + "))");
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      Shape shape;
      for (const IndexExprPtr& dim : instance.inputs[i]) shape.push_back(value(dim));
      query.add(shape_fact(fmt::format("t{}", i), shape, query));
    }
    query.solve();
    for (const Comparison& condition : instance.conditions) {
      static const std::map<Relation, const char*> signs = {
          {Relation::Eq, "="}, {Relation::Ne, "!="}, {Relation::Lt, "<"}, {Relation::Le, "<="}};
      const std::string left = query.expression(value(condition.a)), right = query.expression(value(condition.b));
      query.add(fmt::format("({} {} {})", signs.at(condition.relation), left, right));
    }
    const std::vector<IndexExprPtr>& dims = instance.outputs[output].dims;
    ranks_.insert(dims.size());
    std::string shape = fmt::format("(shape{} e", dims.size());
    for (const IndexExprPtr& dim : dims) shape += " " + query.expression(value(dim));
    shape_rules_ += fmt::format("(rule ({})\n  ({})))\n", fmt::join(query.facts(), " "), shape);
  }

  TermBank& bank_;
  Symbols& symbols_;
  const std::string* goal_ = nullptr;  // whose terms are written
  std::map<std::string, std::string> constructors_;
  std::set<std::string> commutative_;
  std::set<InstanceId> declared_;
  std::set<std::size_t> ranks_;
  std::string shape_rules_, commutative_rules_;
};

/// Numbers for the sizes of a goal that its types and condition allow, different ones if possible.
std::optional<Substitution> goal_sizes(const TypedRule& goal, const TermBank& bank, Symbols& symbols) {
  constexpr int max_attempts = 2000;
  static constexpr std::int64_t primes[] = {7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
                                            43, 47, 53, 59, 61, 67, 71, 73, 79, 83};
  std::set<Atom> atoms;
  const auto add = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) atoms.insert(atom);
  };
  for (const Shape& shape : goal.rule.shapes) std::ranges::for_each(shape, add);
  for (const NodeId id : nodes_of(goal.rule, bank)) std::ranges::for_each(bank.node(id).sizes, add);
  const std::vector<Atom> symbolic = symbolic_parameter_sizes(goal.rule, bank);
  std::mt19937_64 random(1);
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    Substitution sizes;
    for (const Atom atom : atoms) {
      const bool is_parameter = std::ranges::find(symbolic, atom) != symbolic.end();
      const std::size_t range = is_parameter ? 3 : std::min<std::size_t>(std::size(primes), 20);
      const std::size_t next = attempt == 0 ? std::min(sizes.size(), range - 1) : random() % range;
      const bool is_small = is_parameter || attempt % 3 == 1 || (attempt % 3 == 2 && random() % 2 == 0);
      sizes.emplace(atom, is_small ? Poly(static_cast<std::int64_t>(next % 3) + 1) : Poly(primes[next]));
    }
    const auto is_met = [&](const SizeCondition& condition) {
      return holds(substitute(condition, sizes, symbols), symbols) == Truth::Yes;
    };
    const auto is_positive = [&](const Poly& dim) {
      return symbols.substitute(dim, sizes).constant().value_or(0) >= 1;
    };
    const bool fits = std::ranges::all_of(goal.rule.condition, is_met) && std::ranges::all_of(goal.facts, is_met) &&
                      std::ranges::all_of(goal.rule.shapes,
                                          [&](const Shape& shape) { return std::ranges::all_of(shape, is_positive); });
    if (fits) return sizes;
  }
  return std::nullopt;
}

}  // namespace

ExportedRules write_egglog_rules(std::span<const RuleToExport> rules, std::vector<SkippedRule> skipped,
                                 std::span<const TypedRule> goals, std::uint32_t max_rank, const ExportFrame& frame,
                                 Library& library, TermBank& bank, Symbols& symbols) {
  ExportedRules exported;
  exported.skipped = std::move(skipped);
  EgglogProgram program(bank, symbols);
  std::string text, blocks;
  for (const RuleToExport& rule : rules) {
    std::set<std::string> written;
    std::string reason = "it has no form of ranks up to " + std::to_string(max_rank);
    for (const Rule& fixed : fixed_ranks(rule.rule, max_rank, library, bank, symbols)) {
      const auto typed = try_typing(fixed, bank, symbols);
      if (!typed) continue;
      for (const bool is_reversed : {false, true}) {
        Rule direction = typed->rule;
        if (is_reversed) std::swap(direction.source, direction.target);
        const auto binds = [&](const std::vector<TermId>& side) {
          return bank.variables(side).size() == direction.variables.size();
        };
        // Where neither side has all variables, the others range over the tensors of their shapes.
        if (!binds(direction.source) && binds(direction.target)) continue;
        try {
          written.insert(program.write_rule(direction, *typed));
        } catch (const NotExpressible& error) {
          reason = error.reason;
        }
      }
    }
    if (written.empty()) {
      exported.skipped.push_back({rule.rule.id, reason});
      continue;
    }
    exported.written.push_back(rule.rule.id);
    std::string statement = to_string(rule.rule, bank, symbols);
    for (std::size_t at = 0; (at = statement.find('\n', at)) + 1 < statement.size(); at += 3)
      statement.replace(at, 1, "\n; ");
    text += "\n; " + statement + "; " + rule.proof + "\n";
    for (const std::string& each : written) text += each;
  }
  for (const TypedRule& goal : goals) {
    const auto sizes = goal_sizes(goal, bank, symbols);
    if (!sizes) {
      exported.skipped.push_back({"goal " + goal.rule.id, "no small sizes meet its condition"});
    } else {
      blocks += "\n" + program.write_goal(goal, *sizes);
    }
  }
  exported.text = export_header(frame.title, exported, "; ") + frame.prelude + program.declarations() + "\n; rules\n" +
                  text + blocks;
  return exported;
}

}  // namespace rulemill::algebra
