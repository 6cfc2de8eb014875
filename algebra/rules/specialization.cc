#include "algebra/rules/specialization.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/symbolic_parameters.h"

namespace rulemill::algebra {
namespace {

/// The highest rank of tensors in models.
constexpr std::uint32_t max_rank = 5;
/// Larger sizes of constants are not kernel sizes.
constexpr std::int64_t max_kernel_size = 11;
/// Maximum number of rounds. Operator instances created by the rules of one round can make rules apply in the next.
constexpr int max_rounds = 3;

/// Specializes rules for a growing set of available operator instances.
class Specializer {
 public:
  /// NewConcrete: only specializations without symbolic parameters and different from every known rule.
  enum class Mode : std::uint8_t { NewConcrete, All };

  Specializer(const UsedOperators& used, Mode mode, Library& library, TermBank& bank, Symbols& symbols,
              RankedRules& ranked)
      : available_(used.instances),
        constant_shapes_(used.constant_shapes),
        mode_(mode),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        ranked_(ranked) {
    update_operators();
    for (const auto& shape : constant_shapes_) {
      for (const std::int64_t size : shape) {
        if (size <= max_kernel_size) kernel_sizes_.insert(size);
      }
    }
  }

  /// Makes the operator instances of a rule that is not general available in the next round, if it applies.
  void add_concrete_rule(const RuleRecord& record) {
    if (applies(record.rule, record)) add_created_instances(record.rule);
  }
  /// Adds a known rule. False if an equal one is known: databases may have rules in common.
  bool add_if_new(const Rule& rule) {
    const std::string key = renaming_key(rule, bank_);
    const auto [begin, end] = known_rules_.equal_range(key);
    const auto is_equal = [&](const auto& known) { return is_renaming_of(known.second, rule, bank_, symbols_); };
    if (std::any_of(begin, end, is_equal)) return false;
    known_rules_.emplace(key, rule);
    return true;
  }

  /// The specializations that apply now and did not before. Empty for a rule that is not general.
  std::vector<RuleRecord> specializations_of(const RuleRecord& record) {
    std::vector<RuleRecord> found;
    if (!is_general(record.rule, bank_)) return found;
    if (!can_apply(record.rule.source) && !(record.reversible && can_apply(record.rule.target))) return found;
    const auto [known, is_new] = ranked_.try_emplace(record.rule.id);
    if (is_new && record.rule.packs.empty()) {
      known->second.emplace_back("", record.rule);
    } else if (is_new) {
      if (auto typed = with_types(record.rule, bank_, symbols_))
        add_ranks(std::move(*typed), 0, "", record.rule.packs, known->second);
    }
    for (const auto& [name, rule] : known->second) try_values(rule, name, record, found);
    return found;
  }

  /// Makes the instances that rules can create available. False if there are no new ones.
  bool next_round() {
    const std::size_t before = available_.size();
    available_.merge(created_);
    created_.clear();
    update_operators();
    return available_.size() > before;
  }

 private:
  void update_operators() {
    for (const InstanceId id : available_) operators_.insert(library_.instance(id).operator_name);
  }

  /// True if all operators of a side occur at some rank. Filters out most rules cheaply.
  bool can_apply(const std::vector<TermId>& side) const {
    return std::ranges::all_of(bank_.nodes(side), [&](NodeId id) {
      const Node& node = bank_.node(id);
      return is_free(node) || operators_.contains(library_.instance(node.instance).operator_name);
    });
  }

  /// Adds the rule at all ranks of the packs from `next` on.
  void add_ranks(ExpandedRule rule, std::size_t next, const std::string& name, const std::vector<Atom>& packs,
                 std::vector<std::pair<std::string, Rule>>& found) {
    if (next == packs.size()) return void(found.emplace_back(name, std::move(rule.rule)));
    for (std::uint32_t rank = 0; rank <= max_rank; ++rank) {
      auto other = expand_pack(rule.typed, packs[next], rank, library_, bank_, symbols_);
      const auto is_too_large = [](const Shape& shape) { return shape.size() > max_rank; };
      if (!other || std::ranges::any_of(other->rule.shapes, is_too_large)) continue;
      add_ranks(std::move(*other), next + 1, with_assignment(name, packs[next], std::to_string(rank)), packs, found);
    }
  }

  std::string with_assignment(const std::string& name, Atom atom, const std::string& value) const {
    return name + (name.empty() ? "@" : ",") + symbols_.name(atom) + "=" + value;
  }

  /// Tries all candidate values for the symbolic parameters.
  void try_values(const Rule& rule, const std::string& name, const RuleRecord& record, std::vector<RuleRecord>& found) {
    const std::vector<Atom> symbolic = symbolic_parameter_sizes(rule, bank_);
    if (symbolic.empty() || mode_ == Mode::All) add_specialization(rule, name, record, found);
    if (symbolic.empty()) return;
    for (const std::int64_t number : candidate_values(rule, symbolic[0])) {
      const auto other = substitute_sizes(rule, {{symbolic[0], Poly(number)}}, library_, bank_, symbols_);
      if (other) try_values(*other, with_assignment(name, symbolic[0], std::to_string(number)), record, found);
    }
  }

