#include "algebra/rules/general_rules.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/open_parameters.h"
#include "algebra/terms/rule_renaming.h"

namespace rulemill::algebra {
namespace {

/// No group gets more dimensions than tensors of models have.
constexpr std::uint32_t highest_rank = 5;
/// Sizes of constants beyond this are no kernels.
constexpr std::int64_t largest_kernel = 11;
/// Rounds in which what rules make lets further instances apply.
constexpr int most_rounds = 3;

class Instances {
 public:
  /// Whether an instance that an earlier rule has, too, counts, and one whose parameters stay open.
  enum class Wanted : std::uint8_t { NewAndFixed, All };

  Instances(const Occurrences& found, Wanted wanted, Library& library, TermBank& bank, Symbols& symbols)
      : present_(found.instances),
        shapes_(found.shapes),
        wanted_(wanted),
        library_(library),
        bank_(bank),
        symbols_(symbols) {
    name_operators();
    for (const auto& shape : shapes_) {
      for (const std::int64_t size : shape) {
        if (size <= largest_kernel) numbers_.insert(size);
      }
    }
  }

  /// A rule that is not general: what it makes is there, too, where it applies.
  void note(const RuleRecord& record) {
    if (applies(record.rule, record)) note_made(record.rule);
  }
  /// False if it is known: databases may have rules in common.
  bool know(const Rule& rule) {
    const std::string key = renaming_key(rule, bank_);
    const auto [begin, end] = known_.equal_range(key);
    const auto same = [&](const auto& known) { return same_rule(known.second, rule, bank_, symbols_); };
    if (std::any_of(begin, end, same)) return false;
    known_.emplace(key, rule);
    return true;
  }

  /// Those that can be applied now and could not before. Of a rule that is not general: none.
  std::vector<RuleRecord> of(const RuleRecord& record) {
    std::vector<RuleRecord> found;
    if (!is_general(record.rule, bank_)) return found;
    const bool may = may_apply(record.rule.source) || (record.reversible && may_apply(record.rule.target));
    if (may) try_ranks(record.rule, 0, "", record, found);
    return found;
  }

  /// What the rules found so far make; whether there is any.
  bool grow() {
    const std::size_t before = present_.size();
    present_.merge(made_);
    made_.clear();
    name_operators();
    return present_.size() > before;
  }

 private:
  void name_operators() {
    for (const InstanceId id : present_) operators_.insert(library_.instance(id).operator_name);
  }

  /// Whether all operators of a side occur, whatever their ranks: most rules are of operators that a model has not.
  bool may_apply(const std::vector<TermId>& side) const {
    return std::ranges::all_of(bank_.nodes(side), [&](NodeId id) {
      const Node& node = bank_.node(id);
      return needs_no_operator(node) || operators_.contains(library_.instance(node.instance).operator_name);
    });
  }

  /// Ranks for the groups one after the other.
  void try_ranks(const Rule& rule, std::size_t next, const std::string& name, const RuleRecord& record,
                 std::vector<RuleRecord>& found) {
    if (next == record.rule.groups.size()) return try_numbers(rule, name, record, found);
    const Atom group = record.rule.groups[next];
    for (std::uint32_t rank = 0; rank <= highest_rank; ++rank) {
      const auto other = with_rank(rule, group, rank, library_, bank_, symbols_);
      if (!other || too_high(*other)) continue;
      try_ranks(*other, next + 1, extended(name, group, std::to_string(rank)), record, found);
    }
  }

  bool too_high(const Rule& rule) const {
    return std::ranges::any_of(rule.shapes, [](const Shape& shape) { return shape.size() > highest_rank; });
  }

  std::string extended(const std::string& name, Atom atom, const std::string& value) const {
    return name + (name.empty() ? "@" : ",") + symbols_.name(atom) + "=" + value;
  }

