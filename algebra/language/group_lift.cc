#include "algebra/language/group_lift.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

using Kind = IndexExpr::Kind;

class Lift {
 public:
  Lift(const Instance& small, const std::vector<bool>& groups, std::uint32_t rank, const Instance& large)
      : small_(small), groups_(groups), rank_(rank), large_(large), slots_(small.size_names.size()) {}

  std::optional<SlotMap> run() {
    if (!inputs_fit() || !size_parameters_fit()) return std::nullopt;
    name_sizes();
    for (const auto& dims : small_.inputs) tensors_.push_back(groups_of(dims));
    if (!conditions_fit() || !definitions_fit(small_.intermediates, large_.intermediates) ||
        !definitions_fit(small_.outputs, large_.outputs)) {
      return std::nullopt;
    }
    return slots_;
  }

 private:
  /// Of each dimension: the group that it is.
  using Groups = std::vector<std::optional<std::uint32_t>>;

  std::optional<std::uint32_t> group(const IndexExpr& dim) const {
    if (dim.kind != Kind::Size || !groups_[dim.slot]) return std::nullopt;
    return dim.slot;
  }

  Groups groups_of(const std::vector<IndexExprPtr>& dims) const {
    Groups result;
    for (const IndexExprPtr& dim : dims) result.push_back(group(*dim));
    return result;
  }

  /// The slot of the small instance gets these of the large one, or has them already.
  bool bind(std::uint32_t slot, std::vector<std::uint32_t> to) {
    if (bound_.size() < slots_.size()) bound_.resize(slots_.size());
    if (bound_[slot]) return slots_[slot] == to;
    bound_[slot] = true;
    slots_[slot] = std::move(to);
    return true;
  }

  bool inputs_fit() {
    if (small_.inputs.size() != large_.inputs.size()) return false;
    for (std::size_t i = 0; i < small_.inputs.size(); ++i) {
      std::size_t next = 0;
      const auto& dims = large_.inputs[i];
      for (const IndexExprPtr& dim : small_.inputs[i]) {
        const std::size_t count = group(*dim) ? rank_ : 1;
        if (next + count > dims.size()) return false;
        if (dim->kind == Kind::Constant) {
          if (dims[next]->kind != Kind::Constant || dims[next]->value != dim->value) return false;
        } else {
          std::vector<std::uint32_t> to;
          for (std::size_t k = 0; k < count; ++k) {
            if (dims[next + k]->kind != Kind::Size) return false;
            to.push_back(dims[next + k]->slot);
          }
          if (!bind(dim->slot, std::move(to))) return false;
        }
        next += count;
      }
      if (next != dims.size()) return false;
    }
    return true;
  }

  /// In order; every slot of the large instance is used once.
  bool size_parameters_fit() {
    std::uint32_t next = large_.first_size_parameter;
    for (std::uint32_t slot = small_.first_size_parameter; slot < small_.size_names.size(); ++slot) {
      std::vector<std::uint32_t> to;
      for (std::uint32_t k = 0; k < (groups_[slot] ? rank_ : 1); ++k) to.push_back(next++);
      if (!bind(slot, std::move(to))) return false;
    }
    std::vector<bool> used(large_.size_names.size());
    for (const auto& slots : slots_) {
      for (const std::uint32_t slot : slots) {
        if (slot >= used.size() || used[slot]) return false;
        used[slot] = true;
      }
    }
    return std::ranges::all_of(used, [](bool is) { return is; });
  }

  void name_sizes() {
    for (std::size_t slot = 0; slot < large_.size_names.size(); ++slot)
      large_sizes_.emplace_back(symbols_.fresh_size("s"));
    for (const auto& slots : slots_) {
      Poly product = 1;
      for (const std::uint32_t slot : slots) product = product * large_sizes_[slot];
      small_sizes_.push_back(std::move(product));
    }
    for (std::uint32_t slot = 0; slot < std::max(small_.index_slots, large_.index_slots); ++slot)
      large_indices_.emplace_back(symbols_.fresh_index("i"));
    small_indices_.resize(small_.index_slots);
  }

  struct IndexMeaning {
    std::vector<std::uint32_t> slots;  // of the large instance
    bool is_group = false;
  };

  void mean(std::uint32_t index, IndexMeaning meaning) {
    if (small_indices_.size() <= index) small_indices_.resize(index + 1);
    if (!meaning.is_group) small_indices_[index] = large_indices_.at(meaning.slots[0]);
    indices_[index] = std::move(meaning);
  }

  bool uses_group(const IndexExpr& expression) const {
    if (expression.kind == Kind::Index) {
      const auto found = indices_.find(expression.slot);
      return found == indices_.end() || found->second.is_group;
    }
    return (expression.a && uses_group(*expression.a)) || (expression.b && uses_group(*expression.b));
  }

  /// As numbers; an index over a group is none.
  bool equal(const IndexExpr& a, const IndexExpr& b) {
    if (uses_group(a)) return false;
    return evaluate(a, small_sizes_, small_indices_, symbols_) == evaluate(b, large_sizes_, large_indices_, symbols_);
  }

