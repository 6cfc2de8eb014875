// The arguments of an operator in the forms of egg and egglog: its tensors, and its parameters as text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algebra/exchange/egg/s_expression.h"
#include "algebra/library/library.h"

namespace rulemill::algebra {

struct EggArguments {
  std::vector<const SExpression*> tensors;
  std::string parameters;                 // "stride=2, pad=same"
  std::string output;                     // of a constructor of egglog_writer.h with several outputs
  std::vector<std::uint32_t> ranks = {};  // of the tensors, in such a constructor
  bool states_sizes = false;              // the list of sizes is among the parameters
};

/// Returns the operator that a list calls: its head, up to the ranks and parameters of a constructor.
std::string operator_of(const SExpression& call);

/// Splits the arguments of a call of an operator that the library has. `size_name` maps the names of sizes. Throws
/// InputError with the place in the file `origin`.
EggArguments arguments_of(const SExpression& call, const std::string& origin, const Library& library,
                          const std::function<std::string(const std::string&)>& size_name);

}  // namespace rulemill::algebra
