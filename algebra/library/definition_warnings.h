// Warnings about definitions that are valid but may not be what was meant: operators that are undefined for some values
// of their inputs, for which fewer rules hold, and reads at indices of dimensions that nothing relates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {

struct DefinitionWarning {
  std::string place;  // file:line:column
  std::string text;
};

/// Returns the warnings about the files of this folder, without those that it includes. Whether an operator is defined
/// everywhere is tested by signs, at small ranks and the first values of its parameters. Throws InputError as
/// Library::load does.
std::vector<DefinitionWarning> find_definition_warnings(const std::filesystem::path& folder);

/// Returns a warning for each read of an input at an index that runs over a dimension of another input. Where the sizes
/// differ, elements outside the input are 0. None for operators with conditions, which may relate the sizes.
std::vector<DefinitionWarning> find_unrelated_reads(const syntax::Operator& op);

}  // namespace rulemill::algebra
