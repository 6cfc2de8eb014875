#include "algebra/terms/any_rank.h"

#include <algorithm>

#include "algebra/language/group_lift.h"
#include "algebra/terms/moved_parameters.h"
#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

/// A rule or an operator that does not fit is no error here: there is no such rule.
struct NoSuchRule {};

std::vector<TermId> outputs_of(const Rule& rule) {
  std::vector<TermId> roots = rule.source;
  roots.insert(roots.end(), rule.target.begin(), rule.target.end());
  return roots;
}

std::optional<TypedRule> typed(const Rule& rule, TermBank& bank, Symbols& symbols) {
  auto types = infer_types(rule, bank, symbols);
  auto* result = std::get_if<TypedRule>(&types);
  if (result == nullptr || result->rule.shapes != rule.shapes) return std::nullopt;
  return std::move(*result);
}

std::vector<std::string> names_of_sizes(const TypedRule& rule, const Symbols& symbols) {
  std::vector<std::string> names;
  for (const auto& [term, shape] : rule.types) {
    for (const Poly& dim : shape) {
      for (const Atom atom : symbols.atoms(dim)) names.push_back(symbols.name(atom));
    }
  }
  return names;
}

/// Rebuilds a rule with other dimensions for the size that is a group.
class Regrouping {
 public:
  Regrouping(TypedRule rule, Atom group, std::uint32_t rank, Library& library, TermBank& bank, Symbols& symbols)
      : typed_(std::move(rule)), group_(group), rank_(rank), library_(library), bank_(bank), symbols_(symbols) {
    name_parts();
  }

  Rule run() {
    const Rule& rule = typed_.rule;
    Rule result;
    result.id = rule.id;
    result.tier = rule.tier;
    for (const Atom atom : rule.groups) {
      if (atom != group_) result.groups.push_back(atom);
    }
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      Shape shape = reshaped(rule.shapes[v]);
      const TermId variable =
          bank_.variable(bank_.term(rule.variables[v]).name, static_cast<std::uint32_t>(shape.size()));
      rebuilt_[rule.variables[v]] = variable;
      result.variables.push_back(variable);
      result.shapes.push_back(std::move(shape));
    }
    for (const NodeId node : bank_.nodes(outputs_of(rule))) rebuild(node);
    for (const TermId term : rule.source) result.source.push_back(rebuilt_.at(term));
    for (const TermId term : rule.target) result.target.push_back(rebuilt_.at(term));
    for (const SizeCondition& condition : rule.condition)
      result.condition.push_back(substitute(condition, product_, symbols_));
    return result;
  }

 private:
  void name_parts() {
    if (rank_ == 1) {
      parts_ = {Poly(group_)};
    } else {
      const std::vector<std::string> taken = names_of_sizes(typed_, symbols_);
      for (std::uint32_t k = 1; k <= rank_; ++k) {
        std::string name = symbols_.name(group_) + "_" + std::to_string(k);
        while (std::ranges::find(taken, name) != taken.end()) name += "_";
        parts_.emplace_back(symbols_.size(name));
      }
    }
    Poly product = 1;
    for (const Poly& part : parts_) product = product * part;
    product_[group_] = product;
  }

  bool is_group(const Poly& dim) const { return dim.atom() == group_; }

  std::vector<Poly> instead(const Poly& dim) {
    if (is_group(dim)) return parts_;
    return {symbols_.substitute(dim, product_)};
  }

  Shape reshaped(const Shape& shape) {
    Shape result;
    for (const Poly& dim : shape) {
      const std::vector<Poly> dims = instead(dim);
      result.insert(result.end(), dims.begin(), dims.end());
    }
    return result;
  }

  Counts counts(const Shape& shape) const {
    Counts result;
    for (const Poly& dim : shape) result.push_back(is_group(dim) ? rank_ : 1);
    return result;
  }

  /// The values of an instance's size slots at this node.
  std::vector<Poly> slots(const Node& node, const Instance& instance) const {
    std::vector<Poly> result(instance.size_names.size());
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      const Shape& shape = typed_.types.at(node.arguments[i]);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (instance.inputs[i][d]->kind == IndexExpr::Kind::Size) result[instance.inputs[i][d]->slot] = shape[d];
      }
    }
    std::ranges::copy(node.sizes, result.begin() + instance.first_size_parameter);
    return result;
  }

  void rebuild(NodeId id) {
    const Node node = bank_.node(id);
    const Instance& instance = library_.instance(node.instance);
    const std::vector<Poly> values = slots(node, instance);
    std::vector<bool> groups;
    for (const Poly& value : values) groups.push_back(is_group(value));
    dims_are_slots(id, instance, groups);
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : node.arguments) {
      arguments.push_back(rebuilt_.at(argument));
      ranks.push_back(rank_of(arguments.back()));
    }
    const auto [other, map] = lifted(id, instance, groups, ranks);
    std::vector<Poly> sizes(other->size_parameter_count());
    for (std::uint32_t slot = instance.first_size_parameter; slot < values.size(); ++slot) {
      const std::vector<Poly> now = instead(values[slot]);
      for (std::size_t k = 0; k < now.size(); ++k) sizes.at(map[slot].at(k) - other->first_size_parameter) = now[k];
    }
    const NodeId copy = bank_.apply(other->id, arguments, sizes);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) rebuilt_[bank_.output(id, o)] = bank_.output(copy, o);
  }

  /// A dimension of a result is the group if and only if it is a slot that is: computed sizes cannot be taken apart.
  void dims_are_slots(NodeId id, const Instance& instance, const std::vector<bool>& groups) {
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const Shape& shape = typed_.types.at(bank_.output(id, o));
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const IndexExpr& dim = *instance.outputs[o].dims[d];
        const bool slot = dim.kind == IndexExpr::Kind::Size && groups[dim.slot];
        if (slot != is_group(shape[d])) throw NoSuchRule{};
      }
    }
    for (const auto& input : instance.inputs) {
      for (const IndexExprPtr& dim : input) {
        const bool number = dim->kind == IndexExpr::Kind::Constant;
        if (!number && dim->kind != IndexExpr::Kind::Size) throw NoSuchRule{};
      }
    }
  }

  std::uint32_t rank_of(TermId id) const {
    const Term& term = bank_.term(id);
    if (term.is_variable) return term.rank;
    return static_cast<std::uint32_t>(bank_.instance_of(id).outputs[term.output].dims.size());
  }

  struct Lifted {
    const Instance* instance;
    SlotMap map;
  };

  Lifted lifted(NodeId id, const Instance& instance, const std::vector<bool>& groups,
                std::vector<std::uint32_t> ranks) {
    Counts by_slot;
    for (const bool group : groups) by_slot.push_back(group ? rank_ : 1);
    if (library_.has_open_rank(instance.operator_name)) {
      const std::size_t single = library_.size_parameter_names(instance.operator_name).size() - 1;
      const std::size_t end = instance.open.empty() ? instance.size_parameter_count() : instance.open[0].first;
      std::uint32_t length = 0;
      for (std::size_t p = single; p < end; ++p) length += by_slot[instance.first_size_parameter + p];
      ranks.push_back(length);
    }
    const std::vector<TermId>& arguments = bank_.node(id).arguments;
    const MovedParameters parameters(instance, library_,
                                     arguments.empty() ? Counts{} : counts(typed_.types.at(arguments[0])),
                                     counts(typed_.types.at(bank_.output(id, 0))));
    for (const bool scattered : {false, true}) {
      try {
        const Instance& other =
            library_.instantiate(instance.operator_name, parameters.moved(by_slot, scattered), ranks);
        if (auto map = group_lift(instance, groups, rank_, other)) return {&other, std::move(*map)};
      } catch (const runtime::InputError&) {  // no instance of these ranks and parameters
      }
    }
    throw NoSuchRule{};
  }

  TypedRule typed_;
  const Atom group_;
  const std::uint32_t rank_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::vector<Poly> parts_;
  Substitution product_;
  std::unordered_map<TermId, TermId> rebuilt_;
};

