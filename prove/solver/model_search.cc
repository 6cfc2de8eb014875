#include "prove/solver/model_search.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "algebra/sizes/checked.h"

namespace rulemill::prove {

namespace {

using algebra::checked_add;
using algebra::checked_multiply;
using algebra::floor_quotient;

constexpr int max_steps = 300;
constexpr std::int64_t max_width = 8;  // values tried for an index that no guard bounds

/// A guard at fixed sizes: constant + Σ coefficient · index, or nonlinear.
struct Condition {
  const Guard* guard = nullptr;
  bool linear = true;
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // position of the index, coefficient
  std::vector<std::size_t> indices;                         // that occur, at any depth
};

class ModelSearch {
 public:
  ModelSearch(const Query& query, const Models::Values& sizes, const Symbols& symbols) : symbols_(symbols) {
    for (const Guard& guard : query.asserted) add(guard, sizes);
    value_.assign(indices_.size(), 0);
    assigned_.assign(indices_.size(), false);
    in_nonlinear_.assign(indices_.size(), false);
    for (const Condition& condition : conditions_) {
      if (condition.linear) continue;
      for (const std::size_t index : condition.indices) in_nonlinear_[index] = true;
    }
  }

  /// The number of conditions evaluated so far.
  std::uint64_t work() const { return work_; }

  std::optional<Models::Values> run() {
    const auto decided = [&](const Condition& c) { return !c.indices.empty() || holds(c); };
    if (!std::all_of(conditions_.begin(), conditions_.end(), decided) || !assign()) return std::nullopt;
    Models::Values values = sizes_;
    for (std::size_t i = 0; i < indices_.size(); ++i) values[indices_[i]] = value_[i];
    return values;
  }

 private:
  void add(const Guard& guard, const Models::Values& sizes) {
    Condition condition;
    condition.guard = &guard;
    for (const Atom atom : symbols_.atoms(guard.poly)) {
      if (symbols_.kind(atom) == Symbols::Kind::Size) {
        const auto known = sizes.find(atom);
        sizes_[atom] = known == sizes.end() ? 1 : known->second;
      } else {
        condition.indices.push_back(position(atom));
      }
    }
    for (const Poly::Term& term : guard.poly.terms()) {
      std::int64_t coefficient = term.coefficient;
      std::optional<Atom> index;
      for (const Atom atom : term.monomial) {
        const Symbols::Kind kind = symbols_.kind(atom);
        if (kind == Symbols::Kind::Size) {
          coefficient = checked_multiply(coefficient, sizes_.at(atom));
        } else if (kind == Symbols::Kind::Index && !index) {
          index = atom;
        } else {
          condition.linear = false;
        }
      }
      if (index) {
        condition.terms.emplace_back(position(*index), coefficient);
      } else {
        condition.constant = checked_add(condition.constant, coefficient);
      }
    }
    conditions_.push_back(std::move(condition));
  }

  std::size_t position(Atom index) {
    const auto found = std::find(indices_.begin(), indices_.end(), index);
    if (found != indices_.end()) return static_cast<std::size_t>(found - indices_.begin());
    indices_.push_back(index);
    return indices_.size() - 1;
  }

  bool holds(const Condition& condition) const {
    std::int64_t sum = condition.constant;
    if (condition.linear) {
      for (const auto& [index, coefficient] : condition.terms) {
        sum = checked_add(sum, checked_multiply(coefficient, value_[index]));
      }
    } else {
      sum = symbols_.evaluate(condition.guard->poly, [&](Atom atom) {
        const auto size = sizes_.find(atom);
        if (size != sizes_.end()) return size->second;
        return value_[static_cast<std::size_t>(std::find(indices_.begin(), indices_.end(), atom) - indices_.begin())];
      });
    }
    return condition.guard->equality ? sum == 0 : sum >= 0;
  }

  struct Range {
    std::int64_t low = -2, high = max_width - 2;
    bool bounded = false;
  };

