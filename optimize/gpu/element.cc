#include "optimize/gpu/element.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using algebra::Relation;
using algebra::ScalarExpr;
using Kind = Element::Kind;

namespace {

ElementPtr number(double value) {
  auto made = std::make_shared<Element>();
  made->value = value;
  return made;
}

class Lowering {
 public:
  Lowering(const Bodies& bodies, std::span<const std::int64_t> sizes, std::span<const std::optional<double>> numbers,
           algebra::Symbols& symbols)
      : bodies_(bodies), sizes_(sizes.begin(), sizes.end()), numbers_(numbers), symbols_(symbols) {}

  Body body(const algebra::TensorDefinition& definition, std::size_t index_slots) {
    Body body;
    indices_.assign(std::max(index_slots, definition.dims.size()), Poly());
    for (std::size_t d = 0; d < definition.dims.size(); ++d) {
      body.dims.push_back(std::max<std::int64_t>(0, algebra::evaluate(*definition.dims[d], sizes_, {})));
      const Atom index = symbols_.index("i" + std::to_string(d));
      body.indices.push_back(index);
      indices_[d] = Poly(index);
      extents_[index] = std::max<std::int64_t>(1, body.dims.back());
    }
    body.element = element(*definition.body);
    body.extents = std::move(extents_);
    return body;
  }

 private:
  ElementPtr element(const ScalarExpr& expr) {
    auto made = std::make_shared<Element>();
    made->kind = expr.kind;
    switch (expr.kind) {
      case Kind::Constant:
        return number(static_cast<double>(expr.value.num) / static_cast<double>(expr.value.den));
      case Kind::InverseSize:
        made->indices = {index(*expr.indices[0])};
        if (const auto size = made->indices[0].constant()) return number(1.0 / static_cast<double>(*size));
        return made;
      case Kind::Read:
        return read(expr, *made);
      case Kind::Sum:
      case Kind::Max:
        return reduction(expr, *made);
      case Kind::Case: {
        const auto guard = guards(expr.guard);
        if (!guard) return element(*expr.operands[1]);
        if (guard->empty()) return element(*expr.operands[0]);
        made->guard = *guard;
        break;
      }
      default:
        made->function = expr.function;
        break;
    }
    for (const auto& operand : expr.operands) made->operands.push_back(element(*operand));
    return without_ones(made);
  }

  /// A factor of one is none, as of a Gemm whose numbers the model fixes.
  static ElementPtr without_ones(const std::shared_ptr<Element>& element) {
    if (element->kind != Kind::Mul) return element;
    std::erase_if(element->operands,
                  [](const ElementPtr& factor) { return factor->kind == Kind::Constant && factor->value == 1; });
    if (element->operands.empty()) return number(1);
    return element->operands.size() == 1 ? element->operands[0] : element;
  }

  ElementPtr read(const ScalarExpr& expr, Element made) {
    made.tensor = expr.tensor;
    if (expr.tensor < numbers_.size() && numbers_[expr.tensor] && bodies_.dims[expr.tensor].empty())
      return number(*numbers_[expr.tensor]);
    const auto& dims = bodies_.dims[expr.tensor];
    for (std::size_t d = 0; d < expr.indices.size(); ++d) {
      made.indices.push_back(index(*expr.indices[d]));
      const Range range = range_of(made.indices.back(), extents_, symbols_);
      if (range.high < 0 || range.low >= dims[d]) return number(0);
    }
    return std::make_shared<Element>(std::move(made));
  }

  ElementPtr reduction(const ScalarExpr& expr, Element made) {
    for (const auto& bound : expr.bound) {
      const std::int64_t extent = algebra::evaluate(*bound.extent, sizes_, {});
      if (extent < 1) return number(0);
      std::string name = "r" + std::to_string(bound.slot);
      while (extents_.contains(symbols_.index(name))) name += "_";  // in another branch
      const Atom index = symbols_.index(name);
      indices_[bound.slot] = Poly(index);
      extents_[index] = extent;
      if (extent > 1) made.bound.push_back(index);
    }
    const auto guard = guards(expr.guard);
    if (!guard) return number(0);
    made.guard = *guard;
    made.operands = {element(*expr.operands[0])};
    if (made.bound.empty() && made.guard.empty()) return made.operands[0];
    return std::make_shared<Element>(std::move(made));
  }