/// Rebuilds a rule with a dimension more in front of all, or behind them.
class Widening {
 public:
  Widening(TypedRule rule, bool in_front, Library& library, TermBank& bank, Symbols& symbols)
      : typed_(std::move(rule)), in_front_(in_front), library_(library), bank_(bank), symbols_(symbols) {}

  Rule run() {
    const Rule& rule = typed_.rule;
    Rule result;
    result.id = rule.id;
    result.tier = rule.tier;
    result.condition = rule.condition;
    const Poly fresh(symbols_.size(free_name()));
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      Shape shape = rule.shapes[v];
      shape.insert(in_front_ ? shape.begin() : shape.end(), fresh);
      const TermId variable =
          bank_.variable(bank_.term(rule.variables[v]).name, static_cast<std::uint32_t>(shape.size()));
      rebuilt_[rule.variables[v]] = variable;
      result.variables.push_back(variable);
      result.shapes.push_back(std::move(shape));
    }
    for (const NodeId node : bank_.nodes(outputs_of(rule))) rebuild(node);
    for (const TermId term : rule.source) result.source.push_back(rebuilt_.at(term));
    for (const TermId term : rule.target) result.target.push_back(rebuilt_.at(term));
    return result;
  }

 private:
  std::string free_name() const {
    const std::vector<std::string> taken = names_of_sizes(typed_, symbols_);
    std::string name = in_front_ ? "d" : "e";
    while (name[0] < 'z' && std::ranges::find(taken, name) != taken.end()) ++name[0];
    while (std::ranges::find(taken, name) != taken.end()) name += "_";
    return name;
  }

  void rebuild(NodeId id) {
    const Node node = bank_.node(id);
    const Instance& instance = library_.instance(node.instance);
    if (node.arguments.empty() || library_.has_open_rank(instance.operator_name)) throw NoSuchRule{};
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : node.arguments) {
      arguments.push_back(rebuilt_.at(argument));
      ranks.push_back(static_cast<std::uint32_t>(typed_.types.at(argument).size()) + 1);
    }
    const Instance& other = library_.instantiate(instance.operator_name, parameters(instance, ranks[0] - 1), ranks);
    std::vector<bool> groups(other.size_names.size());
    for (const auto& dims : other.inputs) {
      const IndexExpr& dim = in_front_ ? *dims.front() : *dims.back();
      if (dim.kind == IndexExpr::Kind::Size) groups[dim.slot] = true;
    }
    if (!group_lift(other, groups, 0, instance)) throw NoSuchRule{};
    const NodeId copy = bank_.apply(other.id, arguments, node.sizes);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) rebuilt_[bank_.output(id, o)] = bank_.output(copy, o);
  }

  /// Axes move behind a new first dimension; an order and a spread have an entry for the new one.
  Parameters parameters(const Instance& instance, std::int64_t rank) const {
    Parameters result = instance.parameters;
    for (auto& [name, value] : result) {
      const ParameterKind kind = library_.parameter_kind(instance.operator_name, name);
      auto* list = std::get_if<std::vector<std::int64_t>>(&value);
      const bool order = kind == ParameterKind::Permutation;
      const bool axes = order || kind == ParameterKind::Axes || kind == ParameterKind::NewAxes;
      if (kind == ParameterKind::Axis && in_front_) ++std::get<std::int64_t>(value);
      if (axes && in_front_) std::ranges::for_each(*list, [](std::int64_t& axis) { ++axis; });
      if (order || (kind == ParameterKind::Spread && !list->empty())) {
        const std::int64_t last = order ? rank : spread_whole, first = order ? 0 : spread_whole;
        list->insert(in_front_ ? list->begin() : list->end(), in_front_ ? first : last);
      }
    }
    return result;
  }

  TypedRule typed_;
  const bool in_front_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::unordered_map<TermId, TermId> rebuilt_;
};

