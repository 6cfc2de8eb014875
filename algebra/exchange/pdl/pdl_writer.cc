#include "algebra/exchange/pdl/pdl_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "algebra/exchange/fixed_forms.h"
#include "algebra/exchange/pdl/form_expression.h"
#include "algebra/exchange/pdl/pattern_text.h"
#include "algebra/exchange/python_expression.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {
namespace {

/// The greatest number of commutative operations of a pattern whose operands are exported in both orders.
constexpr std::size_t max_swapped_nodes = 3;

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-") == std::string::npos;
}

/// A rule at fixed ranks as a pattern, with the operands of some nodes swapped.
class RuleWriter {
 public:
  RuleWriter(const TypedRule& typed, std::set<NodeId> swapped, const StablehloTable& table, TermBank& bank,
             Symbols& symbols)
      : typed_(typed), rule_(typed.rule), swapped_(std::move(swapped)), table_(table), bank_(bank), symbols_(symbols) {}

  /// Returns the pattern's body and its specification. Rejects a balanced pattern unless `keep_balanced`: with its
  /// operands in either order, it would apply to its own results.
  std::pair<std::string, std::string> write(bool keep_balanced) {
    if (rule_.source.size() != 1) throw NotExpressible{"it has several outputs"};
    if (bank_.term(rule_.source[0]).is_variable) throw NotExpressible{"its pattern is a single variable"};
    for (const TermId variable : rule_.variables) {
      values_[variable] = "%v_" + bank_.term(variable).name;
      text_.add_variable(values_[variable], type_of(variable));
      equate(typed_.types.at(variable));
    }
    write_terms(rule_.source);
    require_sizes();
    text_.begin_rewrite();
    is_match_ = false;
    values_.erase(rule_.source[0]);  // the root is replaced, so its value must not be an operand of the new operations
    write_terms(rule_.target);
    if (!keep_balanced && text_.is_balanced())
      throw NotExpressible{"both sides have the same StableHLO operations (--all exports it)"};
    std::vector<std::string> conditions;
    for (const auto* list : {&rule_.condition, &typed_.facts}) {
      for (const SizeCondition& each : *list) conditions.push_back(condition_text(each));
    }
    return {text_.body(values_.at(rule_.target[0])), text_.specification(conditions)};
  }

 private:
  std::string condition_text(const SizeCondition& condition) const {
    static const std::map<Relation, const char*> signs = {
        {Relation::Eq, "=="}, {Relation::Ne, "!="}, {Relation::Lt, "<"}, {Relation::Le, "<="}};
    return fmt::format("{} {} {}", python_expression(condition.left, "", symbols_), signs.at(condition.relation),
                       python_expression(condition.right, "", symbols_));
  }

  ScalarKind kind_of(TermId id) const {
    if (!bank_.term(id).is_variable) return bank_.instance_of(id).outputs.at(bank_.term(id).output).scalar_kind;
    for (const NodeId user : nodes_of(rule_, bank_)) {
      const Node& node = bank_.node(user);
      const auto at = std::ranges::find(node.arguments, id) - node.arguments.begin();
      if (static_cast<std::size_t>(at) < node.arguments.size())
        return bank_.library().instance(node.instance).input_scalar_kinds.at(static_cast<std::size_t>(at));
    }
    return ScalarKind::Real;
  }

  std::string type_text(ScalarKind kind, const Shape& shape) const {
    if (kind == ScalarKind::Int) throw NotExpressible{"it has integers, of which StableHLO has several types"};
    if (kind == ScalarKind::Positive) throw NotExpressible{"it has tensors of positive numbers"};
    std::string text = kind == ScalarKind::Bool ? "bool:" : "real:";
    for (std::size_t i = 0; i < shape.size(); ++i)
      text += (i == 0 ? " " : ", ") + python_expression(shape[i], "", symbols_);
    return text;
  }

  std::string type_of(TermId id) const { return type_text(kind_of(id), typed_.types.at(id)); }

  void equate(const Shape& shape) {
    if (is_match_) dimensions_.insert(dimensions_.end(), shape.begin(), shape.end());
  }

  /// Writes the outputs that the roots and the nodes below them use, and are not written yet.
  void write_terms(const std::vector<TermId>& roots) {
    std::set<TermId> used(roots.begin(), roots.end());
    const std::vector<NodeId> nodes = bank_.nodes(roots);
    for (const NodeId id : nodes) used.insert(bank_.node(id).arguments.begin(), bank_.node(id).arguments.end());
    for (const NodeId id : nodes) {
      const auto outputs = static_cast<std::uint32_t>(bank_.library().instance(bank_.node(id).instance).outputs.size());
      for (std::uint32_t o = 0; o < outputs; ++o) {
        const TermId term = bank_.output(id, o);
        if (used.contains(term) && !values_.contains(term)) values_[term] = write_output(id, term);
      }
    }
  }

