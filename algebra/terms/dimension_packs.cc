#include "algebra/terms/dimension_packs.h"

#include <algorithm>

#include "algebra/operators/rank_lifting.h"
#include "algebra/terms/parameter_remapper.h"
#include "algebra/terms/size_condition.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

/// Thrown where the rule has no such form; callers return nullopt.
struct NotLiftable {};

std::optional<TypedRule> try_typing(const Rule& rule, TermBank& bank, Symbols& symbols) {
  auto types = infer_types(rule, bank, symbols);
  auto* result = std::get_if<TypedRule>(&types);
  if (result == nullptr || result->rule.shapes != rule.shapes) return std::nullopt;
  return std::move(*result);
}

std::vector<std::string> size_names(const TypedRule& rule, const Symbols& symbols) {
  std::vector<std::string> names;
  for (const auto& [term, shape] : rule.types) {
    for (const Poly& dim : shape) {
      for (const Atom atom : symbols.atoms(dim)) names.push_back(symbols.name(atom));
    }
  }
  return names;
}

/// Rebuilds a rule with `rank` dimensions in place of a pack.
class PackExpansion {
 public:
  PackExpansion(TypedRule rule, Atom pack, std::uint32_t rank, Library& library, TermBank& bank, Symbols& symbols)
      : typed_(std::move(rule)), pack_(pack), rank_(rank), library_(library), bank_(bank), symbols_(symbols) {
    name_dimensions();
  }

