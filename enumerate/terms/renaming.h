// Renamings of variables. Variables of equal shape and role form a sort: they are interchangeable, so that a term
// represents all its renamings. A renaming is an injective map of a set of variables that preserves sorts. The
// renamings of a set are numbered; number 0 is the identity.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "enumerate/profile/profile.h"

namespace rulemill::enumerate {

/// A set of variables: bit v is variable v.
using VariableSet = std::uint64_t;

/// All renamings of one set of variables.
struct RenamingList {
  std::vector<std::uint8_t> variables;  // ascending
  std::uint32_t count = 0;
  std::vector<std::uint8_t> images;       // renaming r maps variables[i] to images[r · variables.size() + i]
  std::vector<std::uint32_t> first_swap;  // by renaming: its first swap; and the number of swaps
  std::vector<std::uint8_t> swaps;        // of all renamings, in order of application

  std::span<const std::uint8_t> swaps_of(std::uint32_t renaming) const {
    return std::span(swaps).subspan(first_swap[renaming], first_swap[renaming + 1] - first_swap[renaming]);
  }
  std::uint8_t image(std::uint32_t renaming, std::uint8_t variable) const;
};

class Renamings {
 public:
  static constexpr std::size_t max_variables = 64;

  /// With `no_symmetry`, every variable has its own sort. Throws InputError for more than `max_variables`.
  Renamings(const Profile& profile, bool no_symmetry);

  struct Swap {
    std::uint8_t a = 0, b = 0;
  };
  /// All pairs of variables of one sort.
  const std::vector<Swap>& swaps() const { return swaps_; }

  /// Returns the renamings of a set. Computes them at the first call. Thread-safe.
  const RenamingList& of(VariableSet set) const;
  /// Returns, for each renaming of `set`, the number of its restriction to `subset`. Thread-safe.
  const std::vector<std::uint32_t>& restriction(VariableSet set, VariableSet subset) const;

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