  std::string write_output(NodeId id, TermId term) {
    const Node& node = bank_.node(id);
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    const StablehloForm& form = table_.form_of(instance, bank_.term(term).output);
    const FormNames names = names_of(id, term);
    if (form.operation == "constant") return write_constant(form.inputs.at(0), typed_.types.at(term), form.place);
    PdlOperation operation{form.operation, {}, {}, {}, type_of(term)};
    for (const std::string& input : form.inputs.empty() ? instance.input_names : form.inputs)
      operation.operands.push_back(write_input(input, form, node, term, names));
    if (is_match_ && swapped_.contains(id)) std::swap(operation.operands.at(0), operation.operands.at(1));
    const auto fill = [&](const std::string& text) { return fill_template(text, names, symbols_, form.place); };
    for (const auto& [name, text] : form.attributes) operation.attributes[name] = fill(text);
    for (const auto& [name, texts] : form.optional) operation.optional[name] = {fill(texts.first), fill(texts.second)};
    equate(typed_.types.at(term));
    return text_.add(operation);
  }

  FormNames names_of(NodeId id, TermId term) const {
    const Node& node = bank_.node(id);
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    FormNames names;
    const std::vector<Poly> slots = size_slots(id, typed_, bank_);
    for (std::size_t i = 0; i < slots.size(); ++i) names[instance.size_names[i]] = {false, false, {slots[i]}};
    for (const auto& [name, value] : instance.parameters) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) names[name] = {false, false, {Poly(*number)}};
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        names[name] = {true, false, {}};
        for (const std::int64_t each : *list) names[name].items.emplace_back(each);
      }
    }
    for (std::size_t i = 0; i < node.arguments.size(); ++i)
      names[instance.input_names.at(i)] = {true, false, typed_.types.at(node.arguments[i])};
    names["result"] = {true, false, typed_.types.at(term)};
    return names;
  }

  /// Returns the value of an input, broadcast if the form has it broadcast; a number becomes a constant.
  std::string write_input(const std::string& input, const StablehloForm& form, const Node& node, TermId term,
                          const FormNames& names) {
    const Shape& result = typed_.types.at(term);
    const std::string number = input.starts_with("scalar ") ? input.substr(7) : input;
    if (is_number(number)) return write_constant(number, number == input ? result : Shape(), form.place);
    const std::vector<std::string>& known = bank_.library().instance(node.instance).input_names;
    const auto at = static_cast<std::size_t>(std::ranges::find(known, input) - known.begin());
    if (at == known.size())
      throw runtime::InputError(form.place, "'" + input + "' is no input of " + form.operator_name);
    const TermId argument = node.arguments.at(at);
    const auto broadcast = form.broadcast.find(input);
    if (broadcast == form.broadcast.end()) return values_.at(argument);
    const FormValue dimensions = evaluate_form(broadcast->second, names, symbols_, form.place);
    const bool has_same_type = typed_.types.at(argument) == result || is_whole(broadcast->second, names);
    if (dimensions.items.size() == result.size() && has_same_type) return values_.at(argument);
    PdlOperation operation{"broadcast_in_dim", {values_.at(argument)}, {}, {}, type_text(kind_of(argument), result)};
    operation.attributes["broadcast_dimensions"] =
        fill_template("array<i64: {dimensions}>", {{"dimensions", dimensions}}, symbols_, form.place);
    return text_.add(operation);
  }

  /// Whether an input is not broadcast: by "kept(spread)", whose dimensions are all whole.
  static bool is_whole(const std::string& broadcast, const FormNames& names) {
    const std::string head = "kept(";
    const auto spread = broadcast.starts_with(head)
                            ? names.find(broadcast.substr(head.size(), broadcast.size() - head.size() - 1))
                            : names.end();
    return spread != names.end() &&
           std::ranges::all_of(spread->second.items, [](const Poly& each) { return each == Poly(spread_whole); });
  }

  std::string write_constant(const std::string& number, const Shape& shape, const std::string& place) {
    std::string dimensions;
    for (const Poly& size : shape)
      dimensions += fill_template("{size}x", {{"size", {false, false, {size}}}}, symbols_, place);
    PdlOperation operation{"constant", {}, {}, {}, type_text(ScalarKind::Real, shape)};
    operation.attributes["value"] = fmt::format("dense<{}> : tensor<{}$>", number, dimensions);
    equate(shape);
    return text_.add(operation);
  }

  /// Throws NotExpressible unless the dimensions of the match determine all sizes, one linear equation at a time.
  void require_sizes() const {
    std::set<Atom> known;
    std::vector<Poly> open = dimensions_;
    const auto determine = [&](const Poly& dimension) {
      std::vector<Atom> unknown = symbols_.atoms(dimension);
      std::erase_if(unknown, [&](Atom atom) { return known.contains(atom); });
      if (unknown.size() > 1) return false;
      if (unknown.empty()) return true;
      const std::vector<Poly> coefficients = dimension.coefficients_in(unknown[0]);
      const auto is_free = [&](const Poly& each) { return !symbols_.contains(each, unknown[0]); };
      if (coefficients.size() != 2 || !std::ranges::all_of(coefficients, is_free)) return false;
      known.insert(unknown[0]);
      return true;
    };
    while (std::erase_if(open, determine) > 0) {
    }
    std::set<std::string> names;
    for (const Atom atom : known) names.insert(symbols_.name(atom));
    for (const std::string& name : used_size_names(rule_, bank_, symbols_)) {
      if (!names.contains(name)) throw NotExpressible{"its sizes do not follow from the shapes one by one"};
    }
  }

  const TypedRule& typed_;
  const Rule& rule_;
  const std::set<NodeId> swapped_;
  const StablehloTable& table_;
  TermBank& bank_;
  Symbols& symbols_;
  PatternText text_;
  bool is_match_ = true;
  std::map<TermId, std::string> values_;
  std::vector<Poly> dimensions_;  // of the values of the match
};