  Rule run() {
    const Rule& rule = typed_.rule;
    Rule result;
    result.id = rule.id;
    result.tier = rule.tier;
    for (const Atom atom : rule.packs) {
      if (atom != pack_) result.packs.push_back(atom);
    }
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      Shape shape = expand_shape(rule.shapes[v]);
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
  void name_dimensions() {
    if (rank_ == 1) {
      dimensions_ = {Poly(pack_)};
    } else {
      const std::vector<std::string> used_names = size_names(typed_, symbols_);
      for (std::uint32_t k = 1; k <= rank_; ++k) {
        std::string name = symbols_.name(pack_) + "_" + std::to_string(k);
        while (std::ranges::find(used_names, name) != used_names.end()) name += "_";
        dimensions_.emplace_back(symbols_.size(name));
      }
    }
    Poly product = 1;
    for (const Poly& dimension : dimensions_) product = product * dimension;
    product_[pack_] = product;
  }

  bool is_pack(const Poly& dim) const { return dim.atom() == pack_; }

  std::vector<Poly> expand(const Poly& dim) {
    if (is_pack(dim)) return dimensions_;
    return {symbols_.substitute(dim, product_)};
  }

  Shape expand_shape(const Shape& shape) {
    Shape result;
    for (const Poly& dim : shape) {
      const std::vector<Poly> dims = expand(dim);
      result.insert(result.end(), dims.begin(), dims.end());
    }
    return result;
  }

  DimensionCounts dimension_counts(const Shape& shape) const {
    DimensionCounts result;
    for (const Poly& dim : shape) result.push_back(is_pack(dim) ? rank_ : 1);
    return result;
  }

  /// The values of the instance's size slots at this node.
  std::vector<Poly> slot_values(const Node& node, const OperatorInstance& instance) const {
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
    const OperatorInstance& instance = library_.instance(node.instance);
    const std::vector<Poly> values = slot_values(node, instance);
    std::vector<bool> packs;
    for (const Poly& value : values) packs.push_back(is_pack(value));
    check_pack_dimensions(id, instance, packs);
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : node.arguments) {
      arguments.push_back(rebuilt_.at(argument));
      ranks.push_back(bank_.rank(arguments.back()));
    }
    const auto [lifted, map] = lift(id, instance, packs, ranks);
    std::vector<Poly> sizes(lifted->size_parameter_count());
    for (std::uint32_t slot = instance.first_size_parameter; slot < values.size(); ++slot) {
      const std::vector<Poly> expanded = expand(values[slot]);
      for (std::size_t k = 0; k < expanded.size(); ++k)
        sizes.at(map[slot].at(k) - lifted->first_size_parameter) = expanded[k];
    }
    const NodeId copy = bank_.apply(lifted->id, arguments, sizes);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) rebuilt_[bank_.output(id, o)] = bank_.output(copy, o);
  }

  /// Checks that output dimensions equal to the pack are slots filled with it: a computed size cannot be split into
  /// several.
  void check_pack_dimensions(NodeId id, const OperatorInstance& instance, const std::vector<bool>& packs) {
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const Shape& shape = typed_.types.at(bank_.output(id, o));
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const IndexExpr& dim = *instance.outputs[o].dims[d];
        const bool is_pack_slot = dim.kind == IndexExpr::Kind::Size && packs[dim.slot];
        if (is_pack_slot != is_pack(shape[d])) throw NotLiftable{};
      }
    }
    for (const auto& input : instance.inputs) {
      for (const IndexExprPtr& dim : input) {
        if (dim->kind != IndexExpr::Kind::Constant && dim->kind != IndexExpr::Kind::Size) throw NotLiftable{};
      }
    }
  }

  struct LiftedInstance {
    const OperatorInstance* instance;
    SlotMap map;
  };

  LiftedInstance lift(NodeId id, const OperatorInstance& instance, const std::vector<bool>& packs,
                      std::vector<std::uint32_t> ranks) {
    DimensionCounts by_slot;
    for (const bool pack : packs) by_slot.push_back(pack ? rank_ : 1);
    if (library_.has_explicit_rank(instance.operator_name)) {
      const std::size_t single = library_.size_parameter_names(instance.operator_name).size() - 1;
      const std::size_t end = instance.symbolic_parameters.empty() ? instance.size_parameter_count()
                                                                   : instance.symbolic_parameters[0].first;
      std::uint32_t length = 0;
      for (std::size_t p = single; p < end; ++p) length += by_slot[instance.first_size_parameter + p];
      ranks.push_back(length);
    }
    const std::vector<TermId>& arguments = bank_.node(id).arguments;
    const ParameterRemapper parameters(
        instance, library_, arguments.empty() ? DimensionCounts{} : dimension_counts(typed_.types.at(arguments[0])),
        dimension_counts(typed_.types.at(bank_.output(id, 0))));
    for (const bool is_scatter : {false, true}) {
      try {
        const OperatorInstance& lifted =
            library_.instantiate(instance.operator_name, parameters.remap(by_slot, is_scatter), ranks);
        if (auto map = find_rank_lifting(instance, packs, rank_, lifted)) return {&lifted, std::move(*map)};
      } catch (const runtime::InputError&) {  // no instance of these ranks and parameters
      }
    }
    throw NotLiftable{};
  }

  TypedRule typed_;
  const Atom pack_;
  const std::uint32_t rank_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::vector<Poly> dimensions_;
  Substitution product_;
  std::unordered_map<TermId, TermId> rebuilt_;
};

/// Rebuilds a rule with one more dimension before the first, or after the last, of every variable.
class OuterDimensionAdder {
 public:
  OuterDimensionAdder(TypedRule rule, bool in_front, Library& library, TermBank& bank, Symbols& symbols)
      : typed_(std::move(rule)), in_front_(in_front), library_(library), bank_(bank), symbols_(symbols) {}

