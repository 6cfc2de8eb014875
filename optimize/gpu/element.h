// One element of a tensor where all sizes are numbers: a definition's body with its indices as polynomials, without the
// checks, cases and loops that these sizes decide. Kernels are written from it, and what a library computes is
// recognized in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/instance.h"
#include "optimize/gpu/index_range.h"
#include "optimize/gpu/layout.h"

namespace rulemill::optimize::gpu {

/// value relation 0.
struct Guard {
  algebra::Relation relation = algebra::Relation::Eq;
  algebra::Poly value;
};

struct Element;
using ElementPtr = std::shared_ptr<const Element>;

/// As ScalarExpr, over the indices of a Body.
struct Element {
  using Kind = algebra::ScalarExpr::Kind;
  Kind kind = Kind::Constant;
  double value = 0;                    // Constant
  std::uint32_t tensor = 0;            // Read: the instance's inputs first, then its intermediates
  std::uint32_t function = 0;          // Apply
  std::vector<algebra::Poly> indices;  // Read; InverseSize has one
  std::vector<algebra::Atom> bound;    // Sum, Max
  std::vector<Guard> guard;            // Max, Case: those that may fail
  std::vector<ElementPtr> operands;
};

/// element(indices), for 0 ≤ indices[d] < dims[d]; row-major.
struct Body {
  std::vector<std::int64_t> dims;
  std::vector<algebra::Atom> indices;
  Extents extents;  // of the indices and of what is bound in the element
  ElementPtr element;

  std::int64_t elements() const;
};

/// An instance at fixed sizes: what its intermediates, then its outputs are. Each may read what stands before it.
struct Bodies {
  std::vector<std::vector<std::int64_t>> dims;  // by tensor as Read names them: inputs, intermediates, outputs
  std::size_t inputs = 0, intermediates = 0;
  std::vector<Body> computed;  // intermediates, then outputs
};

/// `numbers` are the values of inputs of one element, where they are known. Nothing if the shapes do not type.
std::optional<Bodies> bodies_of(const algebra::Instance& instance, std::span<const std::vector<std::int64_t>> inputs,
                                std::span<const std::int64_t> size_parameters, algebra::Symbols& symbols,
                                std::span<const std::optional<double>> numbers = {});

/// The element with other indices, and with tensors renumbered where `tensors` is not empty.
ElementPtr replaced(const ElementPtr& element, const algebra::Substitution& indices,
                    std::span<const std::uint32_t> tensors, algebra::Symbols& symbols);
ElementPtr simplified(const ElementPtr& element, const Extents& extents, algebra::Symbols& symbols);
/// Calls `visit` for the element and all below it.
void each_below(const Element& element, const std::function<void(const Element&)>& visit);
/// The index of a dimension as it stands in the element: 0 where there is only one.
algebra::Poly index_of(const Body& body, std::size_t dimension);

/// Position of an element in memory.
algebra::Poly position(std::span<const algebra::Poly> indices, std::span<const std::int64_t> dims,
                       Layout layout = Layout::RowMajor);
/// The position that the body is the element of.
algebra::Poly own_position(const Body& body, Layout layout = Layout::RowMajor);
/// Whether the index is inside the dimension for all values of what it is made of.
bool inside(const algebra::Poly& index, std::int64_t dim, const Extents& extents, const algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
