// Layout assignment: the layout of every tensor of a plan, chosen jointly to minimize the time of convolutions, pools,
// uncoalesced reads in kernels, and copies between layouts. Filters and other constants are converted when they are
// loaded, at no cost; a transpose that the layouts turn into a view (a model's own NCHW-NHWC conversion) is no step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimize/gpu/library/library_op.h"
#include "optimize/gpu/lowering/layout.h"
#include "optimize/gpu/lowering/lowered_graph.h"

namespace rulemill::optimize::gpu {

/// A convolution or a pool with all its tensors in one layout.
struct LayoutQuery {
  LibraryOp op;
  std::vector<std::int64_t> image, filters, out;  // no filters: a pool
  Layout layout = Layout::RowMajor;
};

/// Describes the call: "convolution 1x64x56x56 * 64x64x3x3, stride 1x1, …, bias, relu, channels last".
std::string describe(const LayoutQuery& query);

/// The costs of a device.
struct LayoutCosts {
  virtual ~LayoutCosts() = default;
  /// Returns the seconds of a call; nullopt if the library does not support it.
  virtual std::optional<double> seconds(const LayoutQuery& query) = 0;

  double bandwidth = 1e12;       // bytes per second
  double launch_seconds = 4e-6;  // seconds of an empty kernel
  double scatter_factor = 4;     // slowdown of uncoalesced reads
};

/// A step to plan: a library operation or a kernel.
struct Operation {
  std::uint32_t out = 0;
  LibraryOp op;                      // monostate: a kernel
  const TensorExpr* expr = nullptr;  // of a kernel; else null
  std::vector<std::uint32_t> reads;  // without duplicates
  bool pads_image = false;           // a convolution whose image is padded by a kernel first
};

struct LayoutAssignment {
  std::vector<Layout> tensors;             // by tensor
  std::vector<std::vector<Layout>> reads;  // by operation and read: the layout that it reads
  double seconds = 0;                      // cost of everything that depends on layouts
  double row_major_seconds = 0;            // the same with all tensors row-major
};

/// Returns the assignment with all tensors row-major.
LayoutAssignment row_major_layouts(const LoweredGraph& graph, std::span<const Operation> operations);

/// Assigns layouts to `operations`, in order. Inputs are row-major; outputs are copied if they are not. Of assignments
/// with equal cost, returns one with the fewest channels-last tensors.
LayoutAssignment assign_layouts(const LoweredGraph& graph, std::span<const Operation> operations, LayoutCosts& costs,
                                algebra::Symbols& symbols);

/// Whether the expression is a view of the tensor it reads, given both layouts: a copy that keeps all offsets.
bool is_view(const TensorExpr& expr, Layout out, std::span<const std::int64_t> read_dims, Layout read,
             algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
