// The kernels of random nodes of every operator.
#pragma once

#include "optimize/gpu/kernel_source.h"
#include "tests/optimize/gpu/draws.h"

namespace rulemill::optimize::gpu {

inline std::vector<Kernel> kernels_of_all(algebra::Library& library, int each, algebra::Symbols& symbols) {
  std::vector<Kernel> kernels;
  for (const auto& [name, nodes] : drawn_nodes(library, each, 11)) {
    for (const Drawn& node : nodes) {
      const auto bodies = bodies_of(*node.instance, node.shapes, node.sizes, symbols);
      for (const Body& body : bodies.value().computed)
        kernels.push_back(kernel_of(body, bodies->dims, library.functions(), symbols));
    }
  }
  return kernels;
}

}  // namespace rulemill::optimize::gpu
