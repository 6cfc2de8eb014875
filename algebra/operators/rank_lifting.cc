#include "algebra/operators/rank_lifting.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using IndexKind = IndexExpr::Kind;

class RankLiftingMatcher {
 public:
  RankLiftingMatcher(const OperatorInstance& small, const std::vector<bool>& packs, std::uint32_t rank,
                     const OperatorInstance& large)
      : small_(small), is_pack_(packs), rank_(rank), large_(large), slot_map_(small.size_names.size()) {}

  std::optional<SlotMap> run() {
    if (!match_inputs() || !match_size_parameters()) return std::nullopt;
    create_symbols();
    for (const auto& dims : small_.inputs) tensor_packs_.push_back(find_packs(dims));
    if (!match_conditions() || !match_definitions(small_.intermediates, large_.intermediates) ||
        !match_definitions(small_.outputs, large_.outputs))
      return std::nullopt;
    return slot_map_;
  }

 private:
  /// For each dimension the size slot of its pack, if it is one.
  using DimensionPacks = std::vector<std::optional<std::uint32_t>>;

  std::optional<std::uint32_t> pack_of(const IndexExpr& dim) const {
    if (dim.kind != IndexKind::Size || !is_pack_[dim.slot]) return std::nullopt;
    return dim.slot;
  }

  DimensionPacks find_packs(const std::vector<IndexExprPtr>& dims) const {
    DimensionPacks result;
    for (const IndexExprPtr& dim : dims) result.push_back(pack_of(*dim));
    return result;
  }

  /// Maps the slot of the small instance to slots of the large one. False if it is mapped to others already.
  bool bind_slot(std::uint32_t slot, std::vector<std::uint32_t> to) {
    if (bound_.size() < slot_map_.size()) bound_.resize(slot_map_.size());
    if (bound_[slot]) return slot_map_[slot] == to;
    bound_[slot] = true;
    slot_map_[slot] = std::move(to);
    return true;
  }

  bool match_inputs() {
    if (small_.inputs.size() != large_.inputs.size()) return false;
    for (std::size_t i = 0; i < small_.inputs.size(); ++i) {
      std::size_t next = 0;
      const auto& dims = large_.inputs[i];
      for (const IndexExprPtr& dim : small_.inputs[i]) {
        const std::size_t count = pack_of(*dim) ? rank_ : 1;
        if (next + count > dims.size()) return false;
        if (dim->kind == IndexKind::Constant) {
          if (dims[next]->kind != IndexKind::Constant || dims[next]->value != dim->value) return false;
        } else {
          std::vector<std::uint32_t> to;
          for (std::size_t k = 0; k < count; ++k) {
            if (dims[next + k]->kind != IndexKind::Size) return false;
            to.push_back(dims[next + k]->slot);
          }
          if (!bind_slot(dim->slot, std::move(to))) return false;
        }
        next += count;
      }
      if (next != dims.size()) return false;
    }
    return true;
  }

  /// Size parameters correspond in order, and every slot of the large instance is used exactly once.
  bool match_size_parameters() {
    std::uint32_t next = large_.first_size_parameter;
    for (std::uint32_t slot = small_.first_size_parameter; slot < small_.size_names.size(); ++slot) {
      std::vector<std::uint32_t> to;
      for (std::uint32_t k = 0; k < (is_pack_[slot] ? rank_ : 1); ++k) to.push_back(next++);
      if (!bind_slot(slot, std::move(to))) return false;
    }
    std::vector<bool> used(large_.size_names.size());
    for (const auto& slots : slot_map_) {
      for (const std::uint32_t slot : slots) {
        if (slot >= used.size() || used[slot]) return false;
        used[slot] = true;
      }
    }
    return std::ranges::all_of(used, std::identity{});
  }

