// Sorting on the threads of a rank: chunks are sorted and then merged in pairs. The order must be total up to equal
// values; the result then does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/mpi/thread_pool.h"

namespace rulemill::runtime {

template <class T, class Less = std::less<>>
void parallel_sort(std::vector<T>& values, const ThreadPool& thread_pool, const Less& less = {}) {
  constexpr std::size_t least_chunk = std::size_t{1} << 12;
  const std::size_t chunk =
      std::max(least_chunk, (values.size() + thread_pool.threads() - 1) / std::size_t{thread_pool.threads()});
  const auto at = [&](std::size_t i) {
    return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
  };
  thread_pool.run((values.size() + chunk - 1) / chunk,
                  [&](std::size_t c, unsigned) { std::sort(at(c * chunk), at((c + 1) * chunk), less); });
  for (std::size_t width = chunk; width < values.size(); width *= 2) {
    thread_pool.run((values.size() + 2 * width - 1) / (2 * width), [&](std::size_t c, unsigned) {
      std::inplace_merge(at(2 * c * width), at((2 * c + 1) * width), at((2 * c + 2) * width), less);
    });
  }
}

}  // namespace rulemill::runtime
