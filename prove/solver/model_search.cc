#include "prove/solver/model_search.h"

#include <algorithm>
#include <set>
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

/// A guard. At fixed sizes it is constant + Σ coefficient · index, or nonlinear.
struct Condition {
  /// A number times sizes, and times an index if there is one.
  struct Term {
    std::int64_t number = 0;
    std::vector<Atom> sizes;
    std::optional<std::size_t> index;
  };
  const Guard* guard = nullptr;
  bool linear = true;
  std::vector<Term> terms;
  std::vector<std::size_t> indices;  // positions of those that occur, at any depth
  // At the sizes of the current run:
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> coefficients;  // position of the index, coefficient
};

/// The search for a model of one query, at any number of sizes.
class ModelSearch {
 public:
  ModelSearch(const Query& query, const Atoms& atoms) : atoms_(atoms) {
    for (const Guard& guard : query.asserted) add(guard);
    value_.resize(indices_.size());
    in_nonlinear_.assign(indices_.size(), false);
    conditions_of_.resize(indices_.size());
    for (std::size_t c = 0; c < conditions_.size(); ++c) {
      for (const std::size_t index : conditions_[c].indices) {
        conditions_of_[index].push_back(c);
        if (!conditions_[c].linear) in_nonlinear_[index] = true;
      }
    }
  }

  std::optional<Models::Values> run(const Models::Values& sizes) {
    steps_ = 0;
    set_sizes(sizes);
    assigned_.assign(indices_.size(), false);
    const auto decided = [&](const Condition& c) { return !c.indices.empty() || holds(c); };
    if (!std::all_of(conditions_.begin(), conditions_.end(), decided) || !assign()) return std::nullopt;
    Models::Values values;
    for (const std::vector<Atom>* atoms : {&sizes_, &indices_}) {
      for (const Atom atom : *atoms) values[atom] = number(atom);
    }
    return values;
  }

 private:
  void add(const Guard& guard) {
    Condition condition;
    condition.guard = &guard;
    std::set<Atom> all;
    atoms_.collect(guard.poly, all);
    for (const Atom atom : all) {
      if (atoms_.is_compound(atom)) continue;
      if (atoms_.kind(atom) == Atoms::Kind::Size)
        position(sizes_, atom);
      else
        condition.indices.push_back(position(indices_, atom));
      if (static_cast<std::size_t>(atom) >= numbers_.size()) numbers_.resize(static_cast<std::size_t>(atom) + 1);
    }
    for (const Poly::Term& term : guard.poly.terms()) {
      Condition::Term read{term.coefficient, {}, {}};
      for (const Atom atom : term.monomial) {
        if (atoms_.kind(atom) == Atoms::Kind::Size)
          read.sizes.push_back(atom);
        else if (!atoms_.is_compound(atom) && !read.index)
          read.index = position(indices_, atom);
        else
          condition.linear = false;
      }
      condition.terms.push_back(std::move(read));
    }
    conditions_.push_back(std::move(condition));
  }

  static std::size_t position(std::vector<Atom>& atoms, Atom atom) {
    const auto found = std::find(atoms.begin(), atoms.end(), atom);
    if (found != atoms.end()) return static_cast<std::size_t>(found - atoms.begin());
    atoms.push_back(atom);
    return atoms.size() - 1;
  }

  std::int64_t& number(Atom atom) { return numbers_[static_cast<std::size_t>(atom)]; }
  std::int64_t number(Atom atom) const { return numbers_[static_cast<std::size_t>(atom)]; }

  void set_sizes(const Models::Values& sizes) {
    for (const Atom atom : sizes_) {
      const auto known = sizes.find(atom);
      number(atom) = known == sizes.end() ? 1 : known->second;
    }
    for (Condition& condition : conditions_) {
      condition.constant = 0;
      condition.coefficients.clear();
      for (const Condition::Term& term : condition.terms) {
        std::int64_t coefficient = term.number;
        for (const Atom size : term.sizes) coefficient = checked_multiply(coefficient, number(size));
        if (term.index)
          condition.coefficients.emplace_back(*term.index, coefficient);
        else
          condition.constant = checked_add(condition.constant, coefficient);
      }
    }
  }

  bool holds(const Condition& condition) const {
    std::int64_t sum = condition.constant;
    if (condition.linear) {
      for (const auto& [index, coefficient] : condition.coefficients)
        sum = checked_add(sum, checked_multiply(coefficient, value_[index]));
    } else {
      sum = evaluate(condition.guard->poly, atoms_, [&](Atom atom) { return number(atom); });
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
    bool below = false;
    bool above = false;
    for (const std::size_t c : conditions_of_[index]) {
      const Condition& condition = conditions_[c];
      if (!condition.linear) continue;
      std::int64_t rest = condition.constant;
      std::int64_t factor = 0;
      bool only_unknown = true;
      for (const auto& [other, coefficient] : condition.coefficients) {
        if (other == index)
          factor = checked_add(factor, coefficient);
        else if (assigned_[other])
          rest = checked_add(rest, checked_multiply(coefficient, value_[other]));
        else
          only_unknown = false;
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
      value_[chosen] = value;
      number(indices_[chosen]) = value;
      const bool consistent = std::ranges::all_of(conditions_of_[chosen], [&](std::size_t c) {
        const Condition& condition = conditions_[c];
        const auto ready = [&](std::size_t index) { return assigned_[index]; };
        return !std::all_of(condition.indices.begin(), condition.indices.end(), ready) || holds(condition);
      });
      if (consistent && assign()) return true;
    }
    assigned_[chosen] = false;
    return false;
  }

  const Atoms& atoms_;
  std::vector<Atom> sizes_, indices_;
  std::vector<Condition> conditions_;
  std::vector<std::vector<std::size_t>> conditions_of_;  // by index: the conditions in which it occurs
  std::vector<bool> in_nonlinear_;
  // Of the current run:
  std::vector<std::int64_t> numbers_;  // by atom: its value
  std::vector<std::int64_t> value_;    // by index
  std::vector<bool> assigned_;
  int steps_ = 0;
};

std::optional<Models::Values> find_model(ModelSearch& search, const Models::Values& sizes) {
  try {
    return search.run(sizes);
  } catch (const runtime::Error&) {  // a division by zero, or an overflow, at these sizes
    return std::nullopt;
  }
}

}  // namespace

std::optional<Models::Values> find_model(const Query& query, const Models::Values& sizes, const Atoms& atoms) {
  ModelSearch search(query, atoms);
  return find_model(search, sizes);
}

bool has_model(Models& models, const Query& query, const std::vector<Models::Values>& samples, const Atoms& atoms) {
  if (models.contains_model_of(query)) return true;
  if (samples.empty()) return false;
  ModelSearch search(query, atoms);
  for (const Models::Values& sizes : samples) {
    const auto values = find_model(search, sizes);
    if (!values) continue;
    models.add(*values, query);
    return true;
  }
  return false;
}

}  // namespace rulemill::prove