  /// Numbers for the open parameters one after the other: those that they have somewhere.
  void try_numbers(const Rule& rule, const std::string& name, const RuleRecord& record,
                   std::vector<RuleRecord>& found) {
    const std::vector<Atom> open = open_sizes(rule, bank_);
    if (open.empty() || wanted_ == Wanted::All) take(rule, name, record, found);
    if (open.empty()) return;
    for (const std::int64_t number : numbers_for(rule, open[0])) {
      const auto other = with_sizes(rule, {{open[0], Poly(number)}}, library_, bank_, symbols_);
      if (other) try_numbers(*other, extended(name, open[0], std::to_string(number)), record, found);
    }
  }

  /// What the parameter that this size is has as value in an operator that is present; of one that is not, the numbers
  /// that occur.
  std::set<std::int64_t> numbers_for(const Rule& rule, Atom size) const {
    std::set<std::int64_t> numbers;
    for (const auto* side : {&rule.source, &rule.target}) {
      for (const NodeId id : bank_.nodes(*side)) {
        const Node& node = bank_.node(id);
        const Instance& instance = library_.instance(node.instance);
        for (const OpenParameter& open : instance.open) {
          for (std::uint32_t k = 0; k < open.count; ++k) {
            if (node.sizes[open.first + k].atom() == size) note_sizes(instance.operator_name, open, k, numbers);
          }
        }
      }
    }
    return numbers.empty() ? numbers_ : numbers;
  }

  void note_sizes(const std::string& op, const OpenParameter& open, std::uint32_t k,
                  std::set<std::int64_t>& sizes) const {
    const auto note = [&](std::int64_t number) {
      if (number >= open.least) sizes.insert(open.size_of(number));
    };
    for (const InstanceId id : present_) {
      const Instance& instance = library_.instance(id);
      const auto value = instance.parameters.find(open.name);
      if (instance.operator_name != op || value == instance.parameters.end()) continue;
      if (const auto* number = std::get_if<std::int64_t>(&value->second)) note(*number);
      const auto* list = std::get_if<std::vector<std::int64_t>>(&value->second);
      if (list != nullptr && k < list->size()) note((*list)[k]);
    }
  }

  void take(const Rule& rule, const std::string& name, const RuleRecord& record, std::vector<RuleRecord>& found) {
    const std::string id = record.rule.id + name;
    if (taken_.contains(id)) return;
    if (wanted_ == Wanted::All && rule.source == record.rule.source && rule.target == record.rule.target) return;
    if (!applies(rule, record) || !makes_what_occurs(rule)) return;
    taken_.insert(id);
    if (wanted_ == Wanted::NewAndFixed && !know(rule)) return;
    RuleRecord& result = found.emplace_back(record);
    result.rule = rule;
    result.rule.id = id;
    result.rule.groups.clear();
    note_made(rule);
  }

  /// Whether each operator that is not there makes what some constant could be added to: a kernel of 7 rows and 5
  /// columns is of no use where there is none.
  bool makes_what_occurs(const Rule& rule) const {
    const auto as_type_says = [](const TensorDefinition& made, const std::vector<std::int64_t>& shape) {
      return std::ranges::equal(made.dims, shape, [](const IndexExprPtr& dim, std::int64_t size) {
        return dim->kind != IndexExpr::Kind::Constant || dim->value == 1 || dim->value == size;
      });
    };
    const auto occurs = [&](const TensorDefinition& made) {
      return std::ranges::any_of(shapes_, [&](const auto& shape) { return as_type_says(made, shape); });
    };
    const auto is_number = [](const IndexExprPtr& dim) {
      return dim->kind == IndexExpr::Kind::Constant && dim->value > 1;
    };
    const auto may_be_of_use = [&](NodeId id) {
      if (present_.contains(bank_.node(id).instance)) return true;
      const std::vector<TensorDefinition>& outputs = library_.instance(bank_.node(id).instance).outputs;
      return std::ranges::all_of(
          outputs, [&](const auto& made) { return std::ranges::none_of(made.dims, is_number) || occurs(made); });
    };
    return std::ranges::all_of(bank_.nodes(rule.source), may_be_of_use) &&
           std::ranges::all_of(bank_.nodes(rule.target), may_be_of_use);
  }

