// A rule without the ranks of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rulemill::algebra {

/// A variable, or an operator applied to terms, as text.
struct TermTemplate {
  std::string place;                        // in the file
  std::string op = {};                      // empty for a variable
  std::vector<std::size_t> arguments = {};  // earlier terms
  std::string parameters = {};              // "stride=2, pad=same"
  std::string output = {};                  // empty if there is only one
  std::vector<std::uint32_t> ranks = {};    // of the arguments, if they are stated
  std::string pack = {};                    // a list of sizes that are not stated, as many as `unknown` says
  std::optional<std::size_t> unknown = {};
};

/// An unknown number of dimensions: a variable's rank, or the length of a list of sizes.
struct UnknownRank {
  std::string variable = {};
  std::optional<std::vector<std::string>> shape = {};  // of a variable, if it is stated
};

struct RuleTemplate {
  std::string name, place;
  std::vector<UnknownRank> unknowns = {};
  std::vector<TermTemplate> terms = {};  // arguments before users
  std::vector<std::size_t> source = {}, target = {};
  std::vector<std::string> conditions = {};
  std::set<std::string> size_names = {};  // in shapes, conditions and parameters
};

}  // namespace rulemill::algebra
