// The StableHLO forms of operators: read from data/exports/stablehlo.toml, which documents its format.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::algebra {

/// An output of an operator as a StableHLO operation. The texts are templates (fill_template).
struct StablehloForm {
  std::string operator_name, output;             // all outputs if `output` is empty
  std::map<std::string, std::string> when;       // values of parameters
  std::string operation;                         // without the dialect's name
  std::vector<std::string> inputs;               // names, or numbers; all inputs if empty
  std::map<std::string, std::string> broadcast;  // the dimensions of the result that an input has
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::pair<std::string, std::string>>
      optional;       // attributes with the value that an absent one has
  std::string place;  // in the table
};

/// Whether the two operands of a StableHLO operation may be exchanged.
bool is_commutative_stablehlo(const std::string& operation);

/// The forms of all operators.
class StablehloTable {
 public:
  /// Throws InputError with file and line: invalid TOML, unknown keys, an input, output or parameter that the operator
  /// lacks. Operators that the definitions lack are allowed: the table includes those of XLA.
  static StablehloTable load(const std::filesystem::path& path, const Library& library);

  /// The forms of a StableHLO operation, in the order of the table.
  std::vector<const StablehloForm*> forms_of_operation(const std::string& operation) const;

 private:
  std::vector<StablehloForm> forms_;
};

}  // namespace rulemill::algebra
