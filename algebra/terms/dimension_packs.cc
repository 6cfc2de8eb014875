#include "algebra/terms/dimension_packs.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/operators/rank_lifting.h"
#include "algebra/terms/size_condition.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

/// For each dimension of a tensor, the number of dimensions that replace it.
using DimensionCounts = std::vector<std::uint32_t>;

/// Parameters for one expansion. Wrong ones are detected by comparing the instances (rank_lifting.h).
class ParameterRemapper {
 public:
  /// `input`, `output`: the counts of the first input and output.
  ParameterRemapper(const OperatorInstance& instance, const Library& library, DimensionCounts input,
                    DimensionCounts output)
      : instance_(instance), library_(library), input_counts_(std::move(input)), output_counts_(std::move(output)) {}

  /// `by_slot`: the count of each size slot. `is_scatter`: permutations map an axis to its destination, not its origin.
  Parameters remap(const DimensionCounts& by_slot, bool is_scatter) const;

 private:
  std::vector<std::int64_t> remap_permutation(const std::vector<std::int64_t>& order) const;
  std::vector<std::int64_t> repeat_entries(const std::string& name, const std::vector<std::int64_t>& list,
                                           const DimensionCounts& by_slot) const;

  const OperatorInstance& instance_;
  const Library& library_;
  DimensionCounts input_counts_, output_counts_;
};

std::int64_t first_position(const DimensionCounts& counts, std::int64_t axis) {
  std::int64_t position = 0;
  for (std::int64_t d = 0; d < axis; ++d) position += counts.at(static_cast<std::size_t>(d));
  return position;
}

std::vector<std::int64_t> positions(const std::vector<std::int64_t>& axes, const DimensionCounts& counts) {
  std::vector<std::int64_t> result;
  for (const std::int64_t axis : axes) {
    for (std::uint32_t k = 0; k < counts.at(static_cast<std::size_t>(axis)); ++k)
      result.push_back(first_position(counts, axis) + k);
  }
  return result;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> result(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    result.at(static_cast<std::size_t>(order[k])) = static_cast<std::int64_t>(k);
  return result;
}

Parameters ParameterRemapper::remap(const DimensionCounts& by_slot, bool is_scatter) const {
  Parameters result;
  for (const auto& [name, value] : instance_.parameters) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const auto* number = std::get_if<std::int64_t>(&value);
    switch (library_.parameter_kind(instance_.operator_name, name)) {
      case ParameterKind::Axis:
        result[name] = first_position(input_counts_, *number);
        break;
      case ParameterKind::Axes:
        result[name] = positions(*list, input_counts_);
        break;
      case ParameterKind::NewAxes:
        result[name] = positions(*list, output_counts_);
        break;
      case ParameterKind::Permutation:
        result[name] = is_scatter ? inverse(remap_permutation(inverse(*list))) : remap_permutation(*list);
        break;
      case ParameterKind::Spread:
      case ParameterKind::Ints:
        result[name] = list == nullptr ? value : ParameterValue(repeat_entries(name, *list, by_slot));
        break;
      default:
        result[name] = value;
    }
  }
  return result;
}

std::vector<std::int64_t> ParameterRemapper::remap_permutation(const std::vector<std::int64_t>& order) const {
  return positions(order, input_counts_);
}

/// Repeats the entry of each pack element as often as its dimension is expanded.
std::vector<std::int64_t> ParameterRemapper::repeat_entries(const std::string& name,
                                                            const std::vector<std::int64_t>& list,
                                                            const DimensionCounts& by_slot) const {
  const std::string pack = library_.parameter_pack(instance_.operator_name, name);
  std::vector<std::int64_t> result;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const auto slot = std::ranges::find(instance_.size_names, pack + std::to_string(k));
    const std::uint32_t count = slot == instance_.size_names.end()
                                    ? 1
                                    : by_slot.at(static_cast<std::size_t>(slot - instance_.size_names.begin()));
    for (std::uint32_t c = 0; c < count; ++c) result.push_back(list[k]);
  }
  return result;
}

/// Rebuilds a rule over variables of other shapes. Leaves packs and condition to the caller.
std::optional<Rule> with_shapes(const Rule& rule, TermBank& bank,
                                const std::function<Shape(const Shape&)>& change_shape,
                                const NodeRewrite& change_node) {
  Rule result = rule;
  TermMap images;
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    result.shapes[v] = change_shape(rule.shapes[v]);
    const std::string name = bank.term(rule.variables[v]).name;
    result.variables[v] = bank.variable(name, static_cast<std::uint32_t>(result.shapes[v].size()));
    images[rule.variables[v]] = result.variables[v];
  }
  return rewrite_nodes(result, bank, images, change_node) ? std::optional(std::move(result)) : std::nullopt;
}