  bool equal(const std::vector<Comparison>& a, const std::vector<Comparison>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].relation != b[i].relation || !equal(*a[i].a, *b[i].a) || !equal(*a[i].b, *b[i].b)) return false;
    }
    return true;
  }

  /// Two groups that must be equal are so dimension by dimension.
  bool conditions_fit() {
    std::size_t next = 0;
    for (const Comparison& condition : small_.conditions) {
      const auto left = group(*condition.a), right = group(*condition.b);
      if (left && right && condition.relation == Relation::Eq) {
        for (std::uint32_t k = 0; k < rank_; ++k, ++next) {
          if (next >= large_.conditions.size()) return false;
          const Comparison& other = large_.conditions[next];
          const bool same = other.relation == Relation::Eq && is_slot(*other.a, slots_[*left][k]) &&
                            is_slot(*other.b, slots_[*right][k]);
          if (!same) return false;
        }
        continue;
      }
      if (next >= large_.conditions.size() || !equal(std::vector{condition}, std::vector{large_.conditions[next]}))
        return false;
      ++next;
    }
    return next == large_.conditions.size();
  }

  static bool is_slot(const IndexExpr& expression, std::uint32_t slot) {
    return expression.kind == Kind::Size && expression.slot == slot;
  }

  bool definitions_fit(const std::vector<TensorDefinition>& small, const std::vector<TensorDefinition>& large) {
    if (small.size() != large.size()) return false;
    for (std::size_t i = 0; i < small.size(); ++i) {
      indices_.clear();
      if (!dims_fit(small[i].dims, large[i].dims) || !equal(*small[i].body, *large[i].body)) return false;
      tensors_.push_back(groups_of(small[i].dims));
    }
    return true;
  }

  /// Output indices have the numbers of their dimensions.
  bool dims_fit(const std::vector<IndexExprPtr>& small, const std::vector<IndexExprPtr>& large) {
    std::uint32_t next = 0;
    for (std::uint32_t d = 0; d < small.size(); ++d) {
      const auto own = group(*small[d]);
      IndexMeaning meaning;
      meaning.is_group = own.has_value();
      for (std::uint32_t k = 0; k < (own ? rank_ : 1); ++k, ++next) {
        if (next >= large.size()) return false;
        if (own ? !is_slot(*large[next], slots_[*own][k]) : !equal(*small[d], *large[next])) return false;
        meaning.slots.push_back(next);
      }
      mean(d, std::move(meaning));
    }
    return next == large.size();
  }

  bool bounds_fit(const ScalarExpr& small, const std::vector<BoundIndex>& large) {
    std::size_t next = 0;
    for (const BoundIndex& bound : small.bound) {
      const auto own = group(*bound.extent);
      IndexMeaning meaning;
      meaning.is_group = own.has_value();
      for (std::uint32_t k = 0; k < (own ? rank_ : 1); ++k, ++next) {
        if (next >= large.size()) return false;
        const IndexExpr& extent = *large[next].extent;
        if (own ? !is_slot(extent, slots_[*own][k]) : !equal(*bound.extent, extent)) return false;
        meaning.slots.push_back(large[next].slot);
      }
      mean(bound.slot, std::move(meaning));
    }
    return next == large.size();
  }

  bool reads_fit(const ScalarExpr& small, const ScalarExpr& large) {
    if (small.tensor != large.tensor) return false;
    const Groups& dims = tensors_.at(small.tensor);
    std::size_t next = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const IndexExpr& index = *small.indices[d];
      if (!dims[d]) {
        if (next >= large.indices.size() || !equal(index, *large.indices[next++])) return false;
        continue;
      }
      const auto meaning = index.kind == Kind::Index ? indices_.find(index.slot) : indices_.end();
      if (meaning == indices_.end() || !meaning->second.is_group) return false;
      for (const std::uint32_t slot : meaning->second.slots) {
        if (next >= large.indices.size()) return false;
        const IndexExpr& other = *large.indices[next++];
        if (other.kind != Kind::Index || other.slot != slot) return false;
      }
    }
    return next == large.indices.size();
  }

  bool equal(const ScalarExpr& small, const ScalarExpr& large) {
    using Scalar = ScalarExpr::Kind;
    const bool reduces = small.kind == Scalar::Sum || small.kind == Scalar::Max;
    // A group of no dimensions leaves nothing to run over.
    if (reduces && large.kind != small.kind)
      return small.guard.empty() && bounds_fit(small, {}) && equal(*small.operands[0], large);
    if (small.kind != large.kind || small.operands.size() != large.operands.size()) return false;
    if (reduces && !bounds_fit(small, large.bound)) return false;
    if (small.kind == Scalar::Constant && !(small.value == large.value)) return false;
    if (small.kind == Scalar::InverseSize && !equal(*small.indices[0], *large.indices[0])) return false;
    if (small.kind == Scalar::Read && !reads_fit(small, large)) return false;
    if (small.kind == Scalar::Apply && small.function != large.function) return false;
    if (!equal(small.guard, large.guard)) return false;
    for (std::size_t i = 0; i < small.operands.size(); ++i) {
      if (!equal(*small.operands[i], *large.operands[i])) return false;
    }
    return true;
  }

  const Instance& small_;
  const std::vector<bool>& groups_;
  const std::uint32_t rank_;
  const Instance& large_;
  SlotMap slots_;
  std::vector<bool> bound_;
  Symbols symbols_;
  std::vector<Poly> small_sizes_, large_sizes_, small_indices_, large_indices_;
  std::unordered_map<std::uint32_t, IndexMeaning> indices_;
  std::vector<Groups> tensors_;  // inputs, then intermediates
};

}  // namespace

std::optional<SlotMap> group_lift(const Instance& small, const std::vector<bool>& groups, std::uint32_t rank,
                                  const Instance& large) {
  try {
    return Lift(small, groups, rank, large).run();
  } catch (const runtime::Error&) {  // a number beyond 64 bits, or a product of too many sizes
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
