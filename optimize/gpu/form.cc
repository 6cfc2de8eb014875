#include "optimize/gpu/form.h"

#include <algorithm>

#include "optimize/gpu/match.h"

namespace rulemill::optimize::gpu {

using algebra::Function;
using Kind = Element::Kind;

bool is_program(const Function& function, std::span<const Function::Node> steps) {
  return std::ranges::equal(function.real, steps, [](const Function::Node& a, const Function::Node& b) {
    return a.op == b.op && (a.op != Function::Op::Number || a.number == b.number) &&
           (a.op != Function::Op::Argument || a.argument == b.argument);
  });
}

bool is_relu(const Function& function) {
  using Op = Function::Op;
  const std::array<Function::Node, 3> plain{{{Op::Argument}, {Op::Number}, {Op::Max}}};
  const std::array<Function::Node, 3> turned{{{Op::Number}, {Op::Argument}, {Op::Max}}};
  return is_program(function, plain) || is_program(function, turned);
}

Core core_of(const Body& body, std::size_t channel, const Context& context) {
  Core core{body.element.get(), {}};
  if (core.element->kind == Kind::Apply && is_relu(context.functions[core.element->function])) {
    core.epilogue.relu = true;
    core.element = core.element->operands[0].get();
  }
  if (core.element->kind != Kind::Add || core.element->operands.size() != 2 || channel >= body.dims.size()) return core;
  for (const std::size_t side : {0, 1}) {
    const Element& bias = *core.element->operands[side];
    if (bias.kind != Kind::Read) continue;
    const auto& dims = context.dims[bias.tensor];
    if (algebra::element_count(dims) != body.dims[channel] || !reads_inside(bias, body, context)) continue;
    if (position(bias.indices, dims) != index_of(body, channel)) continue;
    core.epilogue.bias = bias.tensor;
    core.element = core.element->operands[1 - side].get();
    return core;
  }
  return core;
}

bool reads_inside(const Element& read, const Body& body, const Context& context) {
  const auto& dims = context.dims[read.tensor];
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!inside(read.indices[d], dims[d], body.extents, context.symbols)) return false;
  }
  return true;
}

std::optional<Contraction> contraction_of(const Element& element) {
  Contraction found;
  const auto take = [&](const Element& factor) {
    if (factor.kind == Kind::Constant) {
      found.scale *= factor.value;
    } else if (factor.kind == Kind::Read) {
      found.reads.push_back(&factor);
    } else if (factor.kind == Kind::Sum && found.bound.empty() && factor.guard.empty()) {
      found.bound = factor.bound;
      found.inner = factor.operands[0].get();
    } else {
      return false;
    }
    return true;
  };
  const auto take_all = [&](const Element& one) {
    if (one.kind != Kind::Mul) return take(one);
    return std::ranges::all_of(one.operands, [&](const ElementPtr& factor) { return take(*factor); });
  };
  if (!take_all(element)) return std::nullopt;
  if (found.inner != nullptr && (!found.reads.empty() || !take_all(*found.inner))) return std::nullopt;
  return found;
}

Form form_of(const Body& body, const Context& context) {
  if (auto found = convolution_of(body, context)) return *found;
  if (auto found = pooling_of(body, context)) return *found;
  if (auto found = product_of(body, context)) return *found;
  if (auto found = softmax_of(body, context)) return *found;
  return {};
}

}  // namespace rulemill::optimize::gpu