/// Rebuilds a rule with `rank` dimensions in place of a pack.
class PackExpansion {
 public:
  PackExpansion(const TypedRule& rule, Atom pack, std::uint32_t rank, Library& library, TermBank& bank,
                Symbols& symbols)
      : typed_(rule), pack_(pack), rank_(rank), library_(library), bank_(bank), symbols_(symbols) {
    std::set<std::string> used_names = used_size_names(typed_.rule, bank_, symbols_);
    for (std::uint32_t k = 1; k <= rank_; ++k)
      dimensions_.push_back(
          rank_ == 1 ? Poly(pack_) : unused_size(symbols_.name(pack_) + "_" + std::to_string(k), used_names, symbols_));
    Poly product = 1;
    for (const Poly& dimension : dimensions_) product = product * dimension;
    product_[pack_] = product;
  }

  std::optional<Rule> run() {
    auto result = with_shapes(
        typed_.rule, bank_, [&](const Shape& shape) { return expand(shape); },
        [&](NodeId id, std::span<const TermId> arguments) { return expand(id, arguments); });
    if (!result) return std::nullopt;
    std::erase(result->packs, pack_);
    for (SizeCondition& condition : result->condition) condition = substitute(condition, product_, symbols_);
    return result;
  }

 private:
  bool is_pack(const Poly& dim) const { return dim.atom() == pack_; }

  Shape expand(const Shape& shape) {
    Shape result;
    for (const Poly& dim : shape) {
      if (is_pack(dim))
        result.insert(result.end(), dimensions_.begin(), dimensions_.end());
      else
        result.push_back(symbols_.substitute(dim, product_));
    }
    return result;
  }

  DimensionCounts dimension_counts(const Shape& shape) const {
    DimensionCounts result;
    for (const Poly& dim : shape) result.push_back(is_pack(dim) ? rank_ : 1);
    return result;
  }

  std::optional<NodeId> expand(NodeId id, std::span<const TermId> arguments) {
    const OperatorInstance& instance = library_.instance(bank_.node(id).instance);
    const std::vector<Poly> values = size_slots(id, typed_, bank_);
    std::vector<bool> packs;
    for (const Poly& value : values) packs.push_back(is_pack(value));
    if (!passes_packs_through(id, instance, packs)) return std::nullopt;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : arguments) ranks.push_back(bank_.rank(argument));
    const auto lifted = lift(id, instance, packs, ranks);
    if (!lifted) return std::nullopt;
    std::vector<Poly> sizes(lifted->instance->size_parameter_count());
    for (std::uint32_t slot = instance.first_size_parameter; slot < values.size(); ++slot) {
      const Shape expanded = expand(Shape{values[slot]});
      for (std::size_t k = 0; k < expanded.size(); ++k)
        sizes.at(lifted->map[slot].at(k) - lifted->instance->first_size_parameter) = expanded[k];
    }
    return bank_.apply(lifted->instance->id, arguments, sizes);
  }

  /// Whether the inputs' dimensions are bare, and the output dimensions equal to the pack are slots filled with it: a
  /// computed size cannot be split into several.
  bool passes_packs_through(NodeId id, const OperatorInstance& instance, const std::vector<bool>& packs) {
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const Shape& shape = typed_.types.at(bank_.output(id, o));
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const IndexExpr& dim = *instance.outputs[o].dims[d];
        const bool is_pack_slot = dim.kind == IndexExpr::Kind::Size && packs[dim.slot];
        if (is_pack_slot != is_pack(shape[d])) return false;
      }
    }
    return std::ranges::all_of(instance.inputs, [](const auto& input) {
      return std::ranges::all_of(input, [](const IndexExprPtr& dim) {
        return dim->kind == IndexExpr::Kind::Constant || dim->kind == IndexExpr::Kind::Size;
      });
    });
  }

  struct LiftedInstance {
    const OperatorInstance* instance;
    SlotMap map;
  };

  std::optional<LiftedInstance> lift(NodeId id, const OperatorInstance& instance, const std::vector<bool>& packs,
                                     std::vector<std::uint32_t> ranks) {
    DimensionCounts by_slot;
    for (const bool pack : packs) by_slot.push_back(pack ? rank_ : 1);
    if (library_.has_explicit_rank(instance.operator_name)) {
      const std::size_t single = library_.size_parameter_names(instance.operator_name).size() - 1;
      const auto declared = by_slot.begin() + instance.first_size_parameter;
      ranks.push_back(std::accumulate(declared + static_cast<std::ptrdiff_t>(single),
                                      declared + instance.declared_size_count(), std::uint32_t{0}));
    }
    const std::vector<TermId>& arguments = bank_.node(id).arguments;
    const ParameterRemapper parameters(
        instance, library_, arguments.empty() ? DimensionCounts{} : dimension_counts(typed_.types.at(arguments[0])),
        dimension_counts(typed_.types.at(bank_.output(id, 0))));
    for (const bool is_scatter : {false, true}) {
      const OperatorInstance* lifted =
          library_.find_instance(instance.operator_name, parameters.remap(by_slot, is_scatter), ranks);
      if (lifted == nullptr) continue;
      if (auto map = find_rank_lifting(instance, packs, rank_, *lifted)) return LiftedInstance{lifted, std::move(*map)};
    }
    return std::nullopt;
  }

  const TypedRule& typed_;
  const Atom pack_;
  const std::uint32_t rank_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  Shape dimensions_;
  Substitution product_;
};

