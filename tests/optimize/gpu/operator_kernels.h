// The kernels of random nodes of every operator.
#pragma once

#include "optimize/gpu/kernels/kernel_source.h"
#include "tests/optimize/gpu/drawn_nodes.h"

namespace rulemill::optimize::gpu {

inline std::vector<Kernel> make_operator_kernels(algebra::Library& library, int each, algebra::Symbols& symbols) {
  std::vector<Kernel> kernels;
  for (const auto& [name, nodes] : draw_nodes(library, each, 11)) {
    for (const DrawnNode& node : nodes) {
      const auto exprs = lower_instance(*node.instance, node.shapes, node.sizes, symbols);
      for (const TensorExpr& body : exprs.value().computed)
        kernels.push_back(make_kernel(body, exprs->dims, library.functions(), symbols));
    }
  }
  return kernels;
}

}  // namespace rulemill::optimize::gpu
