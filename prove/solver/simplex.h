// Feasibility of linear constraints over the rationals by the dual simplex method, on integer tableaus with Bland's
// rule. It is exact and deterministic. All variables are free; every constraint is a row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rulemill::prove {

class Simplex {
 public:
  explicit Simplex(std::size_t variables) : variables_(variables) {}

  /// Adds Σ coefficients[i] · x_i + constant ≥ 0, or = 0. All constraints must be added before is_infeasible is called.
  void add(const std::vector<std::int64_t>& coefficients, std::int64_t constant, bool equality);

  /// True if no rationals satisfy all constraints. Returns false on overflow, or after too many pivots.
  bool is_infeasible();
  /// An infeasible subset of the constraints, by their order, once is_infeasible has returned true.
  const std::vector<std::size_t>& conflict() const { return conflict_; }

 private:
  /// divisor · basic = Σ coefficients[column] · column, with a positive divisor. Basic columns occur in no other row.
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
  std::vector<Row> rows_;
  std::vector<Slack> slacks_;
  std::vector<std::size_t> conflict_;
  std::vector<std::int64_t> value_;  // of nonbasic columns: a slack's bound, or 0
};

}  // namespace rulemill::prove
