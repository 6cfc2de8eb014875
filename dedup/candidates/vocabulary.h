// The operator instances and types that candidates of a run refer to by number.
#pragma once

#include <cstdint>
#include <vector>

#include "algebra/library/library.h"
#include "fingerprint/shards.h"

namespace rulemill::dedup {

/// The operator instances and types of a dictionary, by number.
struct Vocabulary {
  std::vector<const algebra::OperatorInstance*> instances;
  std::vector<bool> divides;  // by instance: whether its conditions contain exact divisions
  std::vector<enumerate::Dims> types;
  /// Numbers that are independent of the rest of the dictionary, so that canonical forms do not change when a profile
  /// grows.
  std::vector<std::uint32_t> instance_codes, type_codes;
  const algebra::Library* library = nullptr;
};

Vocabulary make_vocabulary(const fingerprint::Dictionary& dictionary, algebra::Library& library);

/// Whether the condition is a mod b = 0.
bool is_exact_division(const algebra::Comparison& condition);

}  // namespace rulemill::dedup
