// Adapts the parameters of an operator instance to inputs whose dimensions are expanded: axes and permutations move.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::algebra {

/// For each dimension of a tensor, the number of dimensions that replace it.
using DimensionCounts = std::vector<std::uint32_t>;

/// Parameters for one expansion. Wrong ones are detected by comparing the instances (rank_lifting.h).
class ParameterRemapper {
 public:
  /// `input`, `output`: the counts of the first input and output.
  ParameterRemapper(const OperatorInstance& instance, const Library& library, DimensionCounts input,
                    DimensionCounts output)
      : instance_(instance), library_(library), input_counts_(std::move(input)), output_counts_(std::move(output)) {}

  /// `by_slot`: the count of each size slot. `is_scatter`: permutations map an axis to its destination, not its origin.
  Parameters remap(const DimensionCounts& by_slot, bool is_scatter) const;

 private:
  std::vector<std::int64_t> remap_permutation(const std::vector<std::int64_t>& order) const;
  std::vector<std::int64_t> repeat_entries(const std::string& name, const std::vector<std::int64_t>& list,
                                           const DimensionCounts& by_slot) const;

  const OperatorInstance& instance_;
  const Library& library_;
  DimensionCounts input_counts_, output_counts_;
};

}  // namespace rulemill::algebra