  void note_made(const Rule& rule) {
    for (const auto* side : {&rule.source, &rule.target}) {
      for (const NodeId node : bank_.nodes(*side)) made_.insert(bank_.node(node).instance);
    }
  }

  bool applies(const Rule& rule, const RuleRecord& record) const {
    return covered(rule.source) || (record.reversible && covered(rule.target));
  }

  bool covered(const std::vector<TermId>& side) const {
    const std::vector<NodeId> nodes = bank_.nodes(side);
    return !nodes.empty() && std::ranges::all_of(nodes, [&](NodeId node) { return is_present(bank_.node(node)); });
  }

  /// Constants are made, and what is positive is a tensor of whatever operator.
  bool needs_no_operator(const Node& node) const {
    return node.arguments.empty() || is_positives(library_.instance(node.instance));
  }
  bool is_present(const Node& node) const { return needs_no_operator(node) || present_.contains(node.instance); }

  std::set<InstanceId> present_, made_;
  std::set<std::string> operators_;  // of those that are present
  std::set<std::int64_t> numbers_;   // the smaller sizes of constants
  const std::set<std::vector<std::int64_t>>& shapes_;
  const Wanted wanted_;
  std::set<std::string> taken_;
  std::multimap<std::string, Rule> known_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
};

}  // namespace

bool is_general(const Rule& rule, const TermBank& bank) {
  return !rule.groups.empty() || !open_sizes(rule, bank).empty();
}

std::vector<RuleRecord> at_instances(const std::vector<RuleRecord>& rules, const Occurrences& found, Library& library,
                                     TermBank& bank, Symbols& symbols) {
  std::vector<RuleRecord> result;
  std::vector<const RuleRecord*> general, others;
  for (const RuleRecord& record : rules) (is_general(record.rule, bank) ? general : others).push_back(&record);
  Instances instances(found, Instances::Wanted::NewAndFixed, library, bank, symbols);
  for (const RuleRecord* record : others) {
    if (general.empty() || instances.know(record->rule)) result.push_back(*record);
  }
  for (int round = 0; round < most_rounds && !general.empty(); ++round) {
    for (const RuleRecord* record : others) instances.note(*record);
    for (const RuleRecord* record : general) {
      for (RuleRecord& each : instances.of(*record)) result.push_back(std::move(each));
    }
    if (!instances.grow()) break;
  }
  return result;
}

std::vector<std::vector<RuleRecord>> instances_within(const std::vector<RuleRecord>& rules, Library& library,
                                                      TermBank& bank, Symbols& symbols) {
  Occurrences found;
  for (const RuleRecord& record : rules) {
    for (const auto* side : {&record.rule.source, &record.rule.target}) {
      for (const NodeId node : bank.nodes(*side)) found.instances.insert(bank.node(node).instance);
    }
  }
  Instances instances(found, Instances::Wanted::All, library, bank, symbols);
  std::vector<std::vector<RuleRecord>> result;
  for (const RuleRecord& record : rules) result.push_back(instances.of(record));
  return result;
}

std::optional<Rule> instance_named(const Rule& rule, std::string_view name, Library& library, TermBank& bank,
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
    if (std::ranges::find(rule.groups, atom) == rule.groups.end()) {
      sizes[atom] = Poly(value);
      continue;
    }
    auto other = value <= highest_rank
                     ? with_rank(result, atom, static_cast<std::uint32_t>(value), library, bank, symbols)
                     : std::nullopt;
    if (!other) return std::nullopt;
    result = std::move(*other);
  }
  const std::vector<Atom> open = open_sizes(result, bank);
  const auto is_open = [&](const auto& size) { return std::ranges::find(open, size.first) != open.end(); };
  if (!std::ranges::all_of(sizes, is_open)) return std::nullopt;
  result.groups.clear();
  if (sizes.empty()) return result;
  return with_sizes(result, sizes, library, bank, symbols);
}

}  // namespace rulemill::algebra
