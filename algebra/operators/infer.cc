// The type rule of an operator instance, at concrete sizes and on symbolic shapes.
#include <algorithm>

#include "algebra/operators/operator_instance.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

/// Whether difference ≥ 0 is shown, by inspection or as a fact plus a nonnegative polynomial.
bool is_shown_nonnegative(const Poly& difference, const Symbols& symbols, std::span<const Poly> facts) {
  if (symbols.is_nonnegative(difference)) return true;
  return std::ranges::any_of(facts, [&](const Poly& fact) { return symbols.is_nonnegative(difference - fact); });
}

bool is_shown(Relation relation, const Poly& a, const Poly& b, const Symbols& symbols, std::span<const Poly> facts) {
  switch (relation) {
    case Relation::Eq:
      return a == b;
    case Relation::Ne:
      return is_shown_nonnegative(a - b - Poly(1), symbols, facts) ||
             is_shown_nonnegative(b - a - Poly(1), symbols, facts);
    case Relation::Lt:
      return is_shown_nonnegative(b - a - Poly(1), symbols, facts);
    default:
      return is_shown_nonnegative(b - a, symbols, facts);
  }
}

/// Binds the size slots to the inputs' dimensions and the node's size parameters; `sizes` receives the values.
template <class Size>
bool bind_sizes(const OperatorInstance& instance, std::span<const std::vector<Size>> inputs,
                std::span<const Size> parameters, std::vector<Size>& sizes) {
  if (inputs.size() != instance.inputs.size() || parameters.size() != instance.size_parameter_count()) return false;
  sizes.assign(instance.size_names.size(), Size{});
  std::copy(parameters.begin(), parameters.end(), sizes.begin() + instance.first_size_parameter);
  std::uint32_t bound = 0;  // slots are numbered in order of first use
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& dims = instance.inputs[i];
    if (inputs[i].size() != dims.size()) return false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Size& actual = inputs[i][d];
      if (dims[d]->kind == IndexExpr::Kind::Constant) {
        if (!(actual == Size(dims[d]->value))) return false;
      } else if (const std::uint32_t slot = dims[d]->slot; slot < bound || slot >= instance.first_size_parameter) {
        if (!(sizes[slot] == actual)) return false;
      } else {
        sizes[slot] = actual;
        bound = slot + 1;
      }
    }
  }
  return true;
}

std::optional<std::vector<std::vector<std::int64_t>>> infer_concrete(const OperatorInstance& instance,
                                                                     std::span<const std::vector<std::int64_t>> inputs,
                                                                     std::span<const std::int64_t> size_parameters,
                                                                     std::vector<std::int64_t>* sizes_out) {
  std::vector<std::int64_t> sizes;
  if (!bind_sizes<std::int64_t>(instance, inputs, size_parameters, sizes)) return std::nullopt;
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 1; })) return std::nullopt;
  for (const Comparison& condition : instance.conditions) {
    if (!holds(condition.relation, evaluate(*condition.a, sizes, {}), evaluate(*condition.b, sizes, {})))
      return std::nullopt;
  }
  std::vector<std::vector<std::int64_t>> shapes;
  for (const TensorDefinition& output : instance.outputs) {
    auto& shape = shapes.emplace_back();
    for (const IndexExprPtr& dim : output.dims) {
      shape.push_back(evaluate(*dim, sizes, {}));
      if (shape.back() < 1) return std::nullopt;
    }
    element_count(shape);
  }
  if (sizes_out) *sizes_out = std::move(sizes);
  return shapes;
}

std::optional<std::vector<Shape>> infer_symbolic(const OperatorInstance& instance, std::span<const Shape> inputs,
                                                 std::span<const Poly> size_parameters, Symbols& symbols,
                                                 std::span<const Poly> facts, std::vector<Poly>* sizes_out) {
  std::vector<Poly> sizes;
  if (!bind_sizes<Poly>(instance, inputs, size_parameters, sizes)) return std::nullopt;
  const auto is_positive = [&](const Poly& size) { return is_shown_nonnegative(size - Poly(1), symbols, facts); };
  if (!std::ranges::all_of(size_parameters, is_positive)) return std::nullopt;
  for (const Comparison& condition : instance.conditions) {
    const Poly a = evaluate(*condition.a, sizes, {}, symbols), b = evaluate(*condition.b, sizes, {}, symbols);
    if (!is_shown(condition.relation, a, b, symbols, facts)) return std::nullopt;
  }
  std::vector<Shape> shapes;
  for (const TensorDefinition& output : instance.outputs) {
    Shape& shape = shapes.emplace_back();
    for (const IndexExprPtr& dim : output.dims) {
      shape.push_back(evaluate(*dim, sizes, {}, symbols));
      if (!is_positive(shape.back())) return std::nullopt;
    }
  }
  if (sizes_out) *sizes_out = std::move(sizes);
  return shapes;
}

}  // namespace

std::optional<std::vector<std::vector<std::int64_t>>> infer(const OperatorInstance& instance,
                                                            std::span<const std::vector<std::int64_t>> inputs,
                                                            std::span<const std::int64_t> size_parameters,
                                                            std::vector<std::int64_t>* sizes_out) {
  try {
    return infer_concrete(instance, inputs, size_parameters, sizes_out);
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

std::optional<std::vector<Shape>> infer(const OperatorInstance& instance, std::span<const Shape> inputs,
                                        std::span<const Poly> size_parameters, Symbols& symbols,
                                        std::span<const Poly> facts, std::vector<Poly>* sizes_out) {
  try {
    return infer_symbolic(instance, inputs, size_parameters, symbols, facts, sizes_out);
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
