#include "prove/solver/simplex.h"

#include <limits>

namespace rulemill::prove {
namespace {

constexpr int max_pivots = 400;

using Wide = __int128;

bool narrow(Wide wide, std::int64_t& result) {
  if (wide > std::numeric_limits<std::int64_t>::max() || wide < -std::numeric_limits<std::int64_t>::max()) return false;
  result = static_cast<std::int64_t>(wide);
  return true;
}

Wide common_divisor(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

}  // namespace

void Simplex::add(const std::vector<std::int64_t>& coefficients, std::int64_t constant, bool equality) {
  Row row;
  row.basic = variables_ + slacks_.size();
  row.coefficients = coefficients;
  rows_.push_back(std::move(row));
  slacks_.push_back({-constant, equality});
}

/// Returns −1 if the row's basic slack is below its bound, 1 if it is above a bound that it must equal, else 0; nothing
/// on overflow.
std::optional<int> Simplex::violation(const Row& row) const {
  if (!is_slack(row.basic)) return 0;
  const Slack& slack = slacks_[row.basic - variables_];
  Wide sum = 0;
  for (std::size_t column = 0; column < row.coefficients.size(); ++column) {
    if (row.coefficients[column] == 0) continue;
    if (__builtin_add_overflow(sum, Wide{row.coefficients[column]} * value_[column], &sum)) return std::nullopt;
  }
  const Wide bound = Wide{slack.bound} * row.divisor;
  if (sum < bound) return -1;
  return slack.equality && sum > bound ? 1 : 0;
}

bool Simplex::is_infeasible() {
  const std::size_t columns = variables_ + slacks_.size();
  value_.assign(columns, 0);
  for (Row& row : rows_) row.coefficients.resize(columns, 0);
  for (int pivots = 0; pivots < max_pivots; ++pivots) {
    std::size_t leaving = rows_.size();
    int direction = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (leaving < rows_.size() && rows_[r].basic > rows_[leaving].basic) continue;
      const std::optional<int> violated = violation(rows_[r]);
      if (!violated) return false;
      if (*violated == 0) continue;
      leaving = r;
      direction = *violated;
    }
    if (leaving == rows_.size()) return false;
    // A free column can change either way; a slack at its bound can only rise, and not if it must equal the bound.
    const Row& row = rows_[leaving];
    std::size_t entering = columns;
    for (std::size_t column = 0; column < columns && entering == columns; ++column) {
      const std::int64_t coefficient = row.coefficients[column];
      if (coefficient == 0) continue;
      const bool rises = (coefficient > 0) == (direction < 0);  // the basic slack needs this column to rise
      if (!is_slack(column) || (rises && !slacks_[column - variables_].equality)) entering = column;
    }
    if (entering == columns) {  // the row's slacks alone can't be at or above their bounds
      conflict_ = {row.basic - variables_};
      for (std::size_t column = variables_; column < columns; ++column) {
        if (row.coefficients[column] != 0) conflict_.push_back(column - variables_);
      }
      return true;
    }
    const std::size_t slack = row.basic;
    if (!pivot(leaving, entering)) return false;
    value_[slack] = slacks_[slack - variables_].bound;
  }
  return false;
}

/// Exchanges the row's basic slack and a column with a nonzero coefficient. Returns false on overflow.
bool Simplex::pivot(std::size_t r, std::size_t column) {
  Row& row = rows_[r];
  const std::int64_t factor = row.coefficients[column];
  // divisor·s = factor·x + Σ c·y   ⇒   |factor|·x = sign·(divisor·s − Σ c·y)
  const std::int64_t sign = factor > 0 ? 1 : -1;
  row.coefficients[column] = 0;
  for (std::int64_t& coefficient : row.coefficients) coefficient *= -sign;
  row.coefficients[row.basic] = sign * row.divisor;
  row.basic = column;
  row.divisor = sign * factor;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i == r) continue;
    Row& other = rows_[i];
    const std::int64_t times = other.coefficients[column];
    if (times == 0) continue;
    other.coefficients[column] = 0;
    // divisor'·b = times·x + Σ c'·y   ⇒   divisor'·divisor·b = times·(Σ c·y) + divisor·Σ c'·y
    Wide divisor = Wide{other.divisor} * row.divisor;
    Wide common = divisor;
    std::vector<Wide> sums(other.coefficients.size());
    for (std::size_t k = 0; k < sums.size(); ++k) {
      if (other.coefficients[k] == 0 && row.coefficients[k] == 0) continue;
      sums[k] = Wide{other.coefficients[k]} * row.divisor + Wide{row.coefficients[k]} * times;
      if (common != 1 && sums[k] != 0) common = common_divisor(common, sums[k]);
    }
    if (!narrow(divisor / common, other.divisor)) return false;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      if (!narrow(sums[k] / common, other.coefficients[k])) return false;
    }
  }
  return true;
}

}  // namespace rulemill::prove