  Rule run() {
    const Rule& rule = typed_.rule;
    Rule result;
    result.id = rule.id;
    result.tier = rule.tier;
    result.condition = rule.condition;
    const Poly fresh(symbols_.size(unused_name()));
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
  std::string unused_name() const {
    const std::vector<std::string> used_names = size_names(typed_, symbols_);
    const auto is_used = [&](const std::string& name) {
      return std::ranges::find(used_names, name) != used_names.end();
    };
    std::string name = in_front_ ? "d" : "e";
    while (name[0] < 'z' && is_used(name)) ++name[0];
    while (is_used(name)) name += "_";
    return name;
  }

  void rebuild(NodeId id) {
    const Node node = bank_.node(id);
    const OperatorInstance& instance = library_.instance(node.instance);
    if (node.arguments.empty() || library_.has_explicit_rank(instance.operator_name)) throw NotLiftable{};
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : node.arguments) {
      arguments.push_back(rebuilt_.at(argument));
      ranks.push_back(static_cast<std::uint32_t>(typed_.types.at(argument).size()) + 1);
    }
    const OperatorInstance& lifted =
        library_.instantiate(instance.operator_name, shifted_parameters(instance, ranks[0] - 1), ranks);
    std::vector<bool> packs(lifted.size_names.size());
    for (const auto& dims : lifted.inputs) {
      const IndexExpr& dim = in_front_ ? *dims.front() : *dims.back();
      if (dim.kind == IndexExpr::Kind::Size) packs[dim.slot] = true;
    }
    if (!find_rank_lifting(lifted, packs, 0, instance)) throw NotLiftable{};
    const NodeId copy = bank_.apply(lifted.id, arguments, node.sizes);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) rebuilt_[bank_.output(id, o)] = bank_.output(copy, o);
  }

  /// Shifts axes behind a new first dimension. A permutation and a spread get an entry for the new dimension.
  Parameters shifted_parameters(const OperatorInstance& instance, std::int64_t rank) const {
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

/// Sizes that are dimensions of variables, in order of first use.
std::vector<Atom> variable_dimensions(const Rule& rule) {
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
bool are_adjacent(const TypedRule& rule, Atom first, Atom second) {
  bool found = false;
  for (const auto& [term, shape] : rule.types) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto equals = [&dims = shape](std::size_t at, Atom atom) {
        return at < dims.size() && dims[at].atom() == atom;
      };
      if (equals(d, first) && !equals(d + 1, second)) return false;
      if (equals(d, second) && (d == 0 || !equals(d - 1, first))) return false;
      found = found || equals(d, first);
    }
  }
  return found;
}

}  // namespace

std::optional<Rule> expand_pack(const Rule& rule, Atom pack, std::uint32_t rank, Library& library, TermBank& bank,
                                Symbols& symbols) {
  try {
    auto types = try_typing(rule, bank, symbols);
    if (!types) return std::nullopt;
    Rule result = PackExpansion(std::move(*types), pack, rank, library, bank, symbols).run();
    return try_typing(result, bank, symbols) ? std::optional(std::move(result)) : std::nullopt;
  } catch (const NotLiftable&) {
    return std::nullopt;
  } catch (const runtime::Error&) {  // a product of too many sizes
    return std::nullopt;
  }
}

Rule generalize_rank(const Rule& rule, Library& library, TermBank& bank, Symbols& symbols) {
  Rule result = rule;
  const auto can_be_pack = [&](const Rule& candidate, Atom atom) {
    return expand_pack(candidate, atom, 2, library, bank, symbols).has_value();
  };
  for (bool changed = true; changed;) {
    changed = false;
    result.packs.clear();
    for (const Atom atom : variable_dimensions(result)) {
      if (can_be_pack(result, atom)) result.packs.push_back(atom);
    }
    const auto types = try_typing(result, bank, symbols);
    for (const Atom first : types ? result.packs : std::vector<Atom>{}) {
      for (const Atom second : result.packs) {
        if (first == second || !are_adjacent(*types, first, second)) continue;
        auto shorter = expand_pack(result, second, 0, library, bank, symbols);
        if (!shorter || !can_be_pack(*shorter, first)) continue;
        result = std::move(*shorter);
        changed = true;
        break;
      }
      if (changed) break;
    }
  }
  return result;
}

std::optional<Rule> with_outer_dimension(const Rule& rule, bool in_front, Library& library, TermBank& bank,
                                         Symbols& symbols) {
  auto types = try_typing(rule, bank, symbols);
  if (!types || rule.variables.empty()) return std::nullopt;
  try {
    Rule result = OuterDimensionAdder(std::move(*types), in_front, library, bank, symbols).run();
    return try_typing(result, bank, symbols) ? std::optional(std::move(result)) : std::nullopt;
  } catch (const NotLiftable&) {
    return std::nullopt;
  } catch (const runtime::Error&) {  // no instance of these ranks
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
