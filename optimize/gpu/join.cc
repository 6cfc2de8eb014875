// Neighbours as one definition.
#include <algorithm>
#include <map>

#include "optimize/gpu/form.h"
#include "optimize/gpu/tensors.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using Kind = Element::Kind;

namespace {

/// What a kernel may have in all.
constexpr std::size_t most_elements = 300, most_reads = 12;

bool reduces(const Element& element) { return element.kind == Kind::Sum || element.kind == Kind::Max; }

/// How an element reads a tensor.
struct Reading {
  std::size_t times = 0;
  bool own = true;       // at its own place
  bool inside = true;    // nowhere outside of the tensor
  bool reduced = false;  // below a sum or a maximum: more than once
};

class Joining {
 public:
  Joining(Tensors& tensors, std::span<const algebra::Function> functions, algebra::Symbols& symbols)
      : tensors_(tensors), functions_(functions), symbols_(symbols) {}

  void run() {
    count_uses();
    for (std::uint32_t t = 0; t < tensors_.bodies.size(); ++t) {
      if (!tensors_.bodies[t] || uses_[t] == 0) continue;
      // What is taken in can bring reads of what can be taken in, too.
      for (bool more = true; more;) {
        const auto reads = reads_of(*tensors_.bodies[t]->element);
        more = std::ranges::any_of(reads, [&](std::uint32_t read) { return take_in(t, read); });
      }
    }
  }

 private:
  /// By those that are needed, from the outputs back.
  void count_uses() {
    uses_.assign(tensors_.bodies.size(), 0);
    for (const auto& output : tensors_.outputs) uses_[output.tensor] += 2;  // it must be there by itself
    for (std::size_t t = uses_.size(); t-- > 0;) {
      if (uses_[t] == 0 || !tensors_.bodies[t]) continue;
      for (const std::uint32_t read : reads_of(*tensors_.bodies[t]->element)) ++uses_[read];
    }
  }

  bool take_in(std::uint32_t user, std::uint32_t made) {
    if (!tensors_.bodies[made]) return false;
    const Body &outer = *tensors_.bodies[user], &inner = *tensors_.bodies[made];
    Reading reading;
    look(*outer.element, outer, made, false, reading);
    if (!reading.inside || !(inner.element->kind == Kind::Read ? worth_reading_through(outer, inner, made)
                                                               : computed_once(outer, inner, made, reading)))
      return false;
    Body joined = with(outer, inner, made);
    const bool by_library = has_form(inner) || has_form(outer);
    if (by_library ? !has_form(joined) : !small(*joined.element)) return false;
    tensors_.bodies[user] = std::move(joined);
    count_uses();
    return true;
  }

  /// A copy in another order is read where it comes from; one in the same order costs nothing as it is.
  bool worth_reading_through(const Body& outer, const Body& inner, std::uint32_t made) const {
    const Element& read = *inner.element;
    const bool same_order = position(read.indices, tensors_.dims[read.tensor]) == own_position(inner);
    return !same_order || (uses_[made] == 1 && outer.dims == inner.dims);
  }

  /// Nobody else needs it, and no element is computed twice.
  bool computed_once(const Body& outer, const Body& inner, std::uint32_t made, const Reading& reading) const {
    if (uses_[made] != 1 || reading.reduced) return false;
    bool reduces_itself = false;
    each_below(*inner.element, [&](const Element& one) { reduces_itself = reduces_itself || reduces(one); });
    if (reading.own) return outer.dims == inner.dims && (!reduces_itself || reading.times == 1);
    return reading.times == 1 && outer.elements() <= inner.elements();
  }

  void look(const Element& element, const Body& body, std::uint32_t tensor, bool reduced, Reading& reading) const {
    if (element.kind == Kind::Read && element.tensor == tensor) {
      ++reading.times;
      reading.reduced = reading.reduced || reduced;
      const auto& dims = tensors_.dims[tensor];
      for (std::size_t d = 0; d < dims.size(); ++d) {
        reading.own = reading.own && dims == body.dims && element.indices[d] == index_of(body, d);
        reading.inside = reading.inside && inside(element.indices[d], dims[d], body.extents, symbols_);
      }
    }
    for (const auto& operand : element.operands) look(*operand, body, tensor, reduced || reduces(element), reading);
  }

  /// The outer definition with the inner one wherever it was read; what is bound there gets names of its own.
  Body with(const Body& outer, const Body& inner, std::uint32_t tensor) {
    Body joined = outer;
    algebra::Substitution names;
    for (const auto& [atom, extent] : std::map(inner.extents.begin(), inner.extents.end())) {
      if (std::ranges::count(inner.indices, atom)) continue;
      Atom own = atom;
      while (joined.extents.contains(own)) own = symbols_.index(symbols_.name(own) + "_");
      joined.extents[own] = extent;
      if (own != atom) names.emplace(atom, Poly(own));
    }
    joined.element = put(outer.element, tensor, inner, names, joined.extents);
    return joined;
  }

  ElementPtr put(const ElementPtr& element, std::uint32_t tensor, const Body& inner, algebra::Substitution names,
                 const Extents& extents) {
    if (element->kind == Kind::Read && element->tensor == tensor) {
      for (std::size_t d = 0; d < inner.indices.size(); ++d) names[inner.indices[d]] = element->indices[d];
      return simplified(replaced(inner.element, names, {}, symbols_), extents, symbols_);
    }
    auto made = std::make_shared<Element>(*element);
    for (auto& operand : made->operands) operand = put(operand, tensor, inner, names, extents);
    return made;
  }

  bool has_form(const Body& body) const {
    const Context context{tensors_.dims, functions_, symbols_, [](std::uint32_t) { return nullptr; }};
    return !std::holds_alternative<std::monostate>(form_of(body, context));
  }

  bool small(const Element& element) const {
    std::size_t count = 0;
    each_below(element, [&](const Element&) { ++count; });
    return count <= most_elements && reads_of(element).size() <= most_reads;
  }

  Tensors& tensors_;
  std::span<const algebra::Function> functions_;
  algebra::Symbols& symbols_;
  std::vector<std::size_t> uses_;
};

}  // namespace

void join_neighbours(Tensors& tensors, std::span<const algebra::Function> functions, algebra::Symbols& symbols) {
  Joining(tensors, functions, symbols).run();
}

}  // namespace rulemill::optimize::gpu
