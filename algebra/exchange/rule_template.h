// A rule without the ranks of its inputs, and its readings: the rule at each assignment of ranks that fits, or in
// general form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "algebra/terms/term.h"

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

/// Returns the rule at each assignment of ranks from 0 to 4 that fits, lowest first. Readings that are specializations
/// of one general form are replaced by that form, with dimension packs. Without stated shapes, infers split positions
/// and leaves the types to be inferred. Throws InputError if no ranks fit, or too many do.
std::vector<Rule> readings_of(const RuleTemplate& rule, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
