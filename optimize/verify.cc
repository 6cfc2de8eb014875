#include "optimize/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "optimize/rounding.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace rulemill::optimize {

namespace {

using Verdict = Judgement::Verdict;

/// Small and mostly odd, so that a mistake in a window or a split shows.
constexpr std::int64_t small_sizes[] = {3, 5, 2, 7, 4, 6};

/// Kinds of inputs, in turns: a model may compute nothing but NaN or zeros on one of them.
struct Range {
  double least, most;
};
constexpr Range ranges[] = {{-1, 1},     {0.25, 2}, {-8, 8},   {0, 1},       {-2, -0.25},
                            {-100, 100}, {8, 16},   {-16, -8}, {-1000, 1000}};

/// Inputs drawn, for each seed that was asked for, before a value counts as not verified.
constexpr std::uint32_t most_draws = 6;

/// What the reference execution is not tried on.
constexpr double most_elements = 1 << 28;

/// A value that more than half of the elements have; by the majority vote of Boyer and Moore.
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
             const VerifyOptions& options)
      : bank_(bank), options_(options) {
    result_.judge = "definitions";
    result_.exact = "definitions in float64";
    for (std::size_t i = 0; i < before.size(); ++i) {
      add_pair(before[i], after[i], "output " + bank.value(before[i]).name);
    }
    std::map<std::uint32_t, NodeId> opaque;
    for (NodeId id : bank.live(before)) {
      if (bank.node(id).kind == Node::Kind::Opaque) opaque.emplace(bank.node(id).source, id);
    }
    for (NodeId id : bank.live(after)) {
      const Node& now = bank.node(id);
      if (now.kind != Node::Kind::Opaque) continue;
      auto was = opaque.find(now.source);
      if (was == opaque.end() || bank.node(was->second).arguments.size() != now.arguments.size()) {
        fail("an operator that is not known appears, or changed its inputs");
        continue;
      }
      for (std::size_t i = 0; i < now.arguments.size(); ++i) {
        ValueId argument = bank.node(was->second).arguments[i];
        add_pair(argument, now.arguments[i], "value " + bank.value(argument).name);
      }
    }
    collect_sizes();
  }

  Judgement run() {
    auto open = [&] { return std::ranges::find_if(pairs_, [](const Pair& pair) { return !pair.shown; }); };
    for (std::uint32_t draw = 0; draw < options_.seeds * most_draws && result_.equal(); ++draw) {
      if (draw >= options_.seeds && open() == pairs_.end()) break;
      run_draw(draw);
    }
    for (const Pair& pair : pairs_) {
      const Element element = bank_.value(pair.before).type.element;
      if (!accepted(pair.largest, element, options_.acceptance)) fail(pair.told);
    }
    if (auto pair = open(); result_.equal() && pair != pairs_.end()) {
      give_up(pair->what + " is mostly NaN, infinite or one value, whatever the input");
    }
    return std::move(result_);
  }

 private:
  struct Pair {
    ValueId before, after;
    std::string what;
    bool shown = false;     // compared on values that show something
    algebra::Tensor first;  // where most elements are one value: which of them change with the input
    std::vector<bool> changed;
    Evaluator::TensorPtr exact, waiting;
    Errors largest;    // over all inputs
    std::string told;  // of the first input on which it was too far off
  };

  void fail(const std::string& why) { settle(Verdict::Different, why); }
  void give_up(const std::string& why) { settle(Verdict::NotVerified, why); }
  void settle(Verdict verdict, const std::string& why) {
    if (!result_.equal()) return;
    result_.verdict = verdict;
    result_.reason = why;
  }

  void add_pair(ValueId before, ValueId after, const std::string& what) {
    if (before == after) return;  // the same term
    if (same_cut(before, after)) return;
    if (!bank_.value(before).type || !bank_.value(after).type) {
      fail(what + " is not a float tensor and changed");
    } else {
      pairs_.push_back({before, after, what, false, {}, {}, {}, {}, {}, {}});
    }
  }

  /// Outputs of one opaque node are equal by the cut: what goes into it is compared.
  bool same_cut(ValueId before, ValueId after) const {
    const Node& a = bank_.node_of(before);
    const Node& b = bank_.node_of(after);
    return a.kind == Node::Kind::Opaque && b.kind == Node::Kind::Opaque && a.source == b.source &&
           bank_.value(before).output == bank_.value(after).output;
  }

  void collect_sizes() {
    for (const Pair& pair : pairs_) {
      originals_.push_back(pair.before);
      roots_.push_back(pair.before);
      roots_.push_back(pair.after);
    }
    std::set<algebra::Atom> atoms;
    for (NodeId id : bank_.live(roots_)) {
      for (ValueId output : bank_.node(id).outputs) {
        if (!bank_.value(output).type) continue;
        for (const algebra::Poly& dim : *bank_.value(output).type) {
          for (algebra::Atom atom : bank_.symbols().atoms(dim)) atoms.insert(atom);
        }
      }
    }
    atoms_.assign(atoms.begin(), atoms.end());
  }

  void run_draw(std::uint32_t draw) {
    Evaluator::Sizes sizes = options_.sizes;
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      sizes.emplace(atoms_[i], small_sizes[(i + draw) % std::size(small_sizes)]);
    }
    const Evaluator* shapes = nullptr;
    std::map<std::pair<std::uint64_t, std::uint32_t>, Evaluator::TensorPtr> sources;
    const auto draw_source = [&](ValueId id) -> Evaluator::TensorPtr {
      const Node& node = bank_.node_of(id);
      if (!bank_.value(id).type) return nullptr;
      // The same source, the same numbers, whichever side asks.
      const std::uint64_t source = node.source * 2ull + (node.kind == Node::Kind::Opaque ? 1 : 0);
      auto& tensor = sources[{source, bank_.value(id).output}];
      if (!tensor) tensor = random_tensor(shapes->dims(*bank_.value(id).type), draw, source, bank_.value(id));
      return tensor;
    };
    Evaluator exact(bank_, sizes, draw_source), typed(bank_, sizes, draw_source, Evaluator::Precision::AsTyped);
    shapes = &exact;
    try {
      for (NodeId id : bank_.live(roots_)) require_room(exact, id);
      if (!result_.equal()) return;
      exact.run(originals_, [&](std::size_t root, const Evaluator::TensorPtr& tensor) { pairs_[root].exact = tensor; });
      typed.run(roots_, [&](std::size_t root, const Evaluator::TensorPtr& tensor) {
        Pair& pair = pairs_[root / 2];
        if (!pair.waiting) {
          pair.waiting = tensor;
          return;
        }
        const Evaluator::TensorPtr other = std::exchange(pair.waiting, nullptr);
        if (result_.equal()) compare(pair, root % 2 == 0 ? *tensor : *other, root % 2 == 0 ? *other : *tensor, draw);
        pair.exact.reset();
      });
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      give_up("input " + std::to_string(draw) + ": " + error.what());
    }
    for (Pair& pair : pairs_) pair.waiting.reset();
    ++result_.inputs;
  }

  void require_room(const Evaluator& evaluator, NodeId id) {
    for (ValueId output : bank_.node(id).outputs) {
      if (!bank_.value(output).type) continue;
      double elements = 1;
      for (std::int64_t dim : evaluator.dims(*bank_.value(output).type)) elements *= static_cast<double>(dim);
      if (elements > most_elements) give_up("value " + bank_.value(output).name + " is too large to be computed here");
    }
  }

  static Evaluator::TensorPtr random_tensor(std::vector<std::int64_t> shape, std::uint64_t draw, std::uint64_t source,
                                            const Value& drawn) {
    std::uint64_t words[] = {draw, source, drawn.output};
    std::mt19937_64 random(runtime::hash64(runtime::bytes_of(words)));
    const Range range = ranges[draw % std::size(ranges)];
    algebra::Tensor tensor{std::move(shape), {}};
    std::size_t count = 1;
    for (std::int64_t dim : tensor.shape) count *= static_cast<std::size_t>(dim);
    tensor.values.resize(count);
    for (double& value : tensor.values) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      value = rounded(range.least + (range.most - range.least) * unit, drawn.type.element);
      // Integers are places for the most part: small.
      if (drawn.type.element == Element::Truth) value = unit < 0.5 ? 0 : 1;
      if (drawn.type.element == Element::Integer) value = static_cast<double>(random() % 3);
    }
    return std::make_shared<algebra::Tensor>(std::move(tensor));
  }

  void compare(Pair& pair, const algebra::Tensor& before, const algebra::Tensor& after, std::uint32_t draw) {
    std::string place = pair.what + ", input " + std::to_string(draw);
    if (before.shape != after.shape) return fail(place + ": shapes differ");
    ++result_.tensors;
    result_.elements += before.values.size();
    const Element element = bank_.value(pair.before).type.element;
    const Errors errors = errors_of(pair.exact->values, before.values, after.values);
    const bool judged_alone = before.values.size() >= few_elements || !errors.same_places || !well_conditioned(errors);
    if (!accepted(errors, element, options_.acceptance)) {
      if (pair.told.empty())
        pair.told = fmt::format("{}, element {}: {:.9g} became {:.9g}: {}", place, errors.worst,
                                before.values[errors.worst], after.values[errors.worst], text_of(errors, element));
      if (judged_alone) return fail(pair.told);
    }
    if (well_conditioned(errors)) {
      pair.largest.take_larger(errors);
      result_.errors.take_larger(errors);
    }
    result_.worst = std::max(result_.worst, errors.difference);
    pair.shown = pair.shown || shows_something(pair, before);
  }

  /// Most elements are finite, and differ from each other or have changed with the input; what depends on no input may
  /// be what it is.
  bool shows_something(Pair& pair, const algebra::Tensor& tensor) const {
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
    return changed * 2 >= tensor.values.size() || depends_on_nothing(pair.before);
  }

  bool depends_on_nothing(ValueId id) const {
    return std::ranges::all_of(bank_.live(std::span(&id, 1)), [&](NodeId node) {
      return bank_.node(node).kind == Node::Kind::Constant || bank_.node(node).kind == Node::Kind::Algebra;
    });
  }

  const GraphBank& bank_;
  const VerifyOptions& options_;
  std::vector<Pair> pairs_;
  std::vector<ValueId> originals_;
  std::vector<ValueId> roots_;  // of the pairs, before and after in turns
  std::vector<algebra::Atom> atoms_;
  Judgement result_;
};

}  // namespace

Judgement verify(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                 const VerifyOptions& options) {
  RM_CHECK(before.size() == after.size(), "the graphs have different numbers of outputs");
  const auto start = std::chrono::steady_clock::now();
  Judgement result = Comparison(bank, before, after, options).run();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace rulemill::optimize