  /// The values of this symbolic parameter in the available instances that its nodes can become, given the values that
  /// other parameters have already; the kernel sizes if no instance of these operators is available.
  std::set<std::int64_t> candidate_values(const Rule& rule, Atom size) const {
    std::set<std::int64_t> sizes;
    bool is_known = false;
    for (const NodeId id : nodes_of(rule, bank_)) {
      const Node& node = bank_.node(id);
      for (const SymbolicParameter& symbolic : library_.instance(node.instance).symbolic_parameters) {
        for (std::uint32_t k = 0; k < symbolic.count; ++k) {
          if (node.sizes[symbolic.first + k].atom() == size) is_known |= add_values(node, symbolic, k, sizes);
        }
      }
    }
    return is_known ? sizes : kernel_sizes_;
  }

  /// Returns whether an instance of the operator is available.
  bool add_values(const Node& node, const SymbolicParameter& symbolic, std::uint32_t k,
                  std::set<std::int64_t>& sizes) const {
    bool is_known = false;
    for (const InstanceId id : available_) {
      const OperatorInstance& instance = library_.instance(id);
      if (instance.operator_name != library_.instance(node.instance).operator_name) continue;
      const std::vector<std::int64_t> numbers = numbers_of(instance, symbolic);
      is_known |= !numbers.empty();
      if (can_become(node, instance) && numbers[k] >= symbolic.min_value) sizes.insert(symbolic.to_size(numbers[k]));
    }
    return is_known;
  }

  /// The numbers of the parameter in an instance of the same operator; none if it is symbolic there, too.
  static std::vector<std::int64_t> numbers_of(const OperatorInstance& instance, const SymbolicParameter& symbolic) {
    const ParameterValue& value = instance.parameters.at(symbolic.name);
    if (const auto* number = std::get_if<std::int64_t>(&value)) return {*number};
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    return list == nullptr ? std::vector<std::int64_t>() : *list;
  }

  /// Whether some values of the symbolic parameters that are left make the node one of the instance.
  bool can_become(const Node& node, const OperatorInstance& instance) const {
    const OperatorInstance& own = library_.instance(node.instance);
    Parameters parameters = own.parameters;
    for (const SymbolicParameter& symbolic : own.symbolic_parameters) {
      const std::vector<std::int64_t> numbers = numbers_of(instance, symbolic);
      if (numbers.size() != symbolic.count) return false;
      for (std::uint32_t k = 0; k < symbolic.count; ++k) {
        const auto given = node.sizes[symbolic.first + k].constant();
        if (given && *given != symbolic.to_size(numbers[k])) return false;
      }
      parameters[symbolic.name] = instance.parameters.at(symbolic.name);
    }
    return parameters == instance.parameters;
  }

  void add_specialization(const Rule& rule, const std::string& name, const RuleRecord& record,
                          std::vector<RuleRecord>& found) {
    const std::string id = record.rule.id + name;
    if (tried_.contains(id)) return;
    if (mode_ == Mode::All && rule.source == record.rule.source && rule.target == record.rule.target) return;
    if (!applies(rule, record) || !creates_existing_shapes(rule)) return;
    tried_.insert(id);
    if (mode_ == Mode::NewConcrete && !add_if_new(rule)) return;
    RuleRecord& result = found.emplace_back(record);
    result.rule = rule;
    result.rule.id = id;
    result.rule.packs.clear();
    add_created_instances(rule);
  }

  /// True if every output with numeric dimensions of a new operator instance fits the shape of some constant: a kernel
  /// of 7 rows and 5 columns is useless in a model without one.
  bool creates_existing_shapes(const Rule& rule) const {
    const auto fits = [](const TensorDefinition& output, const std::vector<std::int64_t>& shape) {
      return std::ranges::equal(output.dims, shape, [](const IndexExprPtr& dim, std::int64_t size) {
        return dim->kind != IndexExpr::Kind::Constant || dim->value == 1 || dim->value == size;
      });
    };
    const auto fits_some_constant = [&](const TensorDefinition& output) {
      return std::ranges::any_of(constant_shapes_, [&](const auto& shape) { return fits(output, shape); });
    };
    const auto is_number = [](const IndexExprPtr& dim) {
      return dim->kind == IndexExpr::Kind::Constant && dim->value > 1;
    };
    const auto is_useful = [&](NodeId id) {
      if (available_.contains(bank_.node(id).instance)) return true;
      const std::vector<TensorDefinition>& outputs = library_.instance(bank_.node(id).instance).outputs;
      return std::ranges::all_of(outputs, [&](const TensorDefinition& output) {
        return std::ranges::none_of(output.dims, is_number) || fits_some_constant(output);
      });
    };
    return std::ranges::all_of(nodes_of(rule, bank_), is_useful);
  }