/// Shifts axes behind a new first dimension. A permutation and a spread get an entry for the new dimension.
Parameters shifted_parameters(const OperatorInstance& instance, bool in_front, const Library& library) {
  Parameters result = instance.parameters;
  for (auto& [name, value] : result) {
    const ParameterKind kind = library.parameter_kind(instance.operator_name, name);
    auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const bool order = kind == ParameterKind::Permutation;
    const bool axes = order || kind == ParameterKind::Axes || kind == ParameterKind::NewAxes;
    if (kind == ParameterKind::Axis && in_front) ++std::get<std::int64_t>(value);
    if (axes && in_front) std::ranges::for_each(*list, [](std::int64_t& axis) { ++axis; });
    if (order || (kind == ParameterKind::Spread && !list->empty())) {
      const auto rank = static_cast<std::int64_t>(instance.inputs[0].size());
      const std::int64_t last = order ? rank : spread_whole, first = order ? 0 : spread_whole;
      list->insert(in_front ? list->begin() : list->end(), in_front ? first : last);
    }
  }
  return result;
}

/// Returns the operator's instance on inputs of one more dimension, which it only passes through.
const OperatorInstance* lift_by_outer_dimension(const OperatorInstance& instance, bool in_front, Library& library) {
  if (instance.inputs.empty() || library.has_explicit_rank(instance.operator_name)) return nullptr;
  std::vector<std::uint32_t> ranks;
  for (const auto& input : instance.inputs) ranks.push_back(static_cast<std::uint32_t>(input.size()) + 1);
  const OperatorInstance& lifted =
      library.instantiate(instance.operator_name, shifted_parameters(instance, in_front, library), ranks);
  std::vector<bool> packs(lifted.size_names.size());
  for (const auto& dims : lifted.inputs) {
    const IndexExpr& dim = in_front ? *dims.front() : *dims.back();
    if (dim.kind == IndexExpr::Kind::Size) packs[dim.slot] = true;
  }
  return find_rank_lifting(lifted, packs, 0, instance) ? &lifted : nullptr;
}

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

std::optional<ExpandedRule> with_types(Rule rule, TermBank& bank, Symbols& symbols) {
  auto typed = try_typing(rule, bank, symbols);
  if (!typed || typed->rule.shapes != rule.shapes) return std::nullopt;
  return ExpandedRule{std::move(rule), std::move(*typed)};
}

std::optional<ExpandedRule> expand_pack(const TypedRule& rule, Atom pack, std::uint32_t rank, Library& library,
                                        TermBank& bank, Symbols& symbols) {
  try {
    if (auto result = PackExpansion(rule, pack, rank, library, bank, symbols).run())
      return with_types(std::move(*result), bank, symbols);
  } catch (const runtime::Error&) {  // a product of too many sizes
  }
  return std::nullopt;
}

std::optional<Rule> expand_pack(const Rule& rule, Atom pack, std::uint32_t rank, Library& library, TermBank& bank,
                                Symbols& symbols) {
  const auto given = with_types(rule, bank, symbols);
  auto result = given ? expand_pack(given->typed, pack, rank, library, bank, symbols) : std::nullopt;
  return result ? std::optional(std::move(result->rule)) : std::nullopt;
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
    const auto types = with_types(result, bank, symbols);
    for (const Atom first : types ? result.packs : std::vector<Atom>{}) {
      for (const Atom second : result.packs) {
        if (first == second || !are_adjacent(types->typed, first, second)) continue;
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
  const auto types = with_types(rule, bank, symbols);
  if (!types || rule.variables.empty()) return std::nullopt;
  std::set<std::string> used_names = used_size_names(types->typed.rule, bank, symbols);
  std::string name = in_front ? "d" : "e";
  while (name[0] < 'z' && used_names.contains(name)) ++name[0];
  const Poly fresh = unused_size(name, used_names, symbols);
  const auto add_dimension = [&](Shape shape) {
    shape.insert(in_front ? shape.begin() : shape.end(), fresh);
    return shape;
  };
  const auto lift = [&](NodeId id, std::span<const TermId> arguments) -> std::optional<NodeId> {
    const auto* lifted = lift_by_outer_dimension(bank.instance_of(bank.output(id, 0)), in_front, library);
    if (lifted == nullptr) return std::nullopt;
    return bank.apply(lifted->id, arguments, bank.node(id).sizes);
  };
  try {
    auto result = with_shapes(types->typed.rule, bank, add_dimension, lift);
    if (!result) return std::nullopt;
    result->packs.clear();
    if (with_types(*result, bank, symbols)) return result;
  } catch (const runtime::Error&) {  // no instance of these ranks
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
