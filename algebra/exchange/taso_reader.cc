
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <map>

#include "algebra/exchange/readings.h"
#include "algebra/exchange/taso_reader.h"
#include "runtime/text/error.h"
#include "taso_rules.pb.h"

namespace rulemill::algebra {
namespace {

constexpr std::uint32_t max_rank = 4;
constexpr std::size_t max_rankings = 8;

/// An error within one rule. The other rules can still be read.
struct RuleProblem {
  std::string what;
};

/// The values of an operator's parameters by number.
class ParameterNumbers {
 public:
  explicit ParameterNumbers(const taso::Operator& op, const std::string& where) : where_(where) {
    for (const taso::Parameter& each : op.para()) values_[each.key()] = each.value();
  }

  std::int32_t at(std::int32_t key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw RuleProblem{fmt::format("{} has no parameter {}", where_, key)};
    return found->second;
  }
  bool has(std::int32_t key) const { return values_.contains(key); }
  const std::map<std::int32_t, std::int32_t>& all() const { return values_; }

 private:
  std::string where_;
  std::map<std::int32_t, std::int32_t> values_;
};

std::vector<std::int64_t> permutation(std::int64_t digits, std::int64_t axes, const std::string& where) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(std::clamp<std::int64_t>(axes, 0, 8)));
  for (std::size_t i = result.size(); i-- > 0; digits /= axes) result[i] = digits % axes;
  if (digits != 0 || static_cast<std::int64_t>(result.size()) != axes)
    throw RuleProblem{fmt::format("{}: its permutation does not fit {} axes", where, axes)};
  return result;
}

class RuleReader {
 public:
  RuleReader(const taso::Rule& from, const TasoTable& table, Library& library, TermBank& bank, Symbols& symbols)
      : from_(from), table_(table), library_(library), bank_(bank), symbols_(symbols) {}

  /// Returns the rule with each matching assignment of ranks to its inputs. Throws Problem.
  std::vector<Rule> read() {
    source_ = order(from_.srcop(), "source");
    target_ = order(from_.dstop(), "target");
    check_outputs();
    check_inputs();
    try_ranks(0);
    if (rankings_.empty()) throw RuleProblem{first_mismatch_.empty() ? "no ranks of its inputs fit" : first_mismatch_};
    return std::move(rankings_);
  }

 private:
  struct OrderedOperator {
    const taso::Operator* op = nullptr;
    const TasoOperator* row = nullptr;
    std::string where;
    int index = 0;
  };
  struct BuiltOperator {
    NodeId node{};
    TermId term{};
    bool has_post_operator = false;  // the result is `term`
  };
  using Operators = google::protobuf::RepeatedPtrField<taso::Operator>;

  /// The operators of a side, arguments before users.
  std::vector<OrderedOperator> order(const Operators& operators, const std::string& side) const {
    std::vector<OrderedOperator> result;
    std::vector<int> state(static_cast<std::size_t>(operators.size()), 0);  // 0 new, 1 being visited, 2 done
    const auto visit = [&](const auto& self, int index) -> void {
      const std::string where = side + " operator " + std::to_string(index);
      int& mark = state[static_cast<std::size_t>(index)];
      if (mark == 2) return;
      if (mark == 1)
        throw RuleProblem{where + " takes an output that depends on its own: expected a graph without cycles"};
      mark = 1;
      const taso::Operator& op = operators[index];
      for (const taso::Tensor& input : op.input()) {
        if (input.opid() >= operators.size()) {
          throw RuleProblem{fmt::format("{} takes an output of operator {}; expected one of {}, from 0", where,
                                        input.opid(), operators.size())};
        }
        if (input.opid() >= 0) self(self, input.opid());
      }
      const TasoOperator* row = table_.find(op.type());
      if (row == nullptr)
        throw RuleProblem{fmt::format("{} has type {}, which {} does not have", where, op.type(), table_.origin())};
      mark = 2;
      result.push_back({&op, row, where, index});
    };
    for (int i = 0; i < operators.size(); ++i) visit(visit, i);
    return result;
  }