/// Sizes that are a dimension of a variable, in order of first use.
std::vector<Atom> dimensions_of(const Rule& rule) {
  std::vector<Atom> result;
  for (const Shape& shape : rule.shapes) {
    for (const Poly& dim : shape) {
      const auto atom = dim.atom();
      if (atom && std::ranges::find(result, *atom) == result.end()) result.push_back(*atom);
    }
  }
  return result;
}

/// Whether `second` follows `first` wherever one of them is a dimension.
bool side_by_side(const TypedRule& rule, Atom first, Atom second) {
  bool met = false;
  for (const auto& typed : rule.types) {
    const Shape& shape = typed.second;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto is = [&](std::size_t at, Atom atom) { return at < shape.size() && shape[at].atom() == atom; };
      if (is(d, first) && !is(d + 1, second)) return false;
      if (is(d, second) && (d == 0 || !is(d - 1, first))) return false;
      met = met || is(d, first);
    }
  }
  return met;
}

}  // namespace

std::optional<Rule> with_rank(const Rule& rule, Atom group, std::uint32_t rank, Library& library, TermBank& bank,
                              Symbols& symbols) {
  try {
    auto types = typed(rule, bank, symbols);
    if (!types) return std::nullopt;
    Rule result = Regrouping(std::move(*types), group, rank, library, bank, symbols).run();
    return typed(result, bank, symbols) ? std::optional(std::move(result)) : std::nullopt;
  } catch (const NoSuchRule&) {
    return std::nullopt;
  } catch (const runtime::Error&) {  // a product of too many sizes
    return std::nullopt;
  }
}

Rule at_any_rank(const Rule& rule, Library& library, TermBank& bank, Symbols& symbols) {
  Rule result = rule;
  const auto is_group = [&](const Rule& of, Atom atom) { return with_rank(of, atom, 2, library, bank, symbols); };
  for (bool changed = true; changed;) {
    changed = false;
    result.groups.clear();
    for (const Atom atom : dimensions_of(result)) {
      if (is_group(result, atom)) result.groups.push_back(atom);
    }
    const auto types = typed(result, bank, symbols);
    for (const Atom first : types ? result.groups : std::vector<Atom>{}) {
      for (const Atom second : result.groups) {
        if (first == second || !side_by_side(*types, first, second)) continue;
        auto shorter = with_rank(result, second, 0, library, bank, symbols);
        if (!shorter || !is_group(*shorter, first)) continue;
        result = std::move(*shorter);
        changed = true;
        break;
      }
      if (changed) break;
    }
  }
  return result;
}

std::optional<Rule> widened(const Rule& rule, bool in_front, Library& library, TermBank& bank, Symbols& symbols) {
  auto types = typed(rule, bank, symbols);
  if (!types || rule.variables.empty()) return std::nullopt;
  try {
    Rule result = Widening(std::move(*types), in_front, library, bank, symbols).run();
    return typed(result, bank, symbols) ? std::optional(std::move(result)) : std::nullopt;
  } catch (const NoSuchRule&) {
    return std::nullopt;
  } catch (const runtime::Error&) {  // no instance of these ranks
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
