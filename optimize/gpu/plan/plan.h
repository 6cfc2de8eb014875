// The execution plan of a graph at numeric sizes on a GPU: which tensors are computed, by which library operation or
// kernel, in which order, and where each is stored. Made without a GPU.
//
// An element-wise chain becomes one kernel, and a bias and an activation are fused into the product or convolution
// before them (fuse.h). A view (a reshape) is no step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimize/gpu/kernels/kernel_source.h"
#include "optimize/gpu/library/library_op.h"
#include "optimize/gpu/lowering/lowered_graph.h"
#include "optimize/gpu/plan/assign_layouts.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize::gpu {

// Memory for all tensors of a plan. Tensors whose lifetimes do not overlap share memory.

/// A tensor that is needed from step `first` to step `last`, inclusive.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;

  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

struct Arena {
  std::vector<std::size_t> offsets;  // by lifetime; multiples of arena_alignment
  std::size_t bytes = 0;
};

inline constexpr std::size_t arena_alignment = 256;  // that of cudaMalloc; sufficient for vector loads

/// Assigns offsets greedily: largest first, each at the lowest free offset.
Arena pack_arena(std::span<const Lifetime> lifetimes);

/// Returns the maximum number of bytes alive at one step, a lower bound for any arena.
std::size_t min_arena_bytes(std::span<const Lifetime> lifetimes);

struct Plan {
  static constexpr std::uint32_t no_kernel = 0xffffffff;

  struct Tensor {
    std::vector<std::int64_t> dims;
    bool constant = false;   // in constant memory; else in the arena
    std::size_t offset = 0;  // in bytes
    Layout layout = Layout::RowMajor;
    std::int64_t elements() const;
  };
  struct Step {
    std::uint32_t out = 0;
    std::vector<std::uint32_t> reads;  // all of them; of a kernel in the order of its parameters
    LibraryOp op;
    std::uint32_t kernel = no_kernel;  // index in `kernels`; no_kernel for a library operation
  };
  using Port = LoweredGraph::Port;

  std::vector<Tensor> tensors;  // unneeded ones have no memory
  std::vector<Step> steps;
  std::vector<Kernel> kernels;  // without duplicates
  std::vector<Port> inputs, constants, outputs;
  std::vector<Lifetime> lifetimes;  // of tensors in the arena
  std::size_t arena_bytes = 0, constant_bytes = 0;
  std::size_t copies = 0;  // steps that only convert layouts
  /// Cost of what depends on layouts: as assigned, and with all tensors row-major. 0 if layouts were not assigned.
  double layout_seconds = 0, row_major_seconds = 0;
};

/// Whether expressions are fused; otherwise each tensor of a definition is one step.
enum class KernelFusion : std::uint8_t { None, All };

/// Plans the graph of the outputs. `sizes` must contain all sizes. Inputs and outputs are row-major; without `layouts`
/// all tensors are. Throws Error, naming the node, for an opaque node if they are rejected.
Plan make_plan(const GraphBank& bank, std::span<const ValueId> outputs, const GraphEvaluator::Sizes& sizes,
               KernelFusion fusion = KernelFusion::All, OpaqueNodes opaque_nodes = OpaqueNodes::Rejected,
               LayoutCosts* layouts = nullptr);

/// Converts the values to float32.
std::vector<float> to_floats(const algebra::Tensor& tensor);

/// Summarizes a plan: "9 products, 12 convolutions, 1 pools, 0 softmax, 40 kernels (12 different); 3.1 MiB of memory
/// for 20.4 MiB of tensors", the number of inputs from opaque nodes, and the number of channels-last calls.
std::string summarize(const Plan& plan);

}  // namespace rulemill::optimize::gpu