  void check_outputs() const {
    if (from_.mappedoutput().empty()) throw RuleProblem{"maps no output of its source to one of its target"};
    for (int i = 0; i < from_.mappedoutput_size(); ++i) {
      const taso::MapOutput& map = from_.mappedoutput(i);
      const auto check = [&](int op, int output, const Operators& operators, const std::string& side) {
        const std::string what = fmt::format("mapped output {} is output {} of {} operator {}", i, output, side, op);
        if (op < 0 || op >= operators.size())
          throw RuleProblem{fmt::format("{}; expected one of {} operators, from 0", what, operators.size())};
      };
      check(map.srcopid(), map.srctsid(), from_.srcop(), "source");
      check(map.dstopid(), map.dsttsid(), from_.dstop(), "target");
    }
  }

  void check_inputs() {
    const auto collect = [](const std::vector<OrderedOperator>& ordered) {
      std::vector<std::int32_t> inputs;
      for (const OrderedOperator& current : ordered) {
        for (const taso::Tensor& input : current.op->input()) {
          if (input.opid() < 0 && std::ranges::find(inputs, input.opid()) == inputs.end())
            inputs.push_back(input.opid());
        }
      }
      return inputs;
    };
    inputs_ = collect(source_);
    for (const std::int32_t input : collect(target_)) {
      if (std::ranges::find(inputs_, input) != inputs_.end()) continue;
      throw RuleProblem{fmt::format("its target uses input {}, which its source does not have", -std::int64_t{input})};
    }
  }

  /// Tries all ranks for the inputs from number `next` on, lowest first.
  void try_ranks(std::size_t next) {
    if (rankings_.size() >= max_rankings) return;
    if (!extend_partial_rule(next)) return;
    if (next == inputs_.size()) return;
    for (std::uint32_t rank = 0; rank <= max_rank; ++rank) {
      ranks_[inputs_[next]] = rank;
      try_ranks(next + 1);
    }
    ranks_.erase(inputs_[next]);
  }

  /// Builds the operators whose ranks are known, and the rule if all are. False if the ranks do not match.
  bool extend_partial_rule(std::size_t known) {
    const bool all = known == inputs_.size();
    try {
      std::map<int, BuiltOperator> source, target;
      const bool complete = build(source_, source) && build(target_, target);
      if (!all || !complete) return true;
      rankings_.push_back(infer_split_positions(rule(source, target), bank_, symbols_));
      return true;
    } catch (const RuleProblem& problem) {
      throw;
    } catch (const RankMismatch& misfit) {
      if (all || first_mismatch_.empty()) first_mismatch_ = misfit.what;
      return false;
    }
  }

  /// These ranks do not match; others may.
  struct RankMismatch {
    std::string what;
  };

  Rule rule(const std::map<int, BuiltOperator>& source, const std::map<int, BuiltOperator>& target) {
    Rule result;
    for (const std::int32_t input : inputs_) result.variables.push_back(variable(input));
    for (const taso::MapOutput& map : from_.mappedoutput()) {
      result.source.push_back(
          output(source.at(map.srcopid()), map.srctsid(), "source operator " + std::to_string(map.srcopid())));
      result.target.push_back(
          output(target.at(map.dstopid()), map.dsttsid(), "target operator " + std::to_string(map.dstopid())));
    }
    for (std::size_t i = 0; i < result.source.size(); ++i) {
      if (bank_.rank(result.source[i]) != bank_.rank(result.target[i]))
        throw RankMismatch{fmt::format("mapped output {} has another rank on the left than on the right", i)};
    }
    return result;
  }

  TermId variable(std::int32_t input) {
    return bank_.variable("x" + std::to_string(-std::int64_t{input}), ranks_.at(input));
  }

  TermId output(const BuiltOperator& built, std::int32_t number, const std::string& where) {
    const std::size_t count =
        built.has_post_operator ? 1 : library_.instance(bank_.node(built.node).instance).outputs.size();
    if (number < 0 || static_cast<std::size_t>(number) >= count)
      throw RuleProblem{fmt::format("{} has no output {}; expected one of {}, from 0", where, number, count)};
    return built.has_post_operator ? built.term : bank_.output(built.node, static_cast<std::uint32_t>(number));
  }

