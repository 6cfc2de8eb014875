// Common setup of enumeration tests.
#pragma once

#include <functional>
#include <string>

#include "algebra/library/library.h"
#include "tests/shipped_operators.h"

namespace rulemill::enumerate {

/// An Enumerator::ParallelFor that runs in order on one thread.
inline void in_order(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace rulemill::enumerate
