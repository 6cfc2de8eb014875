#include "algebra/exchange/pdl/pdl_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "algebra/exchange/pdl/form_equations.h"
#include "algebra/exchange/pdl/form_reader.h"
#include "algebra/exchange/pdl/pattern_reader.h"
#include "algebra/exchange/pdl/pattern_types.h"
#include "algebra/exchange/readings.h"
#include "algebra/exchange/text_identifier.h"
#include "algebra/terms/typing.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

bool is_commutative(const std::string& operation) {
  return is_commutative_stablehlo(operation.substr(operation.find('.') + 1));
}

/// Reads one typing of a pattern as a rule in the text form.
class RuleReader {
 public:
  RuleReader(const PdlPattern& pattern, PatternTyping typing, const StablehloTable& table, Library& library,
             Symbols& symbols)
      : pattern_(pattern),
        typing_(std::move(typing)),
        table_(table),
        library_(library),
        symbols_(symbols),
        context_{library, symbols, typing_.zeros, typing_.facts},
        values_(pattern.nodes.size()) {}

  /// Throws InputError with a place in the pattern for what is no rule of operators.
  std::string text(const std::string& name) {
    const std::string source = value_of(pattern_.root).text;
    // The root is replaced, so its value is none of the target's.
    const std::string target = value_of(pattern_.replacement).text;
    std::string text =
        fmt::format("rule {}({})\n{}  {} => {}\n", name, fmt::join(variables_, ", "), let_text_, source, target);
    if (!typing_.conditions.empty()) text += fmt::format("  when {}\n", fmt::join(typing_.conditions, ", "));
    return text;
  }

 private:
  struct Value {
    std::string text;
    KnownTensor tensor;
    std::string output = {};  // of a call: ".first"
  };
  /// Of several forms of an operation, the least is read: without further conditions, without broadcasts of their own,
  /// with few parameters, and with the second operand broadcast rather than the first.
  using Preference = std::tuple<std::size_t, std::size_t, std::size_t, bool>;

  [[noreturn]] static void fail(const PdlNode& node, const std::string& message) {
    throw runtime::InputError(node.place, message);
  }

  KnownTensor& known(std::size_t index) {
    const PdlNode& node = pattern_.nodes[index];
    return node.type ? typing_.types[*node.type] : typing_.nodes[index];
  }

  const Value& value_of(std::size_t index) {
    if (!values_[index]) values_[index] = pattern_.nodes[index].operation.empty() ? variable(index) : operation(index);
    return *values_[index];
  }

  Value variable(std::size_t index) {
    const KnownTensor& type = known(index);
    std::string name = text_identifier(variable_name(pattern_.nodes[index].name));
    while (!names_.insert(name).second) name += "_";
    const bool is_truth = type.kind == ScalarKind::Bool;
    variables_.push_back(name + (type.shape->empty() ? "[]" : symbols_.to_string(*type.shape)) +
                         (is_truth ? " of bool" : ""));
    return {name, type};
  }

  /// Exported patterns have %v_x for the variable x.
  std::string variable_name(const std::string& name) const {
    return typing_.is_specified && name.starts_with("v_") ? name.substr(2) : name;
  }

  Value operation(std::size_t index) {
    const PdlNode& node = pattern_.nodes[index];
    const std::string dialect = "stablehlo.";
    if (!node.operation.starts_with(dialect))
      fail(node, "expected an operation of StableHLO, found '" + node.operation + "'");
    const std::vector<const StablehloForm*> forms = table_.forms_of_operation(node.operation.substr(dialect.size()));
    std::optional<std::pair<Value, Preference>> best;
    context_.reason = "it is in no form of data/exports/stablehlo.toml";
    for (const StablehloForm* form : forms) {
      if (!library_.has_operator(form->operator_name)) continue;
      for (const Attempt attempt : attempts_of(node)) {
        auto found = operation_as(index, *form, attempt);
        if (found && (!best || found->second < best->second)) best = std::move(found);
      }
    }
    if (!best) fail(node, node.operation + ": " + context_.reason);
    KnownTensor& type = known(index);
    if (!type.shape) {
      type.shape = best->first.tensor.shape;
    } else if (!type.is_exact) {
      equate(*best->first.tensor.shape, *type.shape, node);
    }
    best->first.tensor = {type.shape, best->first.tensor.kind, type.is_exact};
    const auto [let, is_new] = lets_.try_emplace(best->first.text, fmt::format("_{}", lets_.size() + 1));
    if (is_new) let_text_ += fmt::format("  let {} = {}\n", let->second, let->first);
    best->first.text = let->second + best->first.output;
    return std::move(best->first);
  }

  /// Whether operands that the form broadcasts are taken before their broadcast, and whether the operands are swapped.
  struct Attempt {
    bool peels, swaps;
  };

