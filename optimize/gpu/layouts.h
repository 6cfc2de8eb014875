// Which tensors of a plan are kept with their channels last: chosen for all of them together, so that convolutions,
// pools, what kernels read out of order and copies from one layout to the other take the least time in all. Filters and
// other constants are converted when they are loaded, for nothing; a copy that one layout makes a mere renaming (a
// model's own transposes between the two) is no step at all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimize/gpu/form.h"
#include "optimize/gpu/layout.h"
#include "optimize/gpu/tensors.h"

namespace rulemill::optimize::gpu {

/// A convolution or a pool, all its tensors in one layout.
struct LayoutQuery {
  Form form;
  std::vector<std::int64_t> image, filters, out;  // no filters: a pool
  Layout layout = Layout::RowMajor;
};

/// "convolution 1x64x56x56 * 64x64x3x3, stride 1x1, …, bias, relu, channels last".
std::string text_of(const LayoutQuery& query);

/// What a device is like.
struct LayoutCosts {
  virtual ~LayoutCosts() = default;
  /// Seconds of the call by itself; nothing if it cannot be done so.
  virtual std::optional<double> seconds(const LayoutQuery& query) = 0;

  double bandwidth = 1e12;  // bytes per second
  double launch = 4e-6;     // seconds of a kernel that does nothing
  double scattered = 4;     // times as long takes what neighbouring threads read far apart
};

/// One step: what it computes, and how.
struct Work {
  std::uint32_t out = 0;
  Form form;                         // none: the body is a kernel
  const Body* body = nullptr;        // of a kernel
  std::vector<std::uint32_t> reads;  // each tensor once
  bool pads = false;                 // a convolution whose image gets zeros around it by a kernel first
};

struct Layouts {
  std::vector<Layout> kept;                // by tensor
  std::vector<std::vector<Layout>> reads;  // by work and read: in which layout it wants it
  double seconds = 0;                      // of what depends on layouts, by the costs
  double row_major_seconds = 0;            // the same without channels last
};

/// Everything row-major.
Layouts row_major(const Tensors& tensors, std::span<const Work> work);

/// `work` in order. What is given from outside is row-major, and what is given back is copied if it is not. Of choices
/// that take equally long, the one with the fewest tensors with channels last.
Layouts choose_layouts(const Tensors& tensors, std::span<const Work> work, LayoutCosts& costs,
                       algebra::Symbols& symbols);

/// Whether the body only renames places, if it is kept in one layout and what it reads in another.
bool only_renames(const Body& body, Layout out, std::span<const std::int64_t> read_dims, Layout read,
                  algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
