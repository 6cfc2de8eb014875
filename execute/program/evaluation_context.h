// The domain of programs and the scalar functions that they use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/execution/domain.h"
#include "algebra/operators/function.h"
#include "execute/program/program_view.h"

namespace rulemill::execute {

/// The context of compilation. The library's functions must outlive it.
struct EvaluationContext {
  algebra::Domain domain = algebra::Domain::Field;
  std::uint64_t seed = 0;
  std::vector<FunctionKey> keys;                 // the functions over the field
  std::span<const algebra::Function> functions;  // the functions over the reals

  EvaluationContext(algebra::Domain domain, std::span<const algebra::Function> functions, std::uint64_t seed);
};

/// Derives a key per function from its name and the seed; the same in every run.
std::vector<FunctionKey> function_keys(std::span<const algebra::Function> functions, std::uint64_t seed);

}  // namespace rulemill::execute