  void add_created_instances(const Rule& rule) {
    for (const NodeId node : nodes_of(rule, bank_)) created_.insert(bank_.node(node).instance);
  }

  bool applies(const Rule& rule, const RuleRecord& record) const {
    return has_all_instances(rule.source) || (record.reversible && has_all_instances(rule.target));
  }

  bool has_all_instances(const std::vector<TermId>& side) const {
    const std::vector<NodeId> nodes = bank_.nodes(side);
    return !nodes.empty() && std::ranges::all_of(nodes, [&](NodeId node) { return is_available(bank_.node(node)); });
  }

  /// True for constants, which can be created, and for positive(), which matches any positive tensor.
  bool is_free(const Node& node) const {
    return node.arguments.empty() || is_positive_operator(library_.instance(node.instance));
  }
  bool is_available(const Node& node) const { return is_free(node) || available_.contains(node.instance); }

  std::set<InstanceId> available_, created_;
  std::set<std::string> operators_;      // of the available instances
  std::set<std::int64_t> kernel_sizes_;  // the smaller sizes of constants
  const std::set<std::vector<std::int64_t>>& constant_shapes_;
  const Mode mode_;
  std::set<std::string> tried_;
  std::multimap<std::string, Rule> known_rules_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  RankedRules& ranked_;
};

}  // namespace

bool is_general(const Rule& rule, const TermBank& bank) {
  return !rule.packs.empty() || !symbolic_parameter_sizes(rule, bank).empty();
}

std::vector<RuleRecord> specialize(const std::vector<RuleRecord>& rules, const UsedOperators& used, Library& library,
                                   TermBank& bank, Symbols& symbols, RankedRules& ranked) {
  std::vector<RuleRecord> result;
  std::vector<const RuleRecord*> general, concrete;
  for (const RuleRecord& record : rules) (is_general(record.rule, bank) ? general : concrete).push_back(&record);
  Specializer specializer(used, Specializer::Mode::NewConcrete, library, bank, symbols, ranked);
  for (const RuleRecord* record : concrete) {
    if (general.empty() || specializer.add_if_new(record->rule)) result.push_back(*record);
  }
  for (int round = 0; round < max_rounds && !general.empty(); ++round) {
    for (const RuleRecord* record : concrete) specializer.add_concrete_rule(*record);
    for (const RuleRecord* record : general) {
      for (RuleRecord& each : specializer.specializations_of(*record)) result.push_back(std::move(each));
    }
    if (!specializer.next_round()) break;
  }
  return result;
}

std::vector<std::vector<RuleRecord>> specializations_within(const std::vector<RuleRecord>& rules, Library& library,
                                                            TermBank& bank, Symbols& symbols) {
  UsedOperators used;
  for (const RuleRecord& record : rules) {
    for (const NodeId node : nodes_of(record.rule, bank)) used.instances.insert(bank.node(node).instance);
  }
  RankedRules ranked;
  Specializer specializer(used, Specializer::Mode::All, library, bank, symbols, ranked);
  std::vector<std::vector<RuleRecord>> result;
  for (const RuleRecord& record : rules) result.push_back(specializer.specializations_of(record));
  return result;
}

std::optional<Rule> specialize_by_name(const Rule& rule, std::string_view name, Library& library, TermBank& bank,
                                       Symbols& symbols) {
  Rule result = rule;
  Substitution sizes;
  while (!name.empty()) {
    name.remove_prefix(1);
    const std::size_t end = std::min(name.find(','), name.size()), sign = name.find('=');
    if (sign >= end) return std::nullopt;
    const Atom atom = symbols.size(std::string(name.substr(0, sign)));
    std::int64_t value = -1;
    const std::string_view digits = name.substr(sign + 1, end - sign - 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || value < 0) return std::nullopt;
    name.remove_prefix(end);
    if (std::ranges::find(rule.packs, atom) == rule.packs.end()) {
      sizes[atom] = Poly(value);
      continue;
    }
    auto other = value <= max_rank
                     ? expand_pack(result, atom, static_cast<std::uint32_t>(value), library, bank, symbols)
                     : std::nullopt;
    if (!other) return std::nullopt;
    result = std::move(*other);
  }
  const std::vector<Atom> symbolic = symbolic_parameter_sizes(result, bank);
  const auto is_symbolic = [&](const auto& size) { return std::ranges::find(symbolic, size.first) != symbolic.end(); };
  if (!std::ranges::all_of(sizes, is_symbolic)) return std::nullopt;
  result.packs.clear();
  if (sizes.empty()) return result;
  return substitute_sizes(result, sizes, library, bank, symbols);
}

}  // namespace rulemill::algebra
