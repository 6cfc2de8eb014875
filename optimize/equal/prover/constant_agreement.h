// Whether two constants agree: a folded constant was computed in floats, by a program that rounds in its own way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/execution/tracked.h"
#include "optimize/equal/prover/constant_view.h"
#include "optimize/model/evaluate.h"

namespace rulemill::optimize {

/// Elements may differ by this many times the bound of the errors of the arithmetic that makes them.
inline constexpr double max_constant_errors = 2;

/// Roundoffs of the largest element of a row between one that is read as rounded and what it stands for.
inline constexpr double max_stored_roundoffs = 8;

/// Returns the multiply-adds of a node, and of its scalar functions the operations.
double work_of_node(const GraphBank& bank, NodeId id, const GraphEvaluator& at_sizes);

/// Returns the size of the largest element that is a real number.
double largest_of(std::span<const double> elements);

/// Compares constants of one bank, stored or computed from others. Keeps a few elements of each, so that most pairs are
/// told apart without computing them again, and all of the last ones.
class ConstantComparison {
 public:
  explicit ConstantComparison(const GraphBank& bank);

  /// Beyond this work no constant is computed.
  void limit_work(double multiply_adds) { max_work_ = multiply_adds; }
  bool is_work_done() const { return work_ > max_work_; }

  /// The errors of each element must be small beside itself, not beside the largest one: who writes a term may choose
  /// one with errors that hide any difference.
  void require_each_accurate() {
    each_accurate_ = true;
    agreements_.clear();
  }

  /// Stored constants are read as rounded from other numbers, as programs do that fold them in different ways: those of
  /// both models may agree, too.
  void read_as_rounded();

  /// The constants that either model stores. What a model computes from its own is not within rounding of one that it
  /// stores, too: that difference is part of what it computes.
  void set_models(std::set<ValueId> before, std::set<ValueId> after) {
    stored_[0] = std::move(before);
    stored_[1] = std::move(after);
  }

  /// Returns the largest difference of elements, in units of the bound of their errors, if both are constants that
  /// agree; 0 if they are equal when rounded to their type. Those stored in both models agree if they are identical; a
  /// computed one agrees with one stored number. None agrees whose errors are large beside its largest element.
  /// `is_read_as_computed`: one model may compute the one and store the other, if that is rounded from it.
  std::optional<double> difference(ValueId a, ValueId b, bool is_read_as_computed = false);
  /// Returns whether operators without inputs compute the constant.
  bool is_operator(ValueId constant) const;
  /// Returns whether the first model, 0, or the second one, 1, stores every constant that this one is computed from.
  bool is_of(std::size_t model, ValueId constant) const;
  /// Returns what tells the constant from others, whatever computes it: a digest of its type and of its elements before
  /// they are rounded; "" if these are not computed.
  std::string content(ValueId constant);
  /// Returns whether these elements are the constant's: no arithmetic that may round has made them.
  bool is_exact(ValueId constant) { return sample(constant).is_exact; }
  /// Returns whether the constant's elements are real numbers; false if it is too large to be computed.
  bool is_finite(ValueId constant) { return sample(constant).is_finite; }
  /// Returns how the elements of a constant may be found in another one, within a few roundoffs.
  const std::optional<ConstantView>& view(ValueId part, ValueId whole);
  /// Returns whether the whole may have the part's elements from `begin` on along an axis, within a few roundoffs.
  bool has_block(ValueId whole, std::size_t axis, std::int64_t begin, ValueId part);

 private:
  bool are_of_one_model(ValueId a, ValueId b) const;

  /// Some elements; none if the constant is too large. `has_large`: beside its largest element, numbers below the
  /// normal ones of the type are less than a rounding error.
  struct Sample {
    bool is_finite = false, is_exact = false, is_accurate = false, has_large = false;
    std::vector<algebra::Tracked> elements;
  };

  struct Agreement {
    std::optional<double> difference;
    bool is_identical = false;  // the elements before they are rounded
  };

  bool stands_for(ValueId computed, ValueId stored);
  const Sample& sample(ValueId value);
  /// Returns the elements of a constant, with bounds of their errors; nullptr if they are too many, or too much work.
  GraphEvaluator::TensorPtr elements_of(ValueId value);

  const GraphBank* bank_;
  GraphEvaluator evaluator_;  // keeps the last constants
  double work_ = 0, max_work_ = algebra::Tracked::infinite;
  bool each_accurate_ = false, stored_are_rounded_ = false;
  std::set<ValueId> stored_[2];
  std::unordered_map<ValueId, Sample> samples_;
  std::map<std::pair<ValueId, ValueId>, Agreement> agreements_;  // of constants with agreeing samples
  std::unordered_map<ValueId, ValueId> stored_for_;              // by computed constant that agrees with one
  std::map<std::pair<ValueId, ValueId>, std::optional<ConstantView>> views_;
  std::map<std::tuple<ValueId, std::size_t, std::int64_t, ValueId>, bool> blocks_;
};

}  // namespace rulemill::optimize
