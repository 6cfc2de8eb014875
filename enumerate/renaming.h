// Renamings of variables. Variables of one shape and role are a sort: whatever holds of one of them holds of another,
// so that a term stands for all its renamings. A renaming is a one-to-one map of some variables into their sorts, known
// by its number among all maps of these variables; number 0 is the identity.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "enumerate/profile.h"

namespace rulemill::enumerate {

/// A set of variables: bit v is variable v.
using VariableSet = std::uint64_t;

/// Every renaming of one set of variables.
struct RenamingList {
  std::vector<std::uint8_t> variables;  // of the set, ascending
  std::uint32_t count = 0;
  std::vector<std::uint8_t> images;       // renaming r takes variables[i] to images[r · variables.size() + i]
  std::vector<std::uint32_t> first_swap;  // by renaming, one more: its swaps, done one after the other
  std::vector<std::uint8_t> swaps;

  std::span<const std::uint8_t> swaps_of(std::uint32_t renaming) const {
    return std::span(swaps).subspan(first_swap[renaming], first_swap[renaming + 1] - first_swap[renaming]);
  }
  std::uint8_t image(std::uint32_t renaming, std::uint8_t variable) const;
};

class Renamings {
 public:
  static constexpr std::size_t most_variables = 64;

  /// With `none`, every variable is a sort of its own. Throws InputError for more than `most_variables`.
  Renamings(const Profile& profile, bool none);

  struct Swap {
    std::uint8_t a = 0, b = 0;
  };
  /// All pairs of variables of one sort.
  const std::vector<Swap>& swaps() const { return swaps_; }

  /// Made when first asked for. Any thread may ask.
  const RenamingList& of(VariableSet set) const;
  /// By renaming of `set`: which renaming of `part`, a subset, it is there.
  const std::vector<std::uint32_t>& restriction(VariableSet set, VariableSet part) const;

 private:
  std::unique_ptr<RenamingList> make(VariableSet set) const;
  std::uint8_t swap_of(std::uint8_t a, std::uint8_t b) const;

  std::vector<std::uint8_t> sort_;  // by variable
  std::vector<std::vector<std::uint8_t>> members_;
  std::vector<Swap> swaps_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<VariableSet, std::unique_ptr<RenamingList>> lists_;
  mutable std::map<std::pair<VariableSet, VariableSet>, std::unique_ptr<std::vector<std::uint32_t>>> restrictions_;
};

}  // namespace rulemill::enumerate