  static std::vector<Attempt> attempts_of(const PdlNode& node) {
    std::vector<Attempt> result = {{true, false}, {false, false}};
    if (is_commutative(node.operation) && node.operands.size() == 2)
      result.insert(result.end(), {{true, true}, {false, true}});
    return result;
  }

  /// Values of one type have one shape.
  void equate(const Shape& a, const Shape& b, const PdlNode& node) {
    if (a.size() != b.size())
      fail(node, "values of one type have ranks " + fmt::format("{} and {}", a.size(), b.size()));
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (a[d] != b[d]) typing_.conditions.push_back(symbols_.to_string(a[d]) + " = " + symbols_.to_string(b[d]));
    }
  }

  std::optional<std::pair<Value, Preference>> operation_as(std::size_t index, const StablehloForm& form,
                                                           Attempt attempt) {
    const PdlNode& node = pattern_.nodes[index];
    if (form.operation == "constant") return constant_as(index, form);
    const std::vector<std::string> names = library_.input_names(form.operator_name);
    const std::vector<std::string>& uses = form.inputs.empty() ? names : form.inputs;
    if (uses.size() != node.operands.size()) return std::nullopt;
    std::vector<FormInput> inputs(names.size());
    std::vector<std::string> arguments(names.size());
    std::size_t peeled = 0, broadcasts = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      std::size_t operand = node.operands[attempt.swaps ? 1 - i : i];
      broadcasts += is_broadcast(operand) ? 1 : 0;
      const auto input = static_cast<std::size_t>(std::ranges::find(names, uses[i]) - names.begin());
      if (input == names.size()) {
        if (!is_constant(operand, uses[i], index)) return std::nullopt;
        continue;
      }
      if (attempt.peels && form.broadcast.contains(uses[i]) && is_broadcast(operand)) {
        inputs[input].broadcast = broadcast_dimensions(operand);
        if (!inputs[input].broadcast) return std::nullopt;
        operand = pattern_.nodes[operand].operands[0];
        ++peeled;
      }
      const Value& value = value_of(operand);
      if (!arguments[input].empty() && arguments[input] != value.text) return std::nullopt;
      arguments[input] = value.text;
      inputs[input].tensor = value.tensor;
    }
    if (attempt.peels && peeled == 0) return std::nullopt;  // the same as without
    const std::optional<GivenAttributes> attributes = attributes_of(index, form);
    if (!attributes) return std::nullopt;
    const auto reading = read_form(form, inputs, result_of(index), *attributes, context_);
    if (!reading) return std::nullopt;
    const bool is_first = attempt.peels && inputs.size() == 2 && inputs[0].broadcast && !inputs[1].broadcast;
    return std::pair(finish(form, arguments, *reading),
                     Preference(reading->condition_count, broadcasts - peeled, reading->stated_count, is_first));
  }

  Value finish(const StablehloForm& form, const std::vector<std::string>& arguments, const FormReading& reading) {
    std::string text = fmt::format("{}({}{}{})", form.operator_name, fmt::join(arguments, ", "),
                                   reading.parameters.empty() ? "" : "; ", reading.parameters);
    return {std::move(text), reading.result, form.output.empty() ? "" : "." + form.output};
  }

  /// The type of a node; that of a broadcast, if the node has none and its operands are broadcast to it.
  KnownTensor result_of(std::size_t index) {
    KnownTensor type = known(index);
    for (const std::size_t operand : pattern_.nodes[index].operands) {
      if (!type.shape && is_broadcast(operand) && known(operand).shape) {
        type.shape = known(operand).shape;
        type.is_exact = known(operand).is_exact;
      }
    }
    return type;
  }

  bool is_broadcast(std::size_t index) const {
    const PdlNode& node = pattern_.nodes[index];
    return node.operation == "stablehlo.broadcast_in_dim" && node.operands.size() == 1;
  }

  std::optional<std::vector<std::int64_t>> broadcast_dimensions(std::size_t index) const {
    const auto found = pattern_.nodes[index].attributes.find("broadcast_dimensions");
    if (found == pattern_.nodes[index].attributes.end() || !found->second) return std::nullopt;
    return numbers_of(*found->second);
  }

  /// Whether a node is the constant of a form: "1.0", or "scalar 6.0" without dimensions.
  bool is_constant(std::size_t index, const std::string& use, std::size_t user) {
    const std::string head = "scalar ";
    const bool is_scalar = use.starts_with(head);
    const std::optional<ConstantText> found = constant_of(index);
    if (!found || found->number != number(is_scalar ? use.substr(head.size()) : use)) return false;
    if (is_scalar) return found->type.shape->empty();
    const KnownTensor result = result_of(user);
    return !result.shape || *result.shape == *found->type.shape;
  }

  static double number(const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  std::optional<ConstantText> constant_of(std::size_t index) {
    const PdlNode& node = pattern_.nodes[index];
    if (node.operation != "stablehlo.constant" || !node.operands.empty()) return std::nullopt;
    std::string text;
    if (const auto stated = node.attributes.find("value"); stated != node.attributes.end() && stated->second)
      text = *stated->second;
    if (const auto given = typing_.attributes[index].find("value"); given != typing_.attributes[index].end())
      text = given->second;
    auto constant = read_constant(text, node.place, symbols_);
    if (!constant) return std::nullopt;
    KnownTensor& type = known(index);
    if (!type.shape) type = constant->type;
    if (type.shape != constant->type.shape) fail(node, "the constant's type is not that of its value");
    return constant;
  }

  std::optional<std::pair<Value, Preference>> constant_as(std::size_t index, const StablehloForm& form) {
    const std::optional<ConstantText> found = constant_of(index);
    if (!found) {
      context_.reason = "expected one number as its value";
      return std::nullopt;
    }
    if (found->number != number(form.inputs.at(0))) {
      context_.reason = "it is none of the numbers that are operators";
      return std::nullopt;
    }
    const auto reading = read_form(form, {}, known(index), {}, context_);
    if (!reading) return std::nullopt;
    return std::pair(finish(form, {}, *reading), Preference());
  }

  /// The attributes of a node. nullopt if one may have any value.
  std::optional<GivenAttributes> attributes_of(std::size_t index, const StablehloForm& form) {
    const PdlNode& node = pattern_.nodes[index];
    GivenAttributes given;
    for (const auto& [name, text] : typing_.attributes[index]) given[name] = text;
    for (const auto& [name, text] : node.attributes) {
      if (given.contains(name)) continue;
      if (!text) {
        context_.reason = "its attribute " + name + " may have any value";
        return std::nullopt;
      }
      given[name] = *text;
    }
    for (const auto& [name, texts] : form.optional) {
      if (given.contains(name) || typing_.is_specified || !node.is_match) continue;
      context_.reason = "it matches any " + name;
      return std::nullopt;
    }
    return given;
  }

  const PdlPattern& pattern_;
  PatternTyping typing_;
  const StablehloTable& table_;
  Library& library_;
  Symbols& symbols_;
  FormContext context_;
  std::vector<std::optional<Value>> values_;
  std::vector<std::string> variables_;  // with their shapes
  std::set<std::string> names_;
  std::map<std::string, std::string> lets_;  // the names of calls
  std::string let_text_;
};

