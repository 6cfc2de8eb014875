// Expands a parsed operator at fixed ranks and parameters into an OperatorInstance: names become slots, packs become
// lists, predicates on parameters are decided, composites are inlined. Only algebra/library uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {

/// The expander's access to the library: functions by name and, for composites, other operators and their instances.
struct ExpansionContext {
  std::function<const Function*(const std::string&, std::uint32_t* index)> function;
  std::function<std::vector<std::string>()> function_names;
  std::function<const OperatorInstance&(const std::string& op, const Parameters&, std::span<const std::uint32_t> ranks)>
      instantiate;
  std::function<const syntax::Operator*(const std::string& op)> find;
};

/// `parameters` has a valid value for each parameter that is not a size. Throws InputError with the place in the
/// definition.
OperatorInstance expand(const syntax::Operator& op, const Parameters& parameters, std::span<const std::uint32_t> ranks,
                        const ExpansionContext& context);

}  // namespace rulemill::algebra
