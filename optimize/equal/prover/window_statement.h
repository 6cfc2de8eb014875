// A window as a rule that the prover can prove from the definitions: the way to show what no rule of a database does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/rules/rule_set.h"
#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/equal/prover/constant_terms.h"
#include "optimize/equal/prover/window_prover.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

/// Returns the certificate of the typed rule, in text form, if it is proved.
using StatementProof =
    std::function<std::optional<algebra::Certificate>(const std::string& statement, algebra::Library& library)>;

/// How a window is an instance of its statement.
struct StatementInstance {
  std::vector<std::pair<std::string, ValueId>> variables;  // by their names
  algebra::Substitution sizes;
  std::vector<ValueId> constants;  // that the statement has terms for
};

struct ProvedStatement {
  std::string text;
  std::vector<std::string> terms;  // of constants over those of the other model: "w = transpose(v; perm=[1,0])"
  std::uint32_t constants = 0;     // that were compared by value, within rounding
  double constant_difference = 0;  // the largest
  algebra::Certificate certificate;
  StatementInstance instance;
};

/// The statements that were tried, over the symbols of one bank.
struct KnownStatements {
  std::vector<algebra::Poly> sizes;  // that stand for numbers, shared by all statements
  std::map<std::string, std::optional<algebra::Certificate>> proved;  // by statement
};

/// Proves windows as statements. Each statement is tried once.
class StatementProver {
 public:
  /// Without `proof`, nothing is proved.
  StatementProver(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                  std::function<std::string(ValueId)> name_of, StatementProof proof, KnownStatements& known)
      : bank_(bank),
        constants_(constants),
        operators_(operators),
        name_of_(std::move(name_of)),
        proof_(std::move(proof)),
        known_(known) {}

  /// Known: statements that were proved earlier.
  enum class Effort : std::uint8_t { Known, Full };

  /// Returns the statement if it is proved: the region's first two outputs are equal for all values of its leaves.
  /// Numbers among the sizes become sizes, so that windows of other dimensions have the same statement.
  std::optional<ProvedStatement> prove(const Region& window, Effort effort);
  /// Proves what rules show: the window may be larger, and terms of its constants are known.
  std::optional<ProvedStatement> prove_shown(const Region& window, std::span<const KnownConstant> known) {
    return prove(window, Effort::Full, known, max_shown_nodes);
  }

 private:
  static constexpr std::size_t max_shown_nodes = 48;

  std::optional<ProvedStatement> prove(const Region& window, Effort effort, std::span<const KnownConstant> known,
                                       std::size_t max_nodes);
  std::string name_of(const Region& window, std::uint32_t leaf) const;
  std::string text_of(const Region& window, std::uint32_t leaf, const std::vector<TermNode>& term) const;

  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  const std::function<std::string(ValueId)> name_of_;  // of constants
  StatementProof proof_;
  KnownStatements& known_;
};

}  // namespace rulemill::optimize
