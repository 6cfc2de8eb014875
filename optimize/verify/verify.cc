#include "optimize/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "optimize/model/value_range.h"
#include "optimize/verify/error_growth.h"
#include "optimize/verify/random_inputs.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using Verdict = VerificationResult::Verdict;

/// Inputs tried per requested input before an uninformative tensor counts as not verified.
constexpr std::uint32_t max_draws_per_input = 6;

/// Sizes at which all dynamic dimensions are compared, too: a result must not fail on no or single elements.
constexpr std::int64_t least_sizes[] = {0, 1};

/// Exponents of 2 by which inputs of 16-bit floats are scaled, too: results near the smallest numbers lose digits. The
/// last ones reach the smallest numbers of float16; where nothing is left of the original, nothing is compared.
constexpr int small_exponents[] = {-6, -10, -14, -18, -22};

/// On inputs that are chosen to make it grow, the error may be this many times as large as on random ones.
constexpr double chosen_input_allowance = 4;

/// Elements of a tensor; models with larger ones are not evaluated.
constexpr double max_elements = 1 << 28;

/// Returns true if more than half of the elements have one value, by the majority vote of Boyer and Moore.
bool mostly_one_value(std::span<const double> values) {
  double candidate = 0;
  std::size_t votes = 0, count = 0;
  for (double value : values) {
    if (votes == 0) candidate = value;
    votes += value == candidate ? 1 : -1;
  }
  for (double value : values) count += value == candidate ? 1 : 0;
  return count > values.size() / 2;
}

bool mostly_not_finite(std::span<const double> values) {
  const auto finite = std::ranges::count_if(values, [](double value) { return std::isfinite(value); });
  return static_cast<std::size_t>(finite) < values.size() - values.size() / 2;
}

