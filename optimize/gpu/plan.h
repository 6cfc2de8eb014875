// How a graph at known sizes is run on a GPU: which tensors are computed, by which library or kernel, in which order,
// and where each is kept. Made without a device.
//
// What one tensor's definition reads of another element by element becomes one definition, where nobody else needs the
// other: so chains of element-wise operators are one kernel, and a bias and an activation go into the product or
// convolution before them. What only renames places (a reshape) is no step at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimize/evaluate.h"
#include "optimize/gpu/arena.h"
#include "optimize/gpu/form.h"
#include "optimize/gpu/kernel_source.h"
#include "optimize/gpu/layouts.h"
#include "optimize/gpu/tensors.h"
#include "optimize/graph.h"

namespace rulemill::optimize::gpu {

struct Plan {
  static constexpr std::uint32_t no_kernel = 0xffffffff;

  struct Tensor {
    std::vector<std::int64_t> dims;
    bool constant = false;   // in the memory of constants; else in the arena
    std::size_t offset = 0;  // bytes
    Layout layout = Layout::RowMajor;
    std::int64_t elements() const;
  };
  struct Step {
    std::uint32_t out = 0;
    std::vector<std::uint32_t> reads;  // all of them; of a kernel in the order of its parameters
    Form form;
    std::uint32_t kernel = no_kernel;  // number among `kernels`, if no library has the form
  };
  using Port = Tensors::Port;

  std::vector<Tensor> tensors;  // those that no step needs have no memory
  std::vector<Step> steps;
  std::vector<Kernel> kernels;  // each once
  std::vector<Port> inputs, constants, outputs;
  std::vector<Lifetime> lifetimes;  // of what is in the arena
  std::size_t arena_bytes = 0, constant_bytes = 0;
  std::size_t copies = 0;  // steps from one layout to the other, and nothing else
  /// Of what depends on layouts, by their costs: as chosen, and with everything row-major. 0 where none were chosen.
  double layout_seconds = 0, row_major_seconds = 0;
};

/// Whether neighbours become one step; without, each tensor of a definition is one.
enum class Joining : std::uint8_t { None, All };

/// Values of all sizes must be known. Inputs and outputs are row-major; without costs of layouts everything is. Throws
/// Error, which names the node, for one that no definition is known of, where these are refused.
Plan plan_of(const GraphBank& bank, std::span<const ValueId> outputs, const Evaluator::Sizes& sizes,
             Joining joining = Joining::All, Unknown unknown = Unknown::Refused, LayoutCosts* layouts = nullptr);

/// As a GPU has them.
std::vector<float> floats(const algebra::Tensor& tensor);

/// "9 products, 12 convolutions, 1 pool, 0 softmax, 40 kernels (12 different); 3.1 MB at once of 20.4 MB", what is
/// given that no definition computes, and how many calls have channels last.
std::string summary_of(const Plan& plan);

}  // namespace rulemill::optimize::gpu
