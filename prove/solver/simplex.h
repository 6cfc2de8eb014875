// Feasibility of linear constraints over the rationals, by the dual simplex method on integer tableaus: exact, with
// Bland's rule, and deterministic. All variables are free; every constraint is a row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rulemill::prove {

class Simplex {
 public:
  explicit Simplex(std::size_t variables) : variables_(variables) {}

  /// Σ coefficients[i] · x_i + constant ≥ 0, or = 0. All constraints are added before the first question.
  void add(const std::vector<std::int64_t>& coefficients, std::int64_t constant, bool equality);

  /// Shown: no rationals satisfy all constraints. Overflow, and too many pivots, count as "not shown".
  bool infeasible();
  /// Entries of the tableau that were looked at.
  std::uint64_t work() const { return work_; }

 private:
  /// divisor · basic = Σ coefficients[column] · column; the divisor is positive, and basic ones have no column
  /// elsewhere.
  struct Row {
    std::size_t basic = 0;
    std::int64_t divisor = 1;
    std::vector<std::int64_t> coefficients;  // by variable, then by slack
  };
  /// slack ≥ bound, or = bound.
  struct Slack {
    std::int64_t bound = 0;
    bool equality = false;
  };

  bool is_slack(std::size_t column) const { return column >= variables_; }
  std::optional<int> violation(const Row& row) const;
  bool pivot(std::size_t row, std::size_t column);

  std::size_t variables_;
  std::uint64_t work_ = 0;
  std::vector<Row> rows_;
  std::vector<Slack> slacks_;
  std::vector<std::int64_t> value_;  // of nonbasic columns: a slack's bound, or 0
};

}  // namespace rulemill::prove
