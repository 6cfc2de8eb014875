// The parameters of an operator whose inputs get other numbers of dimensions: axes and orders of axes move along.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::algebra {

/// How many dimensions stand for each dimension of a tensor.
using Counts = std::vector<std::uint32_t>;

/// What cannot be right is found by comparing the instances (group_lift.h).
class MovedParameters {
 public:
  /// `input`, `output`: of the first ones.
  MovedParameters(const Instance& instance, const Library& library, Counts input, Counts output)
      : instance_(instance), library_(library), input_(std::move(input)), output_(std::move(output)) {}

  /// `by_slot`: of each size slot. `scattered`: a permutation says where an axis goes, not where it comes from.
  Parameters moved(const Counts& by_slot, bool scattered) const;

 private:
  std::vector<std::int64_t> permuted(const std::vector<std::int64_t>& order) const;
  std::vector<std::int64_t> repeated(const std::string& name, const std::vector<std::int64_t>& list,
                                     const Counts& by_slot) const;

  const Instance& instance_;
  const Library& library_;
  Counts input_, output_;
};

}  // namespace rulemill::algebra