  /// Builds the operators whose inputs all have ranks. False if others remain.
  bool build(const std::vector<OrderedOperator>& ordered, std::map<int, BuiltOperator>& built) {
    bool complete = true;
    for (const OrderedOperator& current : ordered) {
      std::vector<TermId> arguments;
      for (const taso::Tensor& input : current.op->input()) {
        if (input.opid() < 0 && ranks_.contains(input.opid())) arguments.push_back(variable(input.opid()));
        const auto found = input.opid() < 0 ? built.end() : built.find(input.opid());
        if (found != built.end())
          arguments.push_back(
              output(found->second, input.tsid(), current.where + ": operator " + std::to_string(input.opid())));
      }
      if (static_cast<int>(arguments.size()) < current.op->input_size())
        complete = false;
      else
        built[current.index] = apply(current, std::move(arguments));
    }
    return complete;
  }

  BuiltOperator apply(const OrderedOperator& current, std::vector<TermId> arguments) {
    const TasoOperator& row = *current.row;
    const ParameterNumbers values(*current.op, current.where);
    check_parameters(current, values);
    std::vector<std::uint32_t> allowed = row.ranks;
    if (row.rank_key) allowed = {static_cast<std::uint32_t>(values.at(*row.rank_key))};
    if (!arguments.empty() && !allowed.empty() && std::ranges::find(allowed, bank_.rank(arguments[0])) == allowed.end())
      throw RankMismatch{fmt::format("{} takes no tensor of rank {}", current.where, bank_.rank(arguments[0]))};
    const std::uint32_t arity = library_.arity(row.name);
    const std::size_t count = arguments.size();
    const bool folds = row.count_key && arity == 2 && count > 2;
    if (count != arity && !folds)
      throw RuleProblem{fmt::format("{} has {} inputs; '{}' takes {}", current.where, count, row.name, arity)};
    const Parameters parameters = read_parameters(current, values);
    BuiltOperator result{
        node(current, parameters, std::span(arguments).first(std::min<std::size_t>(count, arity))), {}, false};
    for (std::size_t i = arity; i < count; ++i) {
      const TermId both[] = {bank_.output(result.node, 0), arguments[i]};
      result.node = node(current, parameters, both);
    }
    if (row.outputs_key) {
      const std::size_t outputs = library_.instance(bank_.node(result.node).instance).outputs.size();
      if (static_cast<std::size_t>(values.at(*row.outputs_key)) != outputs) {
        throw RuleProblem{fmt::format("{} has {} outputs; '{}' has {}", current.where, values.at(*row.outputs_key),
                                      row.name, outputs)};
      }
    }
    apply_post_operator(current, values, result);
    return result;
  }

  void apply_post_operator(const OrderedOperator& current, const ParameterNumbers& values, BuiltOperator& built) {
    const TasoOperator& row = *current.row;
    if (!row.post_operator_key || !values.has(*row.post_operator_key)) return;
    const std::int32_t value = values.at(*row.post_operator_key);
    if (value < 0 || static_cast<std::size_t>(value) >= row.post_operators.size()) {
      throw RuleProblem{fmt::format("{} has the value {} for parameter {}; {} knows {} values, from 0", current.where,
                                    value, *row.post_operator_key, table_.origin(), row.post_operators.size())};
    }
    const std::string& name = row.post_operators[static_cast<std::size_t>(value)];
    if (name.empty()) return;
    const TermId argument = bank_.output(built.node, 0);
    const std::uint32_t rank = bank_.rank(argument);
    built.term = bank_.output(bank_.apply(library_.instantiate(name, {}, {{rank}}).id, {{argument}}, {}), 0);
    built.has_post_operator = true;
  }

