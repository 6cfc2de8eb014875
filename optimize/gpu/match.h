// The single forms, and what they have in common. Private to form.cc and its parts.
#pragma once

#include "algebra/sizes/checked.h"
#include "optimize/gpu/form.h"

namespace rulemill::optimize::gpu {

bool is_program(const algebra::Function& function, std::span<const algebra::Function::Node> steps);

/// An element without what is done to it last. The bias is along dimension `channel` of the body.
struct Core {
  const Element* element;
  Epilogue epilogue;
};
Core core_of(const Body& body, std::size_t channel, const Context& context);

/// Whether no index of the read leaves its tensor.
bool reads_inside(const Element& read, const Body& body, const Context& context);

/// scale · Σ_bound reads[0] · reads[1] ….
struct Contraction {
  double scale = 1;
  std::vector<algebra::Atom> bound;
  std::vector<const Element*> reads;
  const Element* inner = nullptr;
};
std::optional<Contraction> contraction_of(const Element& element);

std::optional<Convolution> convolution_of(const Body& body, const Context& context);
std::optional<Pooling> pooling_of(const Body& body, const Context& context);
std::optional<Product> product_of(const Body& body, const Context& context);
std::optional<Softmax> softmax_of(const Body& body, const Context& context);

}  // namespace rulemill::optimize::gpu
