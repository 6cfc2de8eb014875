#include "algebra/exchange/taso_writer.h"

#include <algorithm>

#include "algebra/exchange/taso_reader.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/typing.h"
#include "taso_rules.pb.h"

namespace rulemill::algebra {
namespace {

/// Thrown for a rule that cannot be exported.
struct NotExpressible {
  std::string reason;
};

/// Encodes a parameter's value as a number.
std::int32_t number_of(const ParameterValue& value, const TasoParameter& parameter, const std::string& what) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<std::int32_t>(*number);
  if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&value)) {
    std::int64_t digits = 0;
    for (const std::int64_t axis : *axes) digits = digits * static_cast<std::int64_t>(axes->size()) + axis;
    return static_cast<std::int32_t>(digits);
  }
  const auto* word = std::get_if<std::string>(&value);
  const auto found = word == nullptr ? parameter.enum_values.end() : std::ranges::find(parameter.enum_values, *word);
  if (found == parameter.enum_values.end()) throw NotExpressible{what + " has no number for " + to_string(value)};
  return static_cast<std::int32_t>(found - parameter.enum_values.begin());
}

class RuleWriter {
 public:
  RuleWriter(const Rule& rule, const TasoTable& table, const TermBank& bank)
      : rule_(rule), table_(table), bank_(bank) {}

  taso::Rule write() {
    taso::Rule to;
    const auto source = write_side(rule_.source, *to.mutable_srcop()),
               target = write_side(rule_.target, *to.mutable_dstop());
    for (std::size_t i = 0; i < rule_.source.size(); ++i) {
      taso::MapOutput& map = *to.add_mappedoutput();
      const Term &from = bank_.term(rule_.source[i]), &into = bank_.term(rule_.target[i]);
      if (from.is_variable || into.is_variable) throw NotExpressible{"an output is an input itself"};
      map.set_srcopid(source.at(from.node));
      map.set_dstopid(target.at(into.node));
      map.set_srctsid(static_cast<std::int32_t>(from.output));
      map.set_dsttsid(static_cast<std::int32_t>(into.output));
    }
    return to;
  }

 private:
  using Operators = google::protobuf::RepeatedPtrField<taso::Operator>;
  using Numbers = std::unordered_map<NodeId, std::int32_t>;

  Numbers write_side(const std::vector<TermId>& roots, Operators& to) const {
    Numbers numbers;
    for (const NodeId id : bank_.nodes(roots)) {
      write(bank_.node(id), numbers, *to.Add());
      numbers.emplace(id, static_cast<std::int32_t>(numbers.size()));
    }
    return numbers;
  }

  void write(const Node& node, const Numbers& numbers, taso::Operator& to) const {
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    const std::vector<const TasoOperator*> rows = table_.named(instance.operator_name);
    if (rows.empty()) throw NotExpressible{"'" + instance.operator_name + "' has no number"};
    const TasoOperator& row = *rows[0];
    to.set_type(row.type);
    for (const TermId argument : node.arguments) {
      taso::Tensor& tensor = *to.add_input();
      const Term& term = bank_.term(argument);
      const auto variable = std::ranges::find(rule_.variables, argument) - rule_.variables.begin();
      tensor.set_opid(term.is_variable ? static_cast<std::int32_t>(-1 - variable) : numbers.at(term.node));
      tensor.set_tsid(term.is_variable ? 0 : static_cast<std::int32_t>(term.output));
    }
    for (const auto& [key, value] : values(node, instance, row)) {
      taso::Parameter& parameter = *to.add_para();
      parameter.set_key(key);
      parameter.set_value(value);
    }
  }

  std::map<std::int32_t, std::int32_t> values(const Node& node, const OperatorInstance& instance,
                                              const TasoOperator& row) const {
    std::map<std::int32_t, std::int32_t> result(row.fixed.begin(), row.fixed.end());
    for (const auto& [name, value] : instance.parameters) {
      const auto known = row.parameters.find(name);
      if (known != row.parameters.end()) {
        for (const std::int32_t key : known->second.keys)
          result[key] = number_of(value, known->second, name + " of '" + row.name + "'");
        if (known->second.permutation) {
          result[*known->second.permutation] =
              static_cast<std::int32_t>(std::get<std::vector<std::int64_t>>(value).size());
        }
      } else if (bank_.library().default_value(row.name, name) != value) {
        throw NotExpressible{name + " of '" + row.name + "' has no number"};
      }
    }
    if (row.rank_key) result[*row.rank_key] = static_cast<std::int32_t>(instance.inputs.at(0).size());
    if (row.count_key) result[*row.count_key] = static_cast<std::int32_t>(node.arguments.size());
    if (row.outputs_key) result[*row.outputs_key] = static_cast<std::int32_t>(instance.outputs.size());
    if (row.post_operator_key) {
      const auto none = std::ranges::find(row.post_operators, std::string());
      result.try_emplace(*row.post_operator_key, static_cast<std::int32_t>(none - row.post_operators.begin()));
    }
    for (const auto& shape : row.shape_keys) {
      const TermId argument = node.arguments.at(shape.argument);
      if (const auto size = known_dimension(argument, shape.dimension))
        result[shape.key] = static_cast<std::int32_t>(*size);
    }
    return result;
  }

  std::optional<std::int64_t> known_dimension(TermId id, std::uint32_t dimension) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(rule_.variables, id) - rule_.variables.begin());
    if (at == rule_.variables.size()) return std::nullopt;
    return rule_.shapes[at].at(dimension).constant();
  }

  const Rule& rule_;
  const TasoTable& table_;
  const TermBank& bank_;
};

/// True if parsing the exported bytes gives the rule back. False if TASO's form loses a condition or a shape.
bool round_trips(const std::string& bytes, const Rule& rule, const TasoTable& table, Library& library, TermBank& bank,
                 Symbols& symbols) {
  for (const ImportedRule& reading : parse_taso_rules(bytes, "exported rules", table, library, bank, symbols)) {
    if (!reading.rule) continue;
    const auto typed = try_typing(*reading.rule, bank, symbols);
    if (typed && is_renaming_of(typed->rule, rule, bank, symbols)) return true;
  }
  return false;
}

}  // namespace

ExportedRules write_taso_rules(const std::vector<Rule>& rules, const TasoTable& table, Library& library, TermBank& bank,
                               Symbols& symbols) {
  ExportedRules file;
  for (const Rule& rule : rules) {
    try {
      taso::RuleCollection one;
      *one.add_rule() = RuleWriter(rule, table, bank).write();
      const std::string bytes = one.SerializeAsString();
      if (!round_trips(bytes, rule, table, library, bank, symbols))
        throw NotExpressible{"its condition or its shapes cannot be expressed"};
      file.text += bytes;
      file.written.push_back(rule.id);
    } catch (const NotExpressible& error) {
      file.skipped.push_back({rule.id, error.reason});
    }
  }
  return file;
}

}  // namespace rulemill::algebra