  /// Those that may fail; nothing if one never holds.
  std::optional<std::vector<Guard>> guards(std::span<const algebra::Comparison> comparisons) {
    std::vector<Guard> result;
    for (const auto& comparison : comparisons) {
      const Poly value = simplified(index(*comparison.a) - index(*comparison.b), extents_, symbols_);
      const Range range = range_of(value, extents_, symbols_);
      const bool zero = range.low == 0 && range.high == 0, no_zero = range.high < 0 || range.low > 0;
      bool always = false, never = false;
      switch (comparison.relation) {
        case Relation::Eq:
          always = zero, never = no_zero;
          break;
        case Relation::Ne:
          always = no_zero, never = zero;
          break;
        case Relation::Lt:
          always = range.high < 0, never = range.low >= 0;
          break;
        case Relation::Le:
          always = range.high <= 0, never = range.low > 0;
          break;
      }
      if (never) return std::nullopt;
      if (!always) result.push_back({comparison.relation, value});
    }
    return result;
  }

  Poly index(const algebra::IndexExpr& expr) {
    return simplified(algebra::evaluate(expr, sizes_as_polys(), indices_, symbols_), extents_, symbols_);
  }
  const std::vector<Poly>& sizes_as_polys() {
    if (size_polys_.empty()) size_polys_.assign(sizes_.begin(), sizes_.end());
    return size_polys_;
  }

  const Bodies& bodies_;
  std::vector<std::int64_t> sizes_;
  std::vector<Poly> size_polys_;
  std::span<const std::optional<double>> numbers_;
  algebra::Symbols& symbols_;
  std::vector<Poly> indices_;
  Extents extents_;
};

}  // namespace

std::int64_t Body::elements() const { return algebra::element_count(dims); }

std::optional<Bodies> bodies_of(const algebra::Instance& instance, std::span<const std::vector<std::int64_t>> inputs,
                                std::span<const std::int64_t> size_parameters, algebra::Symbols& symbols,
                                std::span<const std::optional<double>> numbers) {
  std::vector<std::int64_t> sizes;
  if (!algebra::infer(instance, inputs, size_parameters, &sizes)) return std::nullopt;
  Bodies bodies{{inputs.begin(), inputs.end()}, inputs.size(), instance.intermediates.size(), {}};
  for (const auto* definitions : {&instance.intermediates, &instance.outputs}) {
    for (const auto& definition : *definitions) {
      bodies.computed.push_back(Lowering(bodies, sizes, numbers, symbols).body(definition, instance.index_slots));
      // An output is no tensor that others read; its number is given all the same.
      bodies.dims.push_back(bodies.computed.back().dims);
    }
  }
  return bodies;
}

ElementPtr replaced(const ElementPtr& element, const algebra::Substitution& indices,
                    std::span<const std::uint32_t> tensors, algebra::Symbols& symbols) {
  auto made = std::make_shared<Element>(*element);
  if (made->kind == Kind::Read && !tensors.empty()) made->tensor = tensors[made->tensor];
  for (Poly& index : made->indices) index = symbols.substitute(index, indices);
  for (Guard& guard : made->guard) guard.value = symbols.substitute(guard.value, indices);
  for (Atom& bound : made->bound) {
    const auto found = indices.find(bound);
    if (found != indices.end()) bound = found->second.atom().value();
  }
  for (ElementPtr& operand : made->operands) operand = replaced(operand, indices, tensors, symbols);
  return made;
}

ElementPtr simplified(const ElementPtr& element, const Extents& extents, algebra::Symbols& symbols) {
  auto made = std::make_shared<Element>(*element);
  for (Poly& index : made->indices) index = simplified(index, extents, symbols);
  for (Guard& guard : made->guard) guard.value = simplified(guard.value, extents, symbols);
  for (ElementPtr& operand : made->operands) operand = simplified(operand, extents, symbols);
  return made;
}

void each_below(const Element& element, const std::function<void(const Element&)>& visit) {
  visit(element);
  for (const ElementPtr& operand : element.operands) each_below(*operand, visit);
}

Poly index_of(const Body& body, std::size_t dimension) {
  return body.dims[dimension] == 1 ? Poly(0) : Poly(body.indices[dimension]);
}

Poly position(std::span<const Poly> indices, std::span<const std::int64_t> dims, Layout layout) {
  Poly result;
  for (const std::size_t d : memory_order(layout, dims.size())) result = result * Poly(dims[d]) + indices[d];
  return result;
}

Poly own_position(const Body& body, Layout layout) {
  std::vector<Poly> indices;
  for (std::size_t d = 0; d < body.dims.size(); ++d) indices.push_back(index_of(body, d));
  return position(indices, body.dims, layout);
}

bool inside(const Poly& index, std::int64_t dim, const Extents& extents, const algebra::Symbols& symbols) {
  const Range range = range_of(index, extents, symbols);
  return range.low >= 0 && range.high < dim;
}

}  // namespace rulemill::optimize::gpu
