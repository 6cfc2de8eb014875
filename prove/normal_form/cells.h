// Cell decomposition for scalar functions and maxima of sums whose products have different guards. In a cell, every
// guard that does not depend on a bound index is decided, so that arguments need no outer case distinction.
#pragma once

#include <functional>

#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Calls `leaf` with the arguments restricted to each feasible cell, and adds the cell's guards to its result. Guards
/// of the arguments that mention `inner` or a product's own bound indices stay inside.
Sum split_into_cells(std::vector<Sum> arguments, const std::vector<Atom>& inner, const Guards& known, Solver& solver,
                     const std::function<Sum(std::vector<Sum>)>& leaf);

/// Returns function(arguments), simplified by the function's declared laws.
Sum apply_function(std::uint32_t function, std::vector<Sum> arguments, const Guards& known,
                   const algebra::TermBank& bank, Solver& solver);

/// Returns the maximum of `body` over `bound` where `range` holds.
Sum make_maximum(std::vector<Atom> bound, Guards range, Sum body, const Guards& known, Solver& solver);

}  // namespace rulemill::prove
