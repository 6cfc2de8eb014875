// What programs compute over, and what scalar functions are there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/execution/domain.h"
#include "algebra/language/function.h"
#include "execute/program_view.h"

namespace rulemill::execute {

/// The library's functions must outlive it.
struct Ground {
  algebra::Domain domain = algebra::Domain::Field;
  std::uint64_t seed = 0;
  std::vector<FunctionKey> keys;                 // what functions are in the field
  std::span<const algebra::Function> functions;  // and over the reals

  Ground(algebra::Domain domain, std::span<const algebra::Function> functions, std::uint64_t seed);
};

/// One key a function, by its name and the seed: the same in every run with that seed.
std::vector<FunctionKey> function_keys(std::span<const algebra::Function> functions, std::uint64_t seed);

}  // namespace rulemill::execute
