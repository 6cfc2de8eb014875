// Options of the search for cheaper graphs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rulemill::optimize {

/// Relative cost differences below this are rounding errors.
inline constexpr double cost_rounding = 1e-9;

enum class SearchMethod : std::uint8_t {
  Saturation,    // saturate.h
  Backtracking,  // backtrack.h
};

struct SearchOptions {
  SearchMethod method = SearchMethod::Saturation;
  double alpha = 1.5;            // backtracking: keep graphs that cost less than alpha times the best
  std::uint64_t budget = 20000;  // backtracking: graphs created
  double time_limit = 0;         // seconds; 0: none
  std::size_t max_results = 3;
  std::uint32_t effort = 1;       // saturation: multiplies the limits on work of each window
  std::size_t ilp_max_nodes = 0;  // saturation: also extract e-graphs of up to this many nodes by ILP
};

struct WindowOptions {
  std::size_t min_nodes = 10, max_nodes = 24;
  std::uint32_t rounds = 16;
};

}  // namespace rulemill::optimize
