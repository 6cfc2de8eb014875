#include "optimize/equal/refutation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/random_draw.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/rounding.h"
#include "optimize/onnx/shapes/types.h"
#include "optimize/verify/onnxruntime.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// In onnxruntime, models that round differently are not called different.
constexpr AccuracyPolicy onnxruntime_accuracy = {.max_error_ratio = 64, .tolerance = 1e-3};

using TensorPtr = GraphEvaluator::TensorPtr;

/// A difference counts beyond this many unit roundoffs, and this many times either model's own rounding error.
constexpr double max_error_factor = 64;

/// Arithmetic of models whose errors are bounded; the bounds of deep models are too large to say anything.
constexpr double max_tracked_multiply_adds = 1e8;

/// A larger rounding error means that values say nothing.
constexpr double max_own_error = 0.01;

/// Returns the element with the largest difference, relative to the largest finite element; nullopt if there is none.
/// An element that is finite in one tensor only differs by infinity, if these are `counted`.
std::optional<ElementDifference> largest_difference(const algebra::Tensor& before, const algebra::Tensor& after,
                                                    bool counted = true) {
  const double largest = largest_of(before.values);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    const double x = before.values[i], y = after.values[i];
    const bool is_same = x == y || (std::isnan(x) && std::isnan(y));
    const bool are_finite = std::isfinite(x) && std::isfinite(y);
    if (is_same || (!are_finite && (!counted || std::isfinite(x) == std::isfinite(y)))) continue;
    const double difference = are_finite ? std::abs(x - y) : INFINITY;
    if (difference > worst) at = i;
    worst = std::max(worst, difference);
  }
  if (worst == 0) return std::nullopt;
  return ElementDifference{"", "", at, before.values[at], after.values[at], largest > 0 ? worst / largest : INFINITY};
}

class RefutationSearch {
 public:
  RefutationSearch(const GraphBank& bank, const ImportedModel& before, const ImportedModel& after,
                   const std::vector<ValuePair>& outputs)
      : bank_(bank), before_(before), after_(after) {
    for (const ValuePair& pair : outputs) {
      if (is_computable(pair.before, before) && is_computable(pair.after, after)) outputs_.push_back(pair);
    }
    if (outputs_.size() < outputs.size()) result_.reason = "outputs depend on opaque nodes";
    result_.outputs = outputs_.size();
    std::vector<ValueId> roots;
    for (const ValuePair& pair : outputs_) roots.insert(roots.end(), {pair.before, pair.after});
    open_ = open_sizes_of(bank, roots);
  }

  RefutationResult run(const RefutationOptions& options) {
    double spent = 0;
    try {
      for (std::uint32_t draw = 0; draw < options.draws && !outputs_.empty() && !result_.found; ++draw) {
        draw_.emplace(bank_, draw, open_);
        spent += multiply_adds();
        if (spent > options.multiply_adds && (draw > 0 || !options.at_least_one)) {
          result_.too_large = draw == 0;
          result_.reason = fmt::format("draw {} would make it {:.2g} multiply-adds, of at most {:.2g}", draw + 1, spent,
                                       options.multiply_adds);
          break;
        }
        try_draw();
        ++result_.draws;
      }
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      result_.reason = error.what();
    }
    return std::move(result_);
  }

 private:
  /// Returns true if the value is a function of the inputs by definitions only: also of no size that an opaque node
  /// determines, which may not be any number.
  bool is_computable(ValueId value, const ImportedModel& model) const {
    const std::vector<algebra::Atom> given = open_sizes_of(bank_, model.inputs),
                                     used = open_sizes_of(bank_, {&value, 1});
    const auto is_given = [&](algebra::Atom size) { return std::ranges::find(given, size) != given.end(); };
    return std::ranges::all_of(used, is_given) &&
           std::ranges::all_of(bank_.live_nodes(std::span(&value, 1)), [&](NodeId id) {
             const Node& node = bank_.node(id);
             if (node.kind == Node::Kind::Opaque) return false;
             const bool is_input = std::ranges::find(model.inputs, node.outputs[0]) != model.inputs.end();
             if (node.kind == Node::Kind::Input && !is_input) return false;
             return std::ranges::all_of(node.outputs,
                                        [&](ValueId output) { return bank_.value(output).type.has_value(); });
           });
  }