  NodeId node(const OrderedOperator& current, const Parameters& parameters, std::span<const TermId> arguments) {
    const std::string& name = current.row->name;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : arguments) ranks.push_back(bank_.rank(argument));
    const std::vector<std::string> size_names = library_.size_parameter_names(name);
    const bool open_rank = std::ranges::any_of(size_names, [](const auto& size) { return size.ends_with("..."); });
    if (arguments.empty() && open_rank) ranks = {current.row->ranks.empty() ? max_rank : current.row->ranks[0]};
    if (!arguments.empty() && !library_.accepts_ranks(name, ranks))
      throw RankMismatch{current.where + ": '" + name + "' does not take inputs of these ranks"};
    try {
      const OperatorInstance& instance = library_.instantiate(name, parameters, ranks);
      std::vector<Poly> sizes;
      for (std::uint32_t i = 0; i < instance.size_parameter_count(); ++i) sizes.emplace_back(symbols_.open_size("s"));
      return bank_.apply(instance.id, arguments, sizes);
    } catch (const runtime::InputError& error) {
      throw RankMismatch{current.where + ": " + error.what()};
    }
  }

  /// Rejects unsupported values and unknown parameters.
  void check_parameters(const OrderedOperator& current, const ParameterNumbers& values) const {
    const TasoOperator& row = *current.row;
    for (const auto& [key, value] : row.fixed) {
      if (values.has(key) && values.at(key) != value) {
        throw RuleProblem{fmt::format("{} has the value {} for parameter {}; only {} is supported", current.where,
                                      values.at(key), key, value)};
      }
    }
    if (row.count_key && values.has(*row.count_key) && values.at(*row.count_key) != current.op->input_size())
      throw RuleProblem{fmt::format("{} has {} inputs, and its parameter for their number is {}", current.where,
                                    current.op->input_size(), values.at(*row.count_key))};
    for (const auto& [key, value] : values.all()) {
      const auto is = [k = key](std::optional<std::int32_t> known) { return known && *known == k; };
      bool known = is(row.rank_key) || is(row.count_key) || is(row.outputs_key) || is(row.post_operator_key);
      known |= std::ranges::find(row.ignored, key) != row.ignored.end();
      known |= std::ranges::any_of(row.fixed, [k = key](const auto& pair) { return pair.first == k; });
      known |= std::ranges::any_of(row.shape_keys, [k = key](const auto& shape) { return shape.key == k; });
      for (const auto& [name, parameter] : row.parameters)
        known |= std::ranges::find(parameter.keys, key) != parameter.keys.end() || is(parameter.permutation);
      if (!known)
        throw RuleProblem{fmt::format("{} has parameter {}, which {} does not list for '{}'", current.where, key,
                                      table_.origin(), row.name)};
    }
  }

  Parameters read_parameters(const OrderedOperator& current, const ParameterNumbers& values) const {
    Parameters result;
    for (const auto& [name, parameter] : current.row->parameters) {
      const std::int32_t value = values.at(parameter.keys[0]);
      for (const std::int32_t key : parameter.keys) {
        if (values.at(key) == value) continue;
        throw RuleProblem{fmt::format("{} has two values for {} of '{}': {} and {}", current.where, name,
                                      current.row->name, value, values.at(key))};
      }
      if (parameter.permutation) {
        result[name] = permutation(value, values.at(*parameter.permutation), current.where);
      } else if (parameter.enum_values.empty()) {
        result[name] = std::int64_t{value};
      } else if (value >= 0 && static_cast<std::size_t>(value) < parameter.enum_values.size() &&
                 !parameter.enum_values[static_cast<std::size_t>(value)].empty()) {
        result[name] = parameter.enum_values[static_cast<std::size_t>(value)];
      } else {
        throw RuleProblem{fmt::format("{} has the value {} for parameter {}, which {} does not map to a value",
                                      current.where, value, parameter.keys[0], table_.origin())};
      }
    }
    return result;
  }

  const taso::Rule& from_;
  const TasoTable& table_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::vector<OrderedOperator> source_, target_;
  std::vector<std::int32_t> inputs_;  // as numbered in the file, in order of first use
  std::map<std::int32_t, std::uint32_t> ranks_;
  std::vector<Rule> rankings_;
  std::string first_mismatch_;
};

}  // namespace

bool is_binary(std::string_view bytes) {
  return std::ranges::any_of(bytes, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\t' && c != '\r'; });
}

std::vector<ImportedRule> parse_taso_rules(std::string_view bytes, const std::string& origin, const TasoTable& table,
                                           Library& library, TermBank& bank, Symbols& symbols) {
  const google::protobuf::LogSilencer quiet;  // this function reports errors itself
  taso::RuleCollection from;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw runtime::InputError(origin, "is no collection of rules in TASO's protobuf form, or is cut short");
  std::vector<ImportedRule> rules;
  for (int i = 0; i < from.rule_size(); ++i) {
    const std::string name = "t" + std::to_string(i + 1), where = origin + ": rule " + std::to_string(i + 1);
    const auto read = [&] {
      try {
        return RuleReader(from.rule(i), table, library, bank, symbols).read();
      } catch (const RuleProblem& problem) {
        throw runtime::InputError(where, problem.what);
      }
    };
    append_readings(name, where, read, rules);
  }
  return rules;
}

}  // namespace rulemill::algebra
