// Common setup of enumeration tests.
#pragma once

#include <functional>
#include <string>

#include "algebra/library/library.h"

namespace rulemill::enumerate {

inline algebra::Library load_library() {
  return algebra::Library::load(std::string(RULEMILL_SOURCE_DIR) + "/data/operators");
}

/// An Enumerator::ParallelFor that runs in order on one thread.
inline void in_order(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace rulemill::enumerate