  void try_draw() {
    inputs_.clear();
    for (const ValuePair& pair : outputs_) {
      if (auto difference = compare(pair)) {
        difference->value = bank_.value(pair.before).name;
        return record(pair, *difference);
      }
    }
  }

  /// Returns the arithmetic of one evaluation of all pairs at the drawn sizes.
  double multiply_adds() {
    const GraphEvaluator at_sizes = evaluator(GraphEvaluator::Precision::Float64);
    double total = 0;
    for (const ValuePair& pair : outputs_) {
      for (const ValueId value : {pair.before, pair.after}) {
        for (const NodeId id : bank_.live_nodes(std::span(&value, 1)))
          total += bank_.node(id).constant ? 0 : work_of_node(bank_, id, at_sizes);
      }
    }
    return total;
  }

  GraphEvaluator evaluator(GraphEvaluator::Precision precision) {
    return {bank_, draw_->sizes(), [this](ValueId id) { return input(id); }, precision};
  }

  TensorPtr input(ValueId id) {
    TensorPtr& tensor = inputs_[id];
    if (!tensor) tensor = draw_->elements(bank_.value(id).type, bank_.node_of(id).source);
    return tensor;
  }

  /// Constants of float64 models may be folded in float32, too.
  double roundoff_limit(ValueId value) const {
    return max_error_factor * std::max(unit_roundoff(bank_.value(value).type.data_type), 0x1p-24);
  }

  /// Returns the largest difference of a pair of values if it counts.
  std::optional<ElementDifference> compare(const ValuePair& pair) {
    if (pair.before == pair.after) return std::nullopt;
    const TensorPtr before = evaluator(GraphEvaluator::Precision::Float64).value(pair.before);
    const TensorPtr after = evaluator(GraphEvaluator::Precision::Float64).value(pair.after);
    if (before->shape != after->shape) {
      ElementDifference difference;
      difference.relative = INFINITY;
      difference.shapes =
          fmt::format("[{}] became [{}]", fmt::join(before->shape, ", "), fmt::join(after->shape, ", "));
      return difference;
    }
    auto difference = largest_difference(*before, *after);
    if (difference && std::isinf(difference->relative) && overflows(pair))
      difference = largest_difference(*before, *after, /*counted=*/false);
    if (!difference) return std::nullopt;
    if (difference->relative > roundoff_limit(pair.before)) {
      const double own = std::max(own_error(pair.before, *before), own_error(pair.after, *after));
      if (own <= max_own_error && difference->relative > max_error_factor * own) return difference;
    }
    return multiply_adds() <= max_tracked_multiply_adds ? difference_beyond_bounds(pair) : std::nullopt;
  }

  /// Whether a value is infinite where its operands are not: over the reals it is finite, or not defined.
  bool overflows(const ValuePair& pair) {
    std::vector<ValueId> values;
    for (const NodeId id : bank_.live_nodes(std::vector{pair.before, pair.after}))
      values.insert(values.end(), bank_.node(id).outputs.begin(), bank_.node(id).outputs.end());
    std::vector<std::vector<std::size_t>> infinite(values.size());  // elements
    evaluator(GraphEvaluator::Precision::Float64).run(values, [&](std::size_t value, const TensorPtr& tensor) {
      for (std::size_t i = 0; i < tensor->values.size(); ++i)
        if (std::isinf(tensor->values[i])) infinite[value].push_back(i);
    });
    bool found = false;
    evaluator(GraphEvaluator::Precision::Tracked).run(values, [&](std::size_t value, const TensorPtr& tensor) {
      for (const std::size_t i : infinite[value]) found = found || std::isnan(tensor->values[i]);
    });
    return found;
  }

  /// Returns the element that differs most, in units of the bounds of both errors, if beyond them: also a small one.
  std::optional<ElementDifference> difference_beyond_bounds(const ValuePair& pair) {
    const TensorPtr before = evaluator(GraphEvaluator::Precision::Tracked).value(pair.before);
    const TensorPtr after = evaluator(GraphEvaluator::Precision::Tracked).value(pair.after);
    const auto error_of = [](const algebra::Tensor& tensor, std::size_t i) {
      return std::abs(tensor.values[i]) + (tensor.errors.empty() ? 0 : tensor.errors[i]);
    };
    std::optional<ElementDifference> found;
    for (std::size_t i = 0; i < before->values.size(); ++i) {
      const double x = before->values[i], y = after->values[i];
      const double relative = std::abs(x - y) / (error_of(*before, i) + error_of(*after, i));
      if (relative > (found ? found->relative : roundoff_limit(pair.before))) found = {"", "", i, x, y, relative};
    }
    return found;
  }

