// Scalar functions and maxima of sums whose products live on different regions: split into cells on which every guard
// that does not depend on a bound index is decided, so that what is inside needs no outer case distinction.
#pragma once

#include <functional>

#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Calls `leaf` with the arguments as they are on each feasible cell and guards what it returns by the cell. Guards of
/// the arguments that mention `inner` or a product's own bound indices stay inside.
Sum by_cells(std::vector<Sum> arguments, const std::vector<Atom>& inner, const Guards& known, Solver& solver,
             const std::function<Sum(std::vector<Sum>)>& leaf);

/// function(arguments), with the function's declared laws.
Sum apply_function(std::uint32_t function, std::vector<Sum> arguments, const Guards& known,
                   const algebra::TermBank& bank, Solver& solver);

/// The maximum of `body` over `bound` where `range` holds.
Sum take_maximum(std::vector<Atom> bound, Guards range, Sum body, const Guards& known, Solver& solver);

}  // namespace rulemill::prove
