// Expands a parsed operator, with ranks and parameters fixed, into an Instance: names become slots, packs become lists,
// choices are made, composites are inlined. Private to the loader.
#pragma once

#include <functional>
#include <span>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {

/// What the expander needs of the library: functions by name, and other operators' instances for composites.
struct ExpansionContext {
  std::function<const Function*(const std::string&, std::uint32_t* index)> function;
  std::function<const Instance&(const std::string& op, const Parameters&, std::span<const std::uint32_t> ranks)>
      instantiate;
  std::function<const syntax::Operator*(const std::string& op)> find;
};

/// How many dimensions the packs of an operator have when its inputs have these ranks; nothing if the ranks do not fit.
/// An operator that has a pack of sizes takes its length as the last entry of `ranks`.
std::optional<std::map<std::string, std::uint32_t>> pack_lengths(const syntax::Operator& op,
                                                                 std::span<const std::uint32_t> ranks,
                                                                 const Parameters& parameters = {});

/// Whether its rank follows from no input: a pack of sizes that no input has.
bool has_open_rank(const syntax::Operator& op);

/// Throws InputError with the place in the definition. `parameters` has a valid value for each parameter but sizes.
Instance expand(const syntax::Operator& op, const Parameters& parameters, std::span<const std::uint32_t> ranks,
                const ExpansionContext& context);

}  // namespace rulemill::algebra