class Comparison {
 public:
  Comparison(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
             const VerificationOptions& options, const GraphEvaluator::Sizes& sizes, std::span<const GivenInputs> given)
      : bank_(bank), options_(options), given_sizes_(sizes), given_(given) {
    result_.verifier = "definitions";
    result_.reference = "definitions in float64";
    for (std::size_t i = 0; i < before.size(); ++i) {
      add_pair(before[i], after[i], "output " + bank.value(before[i]).name);
    }
    std::map<std::uint32_t, NodeId> opaque;
    for (NodeId id : bank.live_nodes(before)) {
      if (bank.node(id).kind == Node::Kind::Opaque) opaque.emplace(bank.node(id).source, id);
    }
    for (NodeId id : bank.live_nodes(after)) {
      const Node& node = bank.node(id);
      if (node.kind != Node::Kind::Opaque) continue;
      auto original = opaque.find(node.source);
      if (original == opaque.end() || bank.node(original->second).arguments.size() != node.arguments.size()) {
        fail("an opaque node was added, or its number of inputs changed");
        continue;
      }
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        ValueId argument = bank.node(original->second).arguments[i];
        add_pair(argument, node.arguments[i], "value " + bank.value(argument).name);
      }
    }
    collect_sizes();
  }

  VerificationResult run() {
    auto first_uninformative = [&] {
      return std::ranges::find_if(pairs_, [](const Pair& pair) { return !pair.is_informative; });
    };
    for (const GivenInputs& each : given_) {
      if (result_.is_equal()) run_draw({.given = &each});
    }
    for (std::uint32_t draw = 0; draw < options_.inputs * max_draws_per_input && result_.is_equal(); ++draw) {
      if (draw >= options_.inputs && first_uninformative() == pairs_.end()) break;
      run_draw({draw});
    }
    run_boundary_draws();
    for (const Pair& pair : pairs_) {
      const DataType type = bank_.value(pair.before).type.data_type;
      if (!is_accepted(pair.largest, type, options_.accuracy)) fail(pair.failure);
    }
    if (auto pair = first_uninformative(); result_.is_equal() && pair != pairs_.end()) {
      give_up(pair->name + " is mostly NaN, infinite or one value, whatever the input");
    }
    if (result_.is_equal()) check_error_growth();
    return std::move(result_);
  }

 private:
  struct Pair {
    ValueId before, after;
    std::string name;
    bool is_informative = false;  // compared on informative values
    algebra::Tensor first;        // the value for the first input, if most of its elements are equal
    std::vector<bool> changed;    // by element: differs from `first` for a later input
    GraphEvaluator::TensorPtr reference, pending;
    RelativeErrors largest;  // over all inputs
    std::string failure;     // for the first input with too large an error
  };

  void fail(const std::string& why) { set_verdict(Verdict::Different, why); }
  void give_up(const std::string& why) { set_verdict(Verdict::NotVerified, why); }
  void set_verdict(Verdict verdict, const std::string& why) {
    if (!result_.is_equal()) return;
    result_.verdict = verdict;
    result_.reason = why;
  }

  void add_pair(ValueId before, ValueId after, const std::string& name) {
    if (before == after) return;  // the same term
    if (is_same_opaque_output(before, after)) return;
    if (!bank_.value(before).type || !bank_.value(after).type) {
      fail(name + " has an unsupported type and changed");
    } else {
      pairs_.push_back({before, after, name, false, {}, {}, {}, {}, {}, {}});
    }
  }

  /// Returns true for outputs of the same opaque node, which are equal because its inputs are compared.
  bool is_same_opaque_output(ValueId before, ValueId after) const {
    const Node& a = bank_.node_of(before);
    const Node& b = bank_.node_of(after);
    return a.kind == Node::Kind::Opaque && b.kind == Node::Kind::Opaque && a.source == b.source &&
           bank_.value(before).output == bank_.value(after).output;
  }

  void collect_sizes() {
    for (const Pair& pair : pairs_) {
      originals_.push_back(pair.before);
      results_.push_back(pair.after);
      roots_.push_back(pair.before);
      roots_.push_back(pair.after);
    }
    std::set<algebra::Atom> atoms;
    for (NodeId id : bank_.live_nodes(roots_)) {
      for (ValueId output : bank_.node(id).outputs) {
        if (!bank_.value(output).type) continue;
        for (const algebra::Poly& dim : *bank_.value(output).type) {
          for (algebra::Atom atom : bank_.symbols().atoms(dim)) atoms.insert(atom);
        }
      }
    }
    atoms_.assign(atoms.begin(), atoms.end());
  }

  /// Compares at the least sizes, at zeros if a rule widens, and 16-bit floats on small values and near overflow.
  void run_boundary_draws() {
    for (const std::uint32_t number : {0U, 1U, 4U})  // numbers of any sign, positive and negative ones
      if (result_.is_equal() && options_.accuracy.only_where_defined) run_draw({.number = number, .has_zeros = true});
    const bool has_open_sizes = std::ranges::any_of(
        atoms_, [&](algebra::Atom atom) { return !given_.empty() || !given_sizes_.contains(atom); });
    for (const std::int64_t size : least_sizes) {
      if (result_.is_equal() && has_open_sizes) run_draw({0, 1, size});
    }
    if (!result_.is_equal() || !has_short_floats(bank_, roots_)) return;
    for (const int exponent : small_exponents) {
      if (result_.is_equal()) run_draw({0, std::exp2(exponent)});
    }
    if (result_.is_equal()) check_range();
  }

  void check_range() {
    try {
      if (const auto value = find_overflow({bank_, originals_, results_, given_sizes_, options_.inputs, given_})) {
        const std::string& name = bank_.value(*value).name;
        fail("value " + (name.empty() ? "of " + bank_.instance(bank_.node_of(*value)).name : name) +
             " overflows on inputs on which all values of the model are finite");
      }
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      give_up(std::string("range: ") + error.what());
    }
  }

  GraphEvaluator::Sizes sizes_of(const Draw& draw) const {
    if (draw.given) return draw_sizes(draw, atoms_, draw.given->sizes);
    const bool are_examples = draw.size && !given_.empty();
    return draw_sizes(draw, atoms_, are_examples ? GraphEvaluator::Sizes() : given_sizes_);
  }

  /// Rejects errors that are small on random inputs and large on others, and measures how the range grows.
  void check_error_growth() {
    try {
      result_.range_growth = range_growth({bank_, originals_, results_, given_sizes_, 1});
      const ErrorGrowth growth =
          find_error_growth(bank_, originals_, results_, draw_sizes(Draw{}, atoms_, given_sizes_));
      result_.error_growth = growth.ratio;
      if (growth.ratio <= chosen_input_allowance * options_.accuracy.max_error_ratio) return;
      fail(fmt::format("{}: on inputs that are chosen to make it grow, {}", pairs_[growth.root].name,
                       describe(growth.errors, bank_.value(originals_[growth.root]).type.data_type)));
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      give_up(std::string("chosen inputs: ") + error.what());
    }
  }

  /// Returns true if the model has values at these sizes. Opaque nodes may exclude some that are not known here.
  bool has_values(GraphEvaluator& evaluator) const {
    try {
      for (NodeId id : bank_.live_nodes(originals_)) {
        if (bank_.node(id).kind == Node::Kind::Opaque || has_negative_size(evaluator, id)) return false;
      }
      evaluator.run(originals_, [](std::size_t, const GraphEvaluator::TensorPtr&) {});
      return true;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      return false;
    }
  }

  bool has_negative_size(const GraphEvaluator& evaluator, NodeId id) const {
    return std::ranges::any_of(bank_.node(id).outputs, [&](ValueId output) {
      const ValueType& type = bank_.value(output).type;
      return type && std::ranges::any_of(evaluator.dims(*type), [](std::int64_t dim) { return dim < 0; });
    });
  }

  void run_draw(const Draw& draw) {
    const GraphEvaluator::Sizes sizes = sizes_of(draw);
    RandomInputs inputs(bank_, sizes, draw);
    const auto draw_source = [&](ValueId id) { return inputs(id); };
    GraphEvaluator in_float64(bank_, sizes, draw_source),
        typed(bank_, sizes, draw_source, GraphEvaluator::Precision::AsTyped);
    if (draw.size && !has_values(in_float64)) return;
    try {
      for (NodeId id : bank_.live_nodes(roots_)) check_size(in_float64, id);
      if (!result_.is_equal()) return;
      in_float64.run(originals_, [&](std::size_t root, const GraphEvaluator::TensorPtr& tensor) {
        pairs_[root].reference = tensor;
      });
      typed.run(roots_, [&](std::size_t root, const GraphEvaluator::TensorPtr& tensor) {
        Pair& pair = pairs_[root / 2];
        if (!pair.pending) {
          pair.pending = tensor;
          return;
        }
        const GraphEvaluator::TensorPtr other = std::exchange(pair.pending, nullptr);
        if (result_.is_equal()) compare(pair, root % 2 == 0 ? *tensor : *other, root % 2 == 0 ? *other : *tensor, draw);
        pair.reference.reset();
      });
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      if (draw.size) fail(describe(draw) + ": the result is not computed: " + error.what());
      give_up(describe(draw) + ": " + error.what());
    }
    for (Pair& pair : pairs_) pair.pending.reset();
    if (draw.is_ordinary()) ++(draw.given ? result_.given_inputs : result_.inputs);
  }

  void check_size(const GraphEvaluator& evaluator, NodeId id) {
    if (has_negative_size(evaluator, id)) throw runtime::Error("evaluation", "a size is negative");
    for (ValueId output : bank_.node(id).outputs) {
      if (!bank_.value(output).type) continue;
      double elements = 1;
      for (std::int64_t dim : evaluator.dims(*bank_.value(output).type)) elements *= static_cast<double>(dim);
      if (elements > max_elements) give_up("value " + bank_.value(output).name + " is too large to be computed here");
    }
  }

  void compare(Pair& pair, const algebra::Tensor& before, const algebra::Tensor& after, const Draw& draw) {
    const std::string place = pair.name + ", " + describe(draw);
    if (before.shape != after.shape) return fail(place + ": shapes differ");
    ++result_.tensors;
    result_.elements += before.values.size();
    const DataType type = bank_.value(pair.before).type.data_type;
    std::vector<double> compared = after.values;
    for (std::size_t i = 0; options_.accuracy.only_where_defined && i < compared.size(); ++i)
      if (std::isnan(before.values[i])) compared[i] = before.values[i];
    const RelativeErrors errors = measure_errors(pair.reference->values, before.values, compared);
    // Below the smallest normal numbers the original's digits are rounding errors, too.
    if (draw.scale != 1 && !is_well_conditioned(errors)) return;
    const bool is_final = before.values.size() >= small_tensor_elements || !errors.same_nonfinite_positions ||
                          !is_well_conditioned(errors);
    if (!is_accepted(errors, type, options_.accuracy)) {
      if (pair.failure.empty())
        pair.failure = fmt::format("{}, element {}: {:.9g} became {:.9g}: {}", place, errors.worst_element,
                                   before.values[errors.worst_element], after.values[errors.worst_element],
                                   describe(errors, type));
      if (is_final) return fail(pair.failure);
    }
    if (is_well_conditioned(errors)) {
      pair.largest.merge(errors);
      result_.errors.merge(errors);
    }
    result_.max_relative_difference = std::max(result_.max_relative_difference, errors.difference);
    if (draw.is_ordinary()) pair.is_informative = pair.is_informative || has_informative_value(pair, before);
  }

  /// Returns true if most elements are finite, and differ from each other or have changed with the input, or if the
  /// value does not depend on inputs.
  bool has_informative_value(Pair& pair, const algebra::Tensor& tensor) const {
    if (mostly_not_finite(tensor.values)) return false;
    if (tensor.values.size() > 1 && !mostly_one_value(tensor.values)) return true;
    if (pair.first.values.empty()) {
      pair.first = tensor;
      pair.changed.assign(tensor.values.size(), false);
    }
    std::size_t changed = 0;
    for (std::size_t i = 0; pair.first.shape == tensor.shape && i < tensor.values.size(); ++i) {
      pair.changed[i] = pair.changed[i] || tensor.values[i] != pair.first.values[i];
      changed += pair.changed[i] ? 1 : 0;
    }
    return changed * 2 >= tensor.values.size() || is_independent_of_inputs(pair.before);
  }

  bool is_independent_of_inputs(ValueId id) const {
    return std::ranges::all_of(bank_.live_nodes(std::span(&id, 1)), [&](NodeId node) {
      return bank_.node(node).kind == Node::Kind::Constant || bank_.node(node).kind == Node::Kind::Algebra;
    });
  }

  const GraphBank& bank_;
  const VerificationOptions& options_;
  const GraphEvaluator::Sizes& given_sizes_;
  const std::span<const GivenInputs> given_;
  std::vector<Pair> pairs_;
  std::vector<ValueId> originals_, results_;
  std::vector<ValueId> roots_;  // before and after of each pair
  std::vector<algebra::Atom> atoms_;
  VerificationResult result_;
};

}  // namespace

VerificationResult verify(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                          const VerificationOptions& options, const GraphEvaluator::Sizes& sizes,
                          std::span<const GivenInputs> given) {
  RM_CHECK(before.size() == after.size(), "the graphs have different numbers of outputs");
  const runtime::Stopwatch watch;
  VerificationResult result = Comparison(bank, before, after, options, sizes, given).run();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace rulemill::optimize
