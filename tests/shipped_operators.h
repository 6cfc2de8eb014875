// The shipped definitions, for tests.
#pragma once

#include "algebra/library/library.h"

namespace rulemill {

/// Copied by tests that instantiate operators or add definitions. Loaded once per program, since the sanitizers make
/// that slow.
inline const algebra::Library& shipped_operators() {
  static const algebra::Library library = algebra::Library::load(RULEMILL_SOURCE_DIR "/data/operators");
  return library;
}

}  // namespace rulemill