/// The sets of nodes of the pattern whose operands are swapped, among those of a commutative operation.
std::vector<std::set<NodeId>> orders_of_operands(const Rule& rule, const StablehloTable& table, const TermBank& bank) {
  std::vector<std::set<NodeId>> result = {{}};
  std::size_t count = 0;
  for (const NodeId id : bank.nodes(rule.source)) {
    const StablehloForm& form = table.form_of(bank.library().instance(bank.node(id).instance), 0);
    if (!is_commutative_stablehlo(form.operation) || ++count > max_swapped_nodes) continue;
    const std::size_t before = result.size();
    for (std::size_t i = 0; i < before; ++i) {
      result.push_back(result[i]);
      result.back().insert(id);
    }
  }
  return result;
}

std::string pattern_name(const std::string& rule) {
  std::string name = rule;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

std::string comment(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result += "  // " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

}  // namespace

ExportedRules write_pdl_rules(std::span<const RuleToExport> rules, std::vector<SkippedRule> skipped,
                              const StablehloTable& table, bool keep_balanced, const ExportFrame& frame,
                              Library& library, TermBank& bank, Symbols& symbols) {
  ExportedRules exported;
  exported.skipped = std::move(skipped);
  std::string patterns;
  for (const RuleToExport& rule : rules) {
    std::map<std::string, std::vector<std::string>> by_body;  // the specifications
    std::string reason = "it has no form of ranks up to " + std::to_string(max_exported_rank) + " and small parameters";
    for (const Rule& fixed : fixed_forms(rule.rule, max_exported_rank, library, bank, symbols)) {
      const auto typed = try_typing(fixed, bank, symbols);
      if (!typed) continue;
      try {
        for (const std::set<NodeId>& swapped : orders_of_operands(typed->rule, table, bank)) {
          auto [body, specification] = RuleWriter(*typed, swapped, table, bank, symbols).write(keep_balanced);
          std::vector<std::string>& known = by_body[body];
          if (std::ranges::find(known, specification) == known.end()) known.push_back(std::move(specification));
        }
      } catch (const NotExpressible& error) {
        reason = error.reason;
      }
    }
    if (by_body.empty()) {
      exported.skipped.push_back({rule.rule.id, reason});
      continue;
    }
    exported.written.push_back(rule.rule.id);
    patterns += "\n" + comment(to_string(rule.rule, bank, symbols) + rule.proof);
    std::size_t count = 0;
    for (const auto& [body, specifications] : by_body) {
      const std::string name = pattern_name(rule.rule.id) + (count++ == 0 ? "" : "_form" + std::to_string(count));
      patterns += fmt::format("  pdl.pattern @{} : benefit(1) {{\n    %spec = pdl.attribute = [{}]\n{}  }}\n", name,
                              fmt::join(specifications, ",\n      "), body);
    }
  }
  exported.text = export_header(frame.title, exported, "// ") + frame.prelude + "module @rules {" + patterns + "}\n";
  return exported;
}

}  // namespace rulemill::algebra
