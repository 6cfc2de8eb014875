#include "optimize/onnx/shapes/size_bounds.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize {

namespace {

/// A size at which most dynamic models run: a multiple of small powers of two.
constexpr std::int64_t probe_size = 512;

class SizeBoundSearch {
 public:
  SizeBoundSearch(const NodeQuery& query, std::span<const DynamicDim> dynamic_dims, GraphBank& bank)
      : query_(query), dynamic_dims_(dynamic_dims), bank_(bank) {}

  std::optional<LowerBound> run() {
    if (bank_.library().onnx_mappings(query_.description.op_type, query_.description.domain).empty())
      return std::nullopt;
    std::vector<std::int64_t> values(dynamic_dims_.size(), probe_size);
    std::vector<std::size_t> occurring;
    for (std::size_t i = 0; i < dynamic_dims_.size(); ++i) {
      if (dynamic_dims_[i].offset < probe_size && occurs(dynamic_dims_[i].atom)) occurring.push_back(i);
    }
    if (occurring.empty() || !is_resolvable(values)) return std::nullopt;
    for (const std::size_t i : occurring) {
      for (values[i] = 1; values[i] < probe_size && !is_resolvable(values);) ++values[i];
      if (values[i] > 1) return LowerBound{dynamic_dims_[i].name, values[i] + dynamic_dims_[i].offset};
      values[i] = probe_size;
    }
    return std::nullopt;
  }

 private:
  bool occurs(algebra::Atom atom) const {
    return std::ranges::any_of(query_.inputs, [&](const std::optional<ValueId>& input) {
      if (!input || !bank_.value(*input).type) return false;
      return std::ranges::any_of(*bank_.value(*input).type,
                                 [&](const algebra::Poly& dim) { return bank_.symbols().contains(dim, atom); });
    });
  }

  bool is_resolvable(const std::vector<std::int64_t>& values) {
    algebra::Substitution at;
    for (std::size_t i = 0; i < dynamic_dims_.size(); ++i) at.emplace(dynamic_dims_[i].atom, algebra::Poly(values[i]));
    const auto set = [&](algebra::Poly& poly) { poly = bank_.symbols().substitute(poly, at); };
    NodeQuery instantiated = query_;
    for (auto& input : instantiated.inputs) {
      if (!input || !bank_.value(*input).type) continue;
      ValueType type = bank_.value(*input).type;
      std::ranges::for_each(*type, set);
      input = bank_.input(bank_.value(*input).name, type);
    }
    for (ValueType& type : instantiated.outputs) type = std::nullopt;  // declared types are symbolic, not numbers
    for (auto& literal : instantiated.description.constant_inputs) {
      if (literal) std::ranges::for_each(literal->integers, set);
    }
    return std::holds_alternative<LoweredNode>(resolve_node(instantiated, bank_));
  }

  const NodeQuery& query_;
  std::span<const DynamicDim> dynamic_dims_;
  GraphBank& bank_;
};

}  // namespace

std::optional<LowerBound> find_lower_bound(const NodeQuery& query, std::span<const DynamicDim> dynamic_dims,
                                           GraphBank& bank) {
  try {
    return SizeBoundSearch(query, dynamic_dims, bank).run();
  } catch (const algebra::Overflow&) {
    return std::nullopt;
  }
}

}  // namespace rulemill::optimize