  /// Perturbed, because sums may lose the same digits in any precision.
  double own_error(ValueId value, const algebra::Tensor& exact) {
    const auto difference = largest_difference(exact, *evaluator(GraphEvaluator::Precision::Perturbed).value(value));
    return difference ? difference->relative : 0;
  }

  void record(const ValuePair& pair, const ElementDifference& difference) {
    Refutation found;
    found.input = draw_->description();
    for (const auto& [atom, size] : draw_->sizes())
      found.sizes.emplace(size_text(algebra::Poly(atom), bank_.symbols()), size);
    for (const auto& [id, tensor] : inputs_) found.inputs.emplace(bank_.value(id).name, *tensor);
    found.output = found.first = difference;
    find_first(found);
    if (found.node.empty()) found.node = node_of(pair.before);
    result_.found = std::move(found);
  }

  struct NamedPair {
    ValuePair values;
    std::string node;
    TensorPtr before, after;
  };

  /// Returns the values that both models compute under one name, in the order of the first model.
  std::vector<NamedPair> named_pairs() const {
    std::vector<NamedPair> pairs;
    for (const ImportedModel::NodeRecord& record : before_.nodes) {
      for (const ValueId value : bank_.node(record.node).outputs) {
        const auto other = after_.values.find(bank_.value(value).name);
        if (other == after_.values.end() || bank_.value(other->second).type != bank_.value(value).type) continue;
        if (value == other->second) continue;
        if (!is_computable(value, before_) || !is_computable(other->second, after_)) continue;
        pairs.push_back({{value, other->second}, record.op_type + " " + record.name, nullptr, nullptr});
      }
    }
    return pairs;
  }

  /// Finds the first value, in the order of the first model, that has another value in the second one.
  void find_first(Refutation& found) {
    std::vector<NamedPair> pairs = named_pairs();
    std::vector<ValueId> roots;
    for (const NamedPair& pair : pairs) roots.insert(roots.end(), {pair.values.before, pair.values.after});
    evaluator(GraphEvaluator::Precision::Float64).run(roots, [&](std::size_t root, const TensorPtr& tensor) {
      (root % 2 == 0 ? pairs[root / 2].before : pairs[root / 2].after) = tensor;
    });
    for (const NamedPair& pair : pairs) {
      if (pair.before->shape != pair.after->shape) continue;
      auto difference = largest_difference(*pair.before, *pair.after);
      if (!difference || difference->relative <= roundoff_limit(pair.values.before)) continue;
      difference->value = bank_.value(pair.values.before).name;
      found.first = *difference;
      found.node = pair.node;
      return;
    }
  }

  std::string node_of(ValueId value) const {
    for (const ImportedModel::NodeRecord& record : before_.nodes) {
      if (record.node == bank_.value(value).node) return record.op_type + " " + record.name;
    }
    return "input " + bank_.value(value).name;
  }

  const GraphBank& bank_;
  const ImportedModel &before_, &after_;
  std::vector<ValuePair> outputs_;
  std::vector<algebra::Atom> open_;
  std::map<ValueId, TensorPtr> inputs_;
  std::optional<RandomDraw> draw_;
  RefutationResult result_;
};

}  // namespace

RefutationResult refute_equality(const GraphBank& bank, const ImportedModel& before, const ImportedModel& after,
                                 const std::vector<ValuePair>& outputs, const RefutationOptions& options) {
  return RefutationSearch(bank, before, after, outputs).run(options);
}

bool refute_in_onnxruntime(const std::filesystem::path& before, const std::filesystem::path& after,
                           const std::vector<std::string>& command, std::string& difference, std::string& evaluation) {
  VerificationOptions verification;
  verification.accuracy = onnxruntime_accuracy;
  verification.onnxruntime = command;
  std::string why;
  const auto found = verify_with_onnxruntime(before, after, verification, {}, why, /*as_real_functions=*/true);
  if (found && found->verdict == VerificationResult::Verdict::Different) {
    difference = found->verifier + ": " + found->reason;
    return true;
  }
  evaluation += found && found->is_equal() ? "; " + found->verifier + " finds no difference"
                                           : "; not compared in onnxruntime: " + (found ? found->reason : why);
  return false;
}

}  // namespace rulemill::optimize