  void create_symbols() {
    for (std::size_t slot = 0; slot < large_.size_names.size(); ++slot)
      large_sizes_.emplace_back(symbols_.fresh_size("s"));
    for (const auto& slots : slot_map_) {
      Poly product = 1;
      for (const std::uint32_t slot : slots) product = product * large_sizes_[slot];
      small_sizes_.push_back(std::move(product));
    }
    for (std::uint32_t slot = 0; slot < std::max(small_.index_slots, large_.index_slots); ++slot)
      large_indices_.emplace_back(symbols_.fresh_index("i"));
    small_indices_.resize(small_.index_slots);
  }

  struct IndexBinding {
    std::vector<std::uint32_t> slots;  // of the large instance
    bool is_pack = false;
  };

  void bind_index(std::uint32_t index, IndexBinding binding) {
    if (small_indices_.size() <= index) small_indices_.resize(index + 1);
    if (!binding.is_pack) small_indices_[index] = large_indices_.at(binding.slots[0]);
    indices_[index] = std::move(binding);
  }

  bool uses_pack(const IndexExpr& expression) const {
    if (expression.kind == IndexKind::Index) {
      const auto found = indices_.find(expression.slot);
      return found == indices_.end() || found->second.is_pack;
    }
    return (expression.a && uses_pack(*expression.a)) || (expression.b && uses_pack(*expression.b));
  }

  /// Whether the values are equal. An index over a pack has no value.
  bool is_equal(const IndexExpr& a, const IndexExpr& b) {
    if (uses_pack(a)) return false;
    return evaluate(a, small_sizes_, small_indices_, symbols_) == evaluate(b, large_sizes_, large_indices_, symbols_);
  }

