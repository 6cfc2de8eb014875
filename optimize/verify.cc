#include "optimize/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "runtime/error.h"
#include "runtime/hash.h"

namespace rulemill::optimize {

namespace {

/// Small and mostly odd, so that a mistake in a window or a split shows.
constexpr std::int64_t small_sizes[] = {3, 5, 2, 7, 4, 6};

class Comparison {
 public:
  Comparison(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
             const VerifyOptions& options)
      : bank_(bank), options_(options) {
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
    std::vector<ValueId> all;
    for (const Pair& pair : pairs_) all.push_back(pair.before);
    collect_sizes(all);
  }

  Verification run() {
    for (std::uint32_t seed = 0; seed < options_.seeds && result_.equal; ++seed) run_seed(seed);
    return std::move(result_);
  }

 private:
  struct Pair {
    ValueId before, after;
    std::string what;
  };

  void fail(const std::string& why) {
    if (result_.equal) result_.failure = why;
    result_.equal = false;
  }

  void add_pair(ValueId before, ValueId after, const std::string& what) {
    if (before == after) return;  // the same term
    if (same_cut(before, after)) return;
    if (!bank_.value(before).type || !bank_.value(after).type) {
      fail(what + " is not a float tensor and changed");
    } else {
      pairs_.push_back({before, after, what});
    }
  }

  /// Outputs of one opaque node are equal by the cut: what goes into it is compared.
  bool same_cut(ValueId before, ValueId after) const {
    const Node& a = bank_.node_of(before);
    const Node& b = bank_.node_of(after);
    return a.kind == Node::Kind::Opaque && b.kind == Node::Kind::Opaque && a.source == b.source &&
           bank_.value(before).output == bank_.value(after).output;
  }

  void collect_sizes(std::span<const ValueId> values) {
    std::set<algebra::Atom> atoms;
    for (NodeId id : bank_.live(values)) {
      for (ValueId output : bank_.node(id).outputs) {
        if (!bank_.value(output).type) continue;
        for (const algebra::Poly& dim : *bank_.value(output).type) {
          for (algebra::Atom atom : bank_.symbols().atoms(dim)) atoms.insert(atom);
        }
      }
    }
    atoms_.assign(atoms.begin(), atoms.end());
  }

  void run_seed(std::uint32_t seed) {
    Evaluator::Sizes sizes = options_.sizes;
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      sizes.emplace(atoms_[i], small_sizes[(i + seed) % std::size(small_sizes)]);
    }
    const Evaluator* shapes = nullptr;
    std::map<std::pair<std::uint64_t, std::uint32_t>, Evaluator::TensorPtr> sources;
    Evaluator evaluator(bank_, sizes, [&](ValueId id) -> Evaluator::TensorPtr {
      const Node& node = bank_.node_of(id);
      if (!bank_.value(id).type) return nullptr;
      // The same source, the same numbers, whichever side asks.
      std::uint64_t kind = node.kind == Node::Kind::Opaque ? 1 : 0;
      auto& tensor = sources[{node.source * 2ull + kind, bank_.value(id).output}];
      if (!tensor)
        tensor =
            random_tensor(shapes->dims(*bank_.value(id).type), seed, node.source * 2ull + kind, bank_.value(id).output);
      return tensor;
    });
    shapes = &evaluator;
    for (const Pair& pair : pairs_) {
      if (!result_.equal) return;
      try {
        compare(pair, *evaluator.value(pair.before), *evaluator.value(pair.after), seed);
      } catch (const runtime::Error& error) {
        fail(pair.what + ", seed " + std::to_string(seed) + ": " + error.what());
      }
    }
  }

  static Evaluator::TensorPtr random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed, std::uint64_t source,
                                            std::uint64_t output) {
    std::uint64_t words[] = {seed, source, output};
    std::mt19937_64 random(runtime::hash64(runtime::bytes_of(words)));
    algebra::Tensor tensor{std::move(shape), {}};
    std::size_t count = 1;
    for (std::int64_t dim : tensor.shape) count *= static_cast<std::size_t>(dim);
    tensor.values.resize(count);
    for (float& value : tensor.values) {
      value = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);  // [-1, 1)
    }
    return std::make_shared<algebra::Tensor>(std::move(tensor));
  }

  void compare(const Pair& pair, const algebra::Tensor& before, const algebra::Tensor& after, std::uint32_t seed) {
    std::string place = pair.what + ", seed " + std::to_string(seed);
    if (before.shape != after.shape) return fail(place + ": shapes differ");
    double scale = 1e-30;
    for (float value : before.values) {
      if (std::isfinite(value)) scale = std::max(scale, std::fabs(static_cast<double>(value)));
    }
    ++result_.tensors;
    result_.elements += before.values.size();
    for (std::size_t i = 0; i < before.values.size(); ++i) {
      double a = before.values[i], b = after.values[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      double difference = std::fabs(a - b) / scale;
      if (!(difference <= options_.tolerance)) {
        char numbers[96];
        std::snprintf(numbers, sizeof(numbers), "%.9g became %.9g (relative to the largest value: %.3g)", a, b,
                      difference);
        return fail(place + ", element " + std::to_string(i) + ": " + numbers);
      }
      result_.worst = std::max(result_.worst, difference);
    }
  }

  const GraphBank& bank_;
  const VerifyOptions& options_;
  std::vector<Pair> pairs_;
  std::vector<algebra::Atom> atoms_;
  Verification result_;
};

}  // namespace

Verification verify(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                    const VerifyOptions& options) {
  RM_CHECK(before.size() == after.size(), "the graphs have different numbers of outputs");
  return Comparison(bank, before, after, options).run();
}

}  // namespace rulemill::optimize
