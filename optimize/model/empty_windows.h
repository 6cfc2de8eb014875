// Windows over empty tensors. Runtimes reject a convolution or a pool without any point where elementwise operators and
// products return an empty tensor, so a rewrite must not create one at sizes at which the model runs.
#pragma once

#include "optimize/model/graph.h"

namespace rulemill::optimize {

class EmptyWindows {
 public:
  EmptyWindows(const GraphBank& bank, std::span<const ValueId> original);

  /// Returns true if a window operator of the graph reads or computes an empty tensor at sizes at which none of the
  /// original does. Tried are 0 and other small sizes of all dynamic dimensions, and of each alone.
  bool are_added_by(std::span<const ValueId> outputs) const;

 private:
  struct Window {
    algebra::Shape input, output;
    bool has_filter = false;
    bool operator==(const Window&) const = default;
  };
  using Sizes = std::unordered_map<algebra::Atom, std::int64_t>;

  std::vector<Window> windows_of(std::span<const ValueId> outputs) const;
  std::vector<Sizes> small_sizes(std::span<const Window> windows) const;
  bool is_rejected(const Window& window, const Sizes& sizes) const;

  const GraphBank* bank_;
  std::vector<Window> original_;
};

}  // namespace rulemill::optimize
