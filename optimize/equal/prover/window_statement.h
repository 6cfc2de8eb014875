// A window as a rule that the prover can prove from the definitions: the way to show what no rule of a database does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

/// Returns true if the typed rule, in text form, is proved.
using StatementProof = std::function<bool(const std::string& statement, algebra::Library& library)>;

struct ProvedStatement {
  std::string text;
  std::uint32_t constants = 0;     // that were compared by value, within rounding
  double constant_difference = 0;  // the largest
};

/// Proves windows as statements. Each statement is tried once.
class StatementProver {
 public:
  /// Without `proof`, nothing is proved.
  StatementProver(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators, StatementProof proof)
      : bank_(bank), constants_(constants), operators_(operators), proof_(std::move(proof)) {}

  /// Known: statements that were proved earlier.
  enum class Effort : std::uint8_t { Known, Full };

  /// Returns the statement if it is proved: the region's first two outputs are equal for all values of its leaves.
  /// Numbers among the sizes become sizes, so that windows of other dimensions have the same statement.
  std::optional<ProvedStatement> prove(const Region& window, Effort effort);

 private:
  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  StatementProof proof_;
  std::vector<algebra::Poly> sizes_;    // that stand for numbers, shared by all statements
  std::map<std::string, bool> proved_;  // by statement
};

}  // namespace rulemill::optimize
