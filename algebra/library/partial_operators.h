// Operators that are undefined for some values of their inputs, for a warning: fewer rules hold for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rulemill::algebra {

struct PartialOperator {
  std::string place;  // file:line:column
  std::string name;
  std::string function;  // may be applied outside its domain
};

/// Returns the operators defined in the files of this folder, without those that it includes, that signs do not show to
/// be defined everywhere. Tests each at small ranks and the first values of its parameters. Throws InputError as
/// Library::load does.
std::vector<PartialOperator> find_partial_operators(const std::filesystem::path& folder);

}  // namespace rulemill::algebra