  bool is_equal(const std::vector<Comparison>& a, const std::vector<Comparison>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].relation != b[i].relation || !is_equal(*a[i].a, *b[i].a) || !is_equal(*a[i].b, *b[i].b)) return false;
    }
    return true;
  }

  /// Equality of two packs is equality of each of their dimensions.
  bool match_conditions() {
    std::size_t next = 0;
    for (const Comparison& condition : small_.conditions) {
      const auto left = pack_of(*condition.a), right = pack_of(*condition.b);
      if (left && right && condition.relation == Relation::Eq) {
        for (std::uint32_t k = 0; k < rank_; ++k, ++next) {
          if (next >= large_.conditions.size()) return false;
          const Comparison& other = large_.conditions[next];
          const bool same = other.relation == Relation::Eq && is_slot(*other.a, slot_map_[*left][k]) &&
                            is_slot(*other.b, slot_map_[*right][k]);
          if (!same) return false;
        }
        continue;
      }
      if (next >= large_.conditions.size() || !is_equal(std::vector{condition}, std::vector{large_.conditions[next]}))
        return false;
      ++next;
    }
    return next == large_.conditions.size();
  }

  static bool is_slot(const IndexExpr& expression, std::uint32_t slot) {
    return expression.kind == IndexKind::Size && expression.slot == slot;
  }

  bool match_definitions(const std::vector<TensorDefinition>& small, const std::vector<TensorDefinition>& large) {
    if (small.size() != large.size()) return false;
    for (std::size_t i = 0; i < small.size(); ++i) {
      indices_.clear();
      if (!match_dims(small[i].dims, large[i].dims) || !is_equal(*small[i].body, *large[i].body)) return false;
      tensor_packs_.push_back(find_packs(small[i].dims));
    }
    return true;
  }

  /// The slot of an output index is the number of its dimension.
  bool match_dims(const std::vector<IndexExprPtr>& small, const std::vector<IndexExprPtr>& large) {
    std::uint32_t next = 0;
    for (std::uint32_t d = 0; d < small.size(); ++d) {
      const auto pack = pack_of(*small[d]);
      IndexBinding binding;
      binding.is_pack = pack.has_value();
      for (std::uint32_t k = 0; k < (pack ? rank_ : 1); ++k, ++next) {
        if (next >= large.size()) return false;
        if (pack ? !is_slot(*large[next], slot_map_[*pack][k]) : !is_equal(*small[d], *large[next])) return false;
        binding.slots.push_back(next);
      }
      bind_index(d, std::move(binding));
    }
    return next == large.size();
  }

  bool match_bounds(const ScalarExpr& small, const std::vector<BoundIndex>& large) {
    std::size_t next = 0;
    for (const BoundIndex& bound : small.bound) {
      const auto pack = pack_of(*bound.extent);
      IndexBinding binding;
      binding.is_pack = pack.has_value();
      for (std::uint32_t k = 0; k < (pack ? rank_ : 1); ++k, ++next) {
        if (next >= large.size()) return false;
        const IndexExpr& extent = *large[next].extent;
        if (pack ? !is_slot(extent, slot_map_[*pack][k]) : !is_equal(*bound.extent, extent)) return false;
        binding.slots.push_back(large[next].slot);
      }
      bind_index(bound.slot, std::move(binding));
    }
    return next == large.size();
  }

  bool match_reads(const ScalarExpr& small, const ScalarExpr& large) {
    if (small.tensor != large.tensor) return false;
    const DimensionPacks& dims = tensor_packs_.at(small.tensor);
    std::size_t next = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const IndexExpr& index = *small.indices[d];
      if (!dims[d]) {
        if (next >= large.indices.size() || !is_equal(index, *large.indices[next++])) return false;
        continue;
      }
      const auto binding = index.kind == IndexKind::Index ? indices_.find(index.slot) : indices_.end();
      if (binding == indices_.end() || !binding->second.is_pack) return false;
      for (const std::uint32_t slot : binding->second.slots) {
        if (next >= large.indices.size()) return false;
        const IndexExpr& other = *large.indices[next++];
        if (other.kind != IndexKind::Index || other.slot != slot) return false;
      }
    }
    return next == large.indices.size();
  }

  bool is_equal(const ScalarExpr& small, const ScalarExpr& large) {
    using Scalar = ScalarExpr::Kind;
    const bool reduces = small.kind == Scalar::Sum || small.kind == Scalar::Max;
    // A reduction over an empty pack is its operand.
    if (reduces && large.kind != small.kind)
      return small.guard.empty() && match_bounds(small, {}) && is_equal(*small.operands[0], large);
    if (small.kind != large.kind || small.operands.size() != large.operands.size()) return false;
    if (reduces && !match_bounds(small, large.bound)) return false;
    if (small.kind == Scalar::Constant && !(small.value == large.value)) return false;
    if (small.kind == Scalar::InverseSize && !is_equal(*small.indices[0], *large.indices[0])) return false;
    if (small.kind == Scalar::Read && !match_reads(small, large)) return false;
    if (small.kind == Scalar::Apply && small.function != large.function) return false;
    if (!is_equal(small.guard, large.guard)) return false;
    for (std::size_t i = 0; i < small.operands.size(); ++i) {
      if (!is_equal(*small.operands[i], *large.operands[i])) return false;
    }
    return true;
  }

  const OperatorInstance& small_;
  const std::vector<bool>& is_pack_;
  const std::uint32_t rank_;
  const OperatorInstance& large_;
  SlotMap slot_map_;
  std::vector<bool> bound_;
  Symbols symbols_;
  std::vector<Poly> small_sizes_, large_sizes_, small_indices_, large_indices_;
  std::unordered_map<std::uint32_t, IndexBinding> indices_;
  std::vector<DimensionPacks> tensor_packs_;  // by tensor: inputs, then intermediates
};

}  // namespace

std::optional<SlotMap> find_rank_lifting(const OperatorInstance& small, const std::vector<bool>& packs,
                                         std::uint32_t rank, const OperatorInstance& large) {
  try {
    return RankLiftingMatcher(small, packs, rank, large).run();
  } catch (const runtime::Error&) {  // an integer overflow, or a product of too many sizes
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