/// Parses the text and leaves out conditions that typing implies.
Rule parse_read_rule(const std::string& text, const std::string& place, Library& library, TermBank& bank,
                     Symbols& symbols) {
  try {
    Rule rule = parse_rule(text, place, library, bank, symbols);
    if (const auto typed = try_typing(rule, bank, symbols)) {
      std::erase_if(rule.condition, [&](const SizeCondition& each) {
        return std::ranges::find(typed->facts, each) != typed->facts.end();
      });
    }
    return rule;
  } catch (const runtime::InputError& error) {
    throw runtime::InputError(place, without_place(error));
  }
}

/// The rules of a pattern.
std::vector<Rule> rules_of(const PdlPattern& pattern, const std::string& name, const StablehloTable& table,
                           Library& library, TermBank& bank, Symbols& symbols) {
  std::vector<Rule> rules;
  std::optional<runtime::InputError> problem;
  const auto read = [&](const PatternTyping& typing) {
    const std::string text = RuleReader(pattern, typing, table, library, symbols).text(name);
    rules.push_back(parse_read_rule(text, pattern.place, library, bank, symbols));
  };
  for (const PatternTyping& typing : stated_typings(pattern, symbols)) {
    const std::vector<PatternTyping> ranked = with_ranks(pattern, typing, symbols);
    for (const PatternTyping& each : ranked) {
      if (ranked.size() == 1) {
        read(each);
        continue;
      }
      try {
        read(each);
      } catch (const runtime::InputError& error) {
        if (!problem) problem = error;
      }
    }
  }
  if (rules.empty()) throw runtime::InputError(*problem);
  return rules;
}

}  // namespace

bool is_pdl_file(const std::filesystem::path& file) {
  return file.extension() == ".pdl" || file.extension() == ".mlir";
}

std::vector<ImportedRule> parse_pdl_rules(std::string_view text, const std::string& origin, const StablehloTable& table,
                                          Library& library, TermBank& bank, Symbols& symbols) {
  std::vector<ImportedRule> result;
  for (const PdlPattern& pattern : read_pdl_patterns(text, origin)) {
    const std::string name = text_identifier(pattern.name);
    if (!pattern.problem.empty()) {
      result.push_back({name, pattern.place, std::nullopt, pattern.problem});
      continue;
    }
    const auto read = [&] { return rules_of(pattern, name, table, library, bank, symbols); };
    append_readings(name, pattern.place, read, result);
  }
  return result;
}

}  // namespace rulemill::algebra
