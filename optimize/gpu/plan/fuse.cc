#include "optimize/gpu/plan/fuse.h"

#include <algorithm>
#include <map>

#include "optimize/gpu/library/match.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using Kind = ElementExpr::Kind;

namespace {

/// Limits of a fused kernel.
constexpr std::size_t max_nodes = 300, max_reads = 12;

bool is_reduction(const ElementExpr& element) { return element.kind == Kind::Sum || element.kind == Kind::Max; }

/// How an expression reads a tensor.
struct ReadPattern {
  std::size_t count = 0;
  bool elementwise = true;    // always at its own index
  bool in_bounds = true;      // never out of bounds
  bool in_reduction = false;  // inside a sum or a maximum: repeatedly
};

class ProducerFusion {
 public:
  ProducerFusion(LoweredGraph& graph, std::span<const algebra::Function> functions, algebra::Symbols& symbols)
      : graph_(graph), functions_(functions), symbols_(symbols) {}

  void run() {
    count_uses();
    for (std::uint32_t t = 0; t < graph_.exprs.size(); ++t) {
      if (!graph_.exprs[t] || uses_[t] == 0) continue;
      // A fused producer can bring reads of further producers.
      for (bool fused = true; fused;) {
        const auto reads = tensors_read(*graph_.exprs[t]->element);
        fused = std::ranges::any_of(reads, [&](std::uint32_t read) { return try_fuse(t, read); });
      }
    }
  }

 private:
  /// Counts uses by needed tensors, from the outputs back.
  void count_uses() {
    uses_.assign(graph_.exprs.size(), 0);
    for (const auto& output : graph_.outputs) uses_[output.tensor] += 2;  // an output is never fused away
    for (std::size_t t = uses_.size(); t-- > 0;) {
      if (uses_[t] == 0 || !graph_.exprs[t]) continue;
      for (const std::uint32_t read : tensors_read(*graph_.exprs[t]->element)) ++uses_[read];
    }
  }

  bool try_fuse(std::uint32_t consumer, std::uint32_t producer) {
    if (!graph_.exprs[producer]) return false;
    const TensorExpr &outer = *graph_.exprs[consumer], &inner = *graph_.exprs[producer];
    ReadPattern pattern;
    analyze_reads(*outer.element, outer, producer, false, pattern);
    if (!pattern.in_bounds || !(inner.element->kind == Kind::Read ? is_profitable_copy(outer, inner, producer)
                                                                  : computed_once(outer, inner, producer, pattern)))
      return false;
    TensorExpr fused_expr = inline_producer(outer, inner, producer);
    const bool uses_library = is_library_op(inner) || is_library_op(outer);
    if (uses_library ? !is_library_op(fused_expr) : !fits_kernel(*fused_expr.element)) return false;
    graph_.exprs[consumer] = std::move(fused_expr);
    count_uses();
    return true;
  }

  /// Whether to read through a copy: if it permutes elements; a view costs nothing as it is.
  bool is_profitable_copy(const TensorExpr& outer, const TensorExpr& inner, std::uint32_t producer) const {
    const ElementExpr& read = *inner.element;
    const bool is_view = linear_offset(read.indices, graph_.dims[read.tensor]) == own_offset(inner);
    return !is_view || (uses_[producer] == 1 && outer.dims == inner.dims);
  }

  /// Whether the producer has no other use and no element is computed twice.
  bool computed_once(const TensorExpr& outer, const TensorExpr& inner, std::uint32_t producer,
                     const ReadPattern& pattern) const {
    if (uses_[producer] != 1 || pattern.in_reduction) return false;
    bool contains_reduction = false;
    for_each_subexpr(*inner.element, [&](const ElementExpr& subexpr) {
      contains_reduction = contains_reduction || is_reduction(subexpr);
    });
    if (pattern.elementwise) return outer.dims == inner.dims && (!contains_reduction || pattern.count == 1);
    return pattern.count == 1 && outer.elements() <= inner.elements();
  }

  void analyze_reads(const ElementExpr& element, const TensorExpr& expr, std::uint32_t tensor, bool in_reduction,
                     ReadPattern& pattern) const {
    if (element.kind == Kind::Read && element.tensor == tensor) {
      ++pattern.count;
      pattern.in_reduction = pattern.in_reduction || in_reduction;
      const auto& dims = graph_.dims[tensor];
      for (std::size_t d = 0; d < dims.size(); ++d) {
        pattern.elementwise = pattern.elementwise && dims == expr.dims && element.indices[d] == index_of(expr, d);
        pattern.in_bounds = pattern.in_bounds && is_in_range(element.indices[d], dims[d], expr.extents, symbols_);
      }
    }
    for (const auto& operand : element.operands)
      analyze_reads(*operand, expr, tensor, in_reduction || is_reduction(element), pattern);
  }

  /// Replaces reads of the producer by its expression, with fresh bound indices.
  TensorExpr inline_producer(const TensorExpr& outer, const TensorExpr& inner, std::uint32_t tensor) {
    TensorExpr fused_expr = outer;
    algebra::Substitution substitution;
    for (const auto& [atom, extent] : std::map(inner.extents.begin(), inner.extents.end())) {
      if (std::ranges::count(inner.indices, atom)) continue;
      Atom renamed = atom;
      while (fused_expr.extents.contains(renamed)) renamed = symbols_.index(symbols_.name(renamed) + "_");
      fused_expr.extents[renamed] = extent;
      if (renamed != atom) substitution.emplace(atom, Poly(renamed));
    }
    fused_expr.element = substitute_reads(outer.element, tensor, inner, substitution, fused_expr.extents);
    return fused_expr;
  }

  ElementExprPtr substitute_reads(const ElementExprPtr& element, std::uint32_t tensor, const TensorExpr& inner,
                                  algebra::Substitution substitution, const Extents& extents) {
    if (element->kind == Kind::Read && element->tensor == tensor) {
      for (std::size_t d = 0; d < inner.indices.size(); ++d) substitution[inner.indices[d]] = element->indices[d];
      return simplify(substitute(inner.element, substitution, {}, symbols_), extents, symbols_);
    }
    auto result = std::make_shared<ElementExpr>(*element);
    for (auto& operand : result->operands) operand = substitute_reads(operand, tensor, inner, substitution, extents);
    return result;
  }

  bool is_library_op(const TensorExpr& expr) const {
    const MatchContext context{graph_.dims, functions_, symbols_, [](std::uint32_t) { return nullptr; }};
    return !std::holds_alternative<std::monostate>(recognize_library_op(expr, context));
  }

  bool fits_kernel(const ElementExpr& element) const {
    std::size_t count = 0;
    for_each_subexpr(element, [&](const ElementExpr&) { ++count; });
    return count <= max_nodes && tensors_read(element).size() <= max_reads;
  }

  LoweredGraph& graph_;
  std::span<const algebra::Function> functions_;
  algebra::Symbols& symbols_;
  std::vector<std::size_t> uses_;
};

}  // namespace

void fuse_producers(LoweredGraph& graph, std::span<const algebra::Function> functions, algebra::Symbols& symbols) {
  ProducerFusion(graph, functions, symbols).run();
}

}  // namespace rulemill::optimize::gpu