  /// The range of an index by the linear guards whose other indices are assigned.
  Range range_of(std::size_t index) {
    Range range;
    work_ += 4 * conditions_.size();
    bool below = false;
    bool above = false;
    for (const Condition& condition : conditions_) {
      if (!condition.linear) continue;
      std::int64_t rest = condition.constant;
      std::int64_t factor = 0;
      bool only_unknown = true;
      for (const auto& [other, coefficient] : condition.terms) {
        if (other == index) {
          factor = checked_add(factor, coefficient);
        } else if (assigned_[other]) {
          rest = checked_add(rest, checked_multiply(coefficient, value_[other]));
        } else {
          only_unknown = false;
        }
      }
      if (!only_unknown || factor == 0) continue;
      // factor · index + rest ≥ 0
      const auto at_least = [&](std::int64_t bound) {
        range.low = below ? std::max(range.low, bound) : bound;
        below = true;
      };
      const auto at_most = [&](std::int64_t bound) {
        range.high = above ? std::min(range.high, bound) : bound;
        above = true;
      };
      const std::int64_t up = -floor_quotient(rest, factor < 0 ? -factor : factor);
      const std::int64_t down = floor_quotient(rest, factor < 0 ? -factor : factor);
      if (factor > 0) at_least(up);
      if (factor < 0) at_most(down);
      if (condition.guard->equality && factor > 0) at_most(floor_quotient(-rest, factor));
      if (condition.guard->equality && factor < 0) at_least(-floor_quotient(-rest, -factor));
    }
    if (below && !above) range.high = checked_add(range.low, max_width);
    if (above && !below) range.low = algebra::checked_subtract(range.high, max_width);
    range.bounded = below && above;
    return range;
  }

  /// Assigns bounded indices first, among these those of nonlinear conditions, among these the one with fewest values.
  /// Returns false if nothing satisfies the conditions, or the steps are exhausted.
  bool assign() {
    std::size_t chosen = indices_.size();
    Range best;
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      if (assigned_[i]) continue;
      const Range range = range_of(i);
      const auto rank = [&](std::size_t index, const Range& r) {
        return std::tuple(!r.bounded, !in_nonlinear_[index], r.high - r.low);
      };
      if (chosen == indices_.size() || rank(i, range) < rank(chosen, best)) {
        chosen = i;
        best = range;
      }
    }
    if (chosen == indices_.size()) return true;
    assigned_[chosen] = true;
    for (std::int64_t value = best.low; value <= best.high; ++value) {
      if (++steps_ > max_steps) break;
      work_ += 4 * conditions_.size();
      value_[chosen] = value;
      const bool consistent = std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
        const auto ready = [&](std::size_t index) { return assigned_[index]; };
        if (std::find(condition.indices.begin(), condition.indices.end(), chosen) == condition.indices.end())
          return true;
        return !std::all_of(condition.indices.begin(), condition.indices.end(), ready) || holds(condition);
      });
      if (consistent && assign()) return true;
    }
    assigned_[chosen] = false;
    return false;
  }

  const Symbols& symbols_;
  Models::Values sizes_;
  std::vector<Atom> indices_;
  std::vector<Condition> conditions_;
  std::vector<std::int64_t> value_;
  std::vector<bool> assigned_, in_nonlinear_;
  int steps_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace

std::optional<Models::Values> find_model(const Query& query, const Models::Values& sizes, const Symbols& symbols,
                                         Budget* budget) {
  std::optional<Models::Values> values;
  std::uint64_t work = 1;
  try {
    ModelSearch search(query, sizes, symbols);
    values = search.run();
    work += search.work();
  } catch (const runtime::Error&) {  // a division by zero, or an overflow, at these sizes
  }
  if (budget != nullptr) budget->spend(work);
  return values;
}

bool has_model(Models& models, const Query& query, const std::vector<Models::Values>& samples, const Symbols& symbols,
               Budget* budget) {
  if (models.contains_model_of(query)) return true;
  if (!query.indicators.empty()) return false;
  for (const Models::Values& sizes : samples) {
    const auto values = find_model(query, sizes, symbols, budget);
    if (!values) continue;
    models.add(*values, query);
    return true;
  }
  return false;
}

}  // namespace rulemill::prove
