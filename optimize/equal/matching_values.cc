#include "optimize/equal/matching_values.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>

#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/random_draw.h"
#include "optimize/model/rounding.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

/// Elements of a value that are compared, about.
constexpr std::size_t max_sampled_elements = 32;

/// Elements are equal if they differ by this many unit roundoffs of the largest, but not by more than `max_tolerance`.
constexpr double tolerance_roundoffs = 4096, max_tolerance = 0.01;

/// Pairs of values that are compared; larger models are not.
constexpr double max_pairs = 1e8;

/// Values of the first model that are returned for one of the second.
constexpr std::size_t max_matches = 4;

/// Some elements of a value.
struct Sample {
  std::vector<std::int64_t> shape, sorted_shape;
  DataType type{};
  double largest = 0;
  std::vector<double> elements;
};

/// The place of the k-th element along each dimension depends on its size, and for equal sizes on their order. So a
/// value and its transposition have the same elements, unless that exchanges dimensions of one size.
Sample take_sample(const algebra::Tensor& tensor, DataType type) {
  Sample sample{tensor.shape, tensor.shape, type, largest_of(tensor.values), {}};
  std::ranges::sort(sample.sorted_shape);
  if (tensor.values.empty()) return sample;
  for (std::uint64_t k = 0; k < std::min(max_sampled_elements, tensor.values.size()); ++k) {
    std::size_t element = 0;
    std::map<std::int64_t, std::uint64_t> seen;  // dimensions, by size
    for (const std::int64_t size : tensor.shape) {
      const std::uint64_t numbers[] = {k, static_cast<std::uint64_t>(size), seen[size]++};
      const auto place = runtime::hash64(runtime::bytes_of(numbers)) % static_cast<std::uint64_t>(size);
      element = element * static_cast<std::size_t>(size) + static_cast<std::size_t>(place);
    }
    sample.elements.push_back(tensor.values[element]);
  }
  return sample;
}

/// NaN equals nothing: outside of a function's domain all values would be equal.
bool agree(const Sample& a, const Sample& b) {
  if (a.sorted_shape != b.sorted_shape || a.type != b.type) return false;
  const double tolerance = std::min(max_tolerance, tolerance_roundoffs * unit_roundoff(a.type));
  const double limit = tolerance * std::max(a.largest, b.largest);
  return std::ranges::equal(a.elements, b.elements,
                            [&](double x, double y) { return x == y || std::abs(x - y) <= limit; });
}

/// The samples of the values of both models in one draw.
class SampledDraw {
 public:
  SampledDraw(const GraphBank& bank, const RandomDraw& draw) : bank_(bank), draw_(draw) {}

  void add(const IdentifiedModel& model, const std::vector<ValueId>& roots) {
    for (const auto& [name, value] : model.import.values) {
      if (const auto key = model.identity.initializer_key(name)) initializers_.emplace(value, *key);
    }
    GraphEvaluator evaluator(bank_, draw_.sizes(), [&](ValueId value) { return source(model, value); });
    evaluator.run(roots, [&](std::size_t root, const GraphEvaluator::TensorPtr& tensor) {
      if (tensor) samples_.try_emplace(roots[root], take_sample(*tensor, bank_.value(roots[root]).type.data_type));
    });
  }
  const Sample& sample(ValueId value) const { return samples_.at(value); }

 private:
  /// An opaque node with its arguments.
  struct Call {
    NodeId node{};
    std::uint64_t number = 0;
  };

  GraphEvaluator::TensorPtr source(const IdentifiedModel& model, ValueId value) {
    const Value& drawn = bank_.value(value);
    if (!drawn.type) return std::make_shared<const algebra::Tensor>();
    const Node& node = bank_.node(drawn.node);
    std::uint64_t seed = node.source;
    if (node.kind == Node::Kind::Opaque) {
      const std::string& key = model.identity.node_key(model.import.opaque_nodes.at(node.source));
      const std::uint64_t numbers[] = {call_number(key, drawn.node), drawn.output};
      seed = runtime::hash64(runtime::bytes_of(numbers));
    } else if (const auto initializer = initializers_.find(value); initializer != initializers_.end()) {
      seed = runtime::hash64(runtime::bytes_of(initializer->second));
    }
    return draw_.elements(drawn.type, seed);
  }

  /// Returns one number for all nodes that compute the same function of arguments with equal elements.
  std::uint64_t call_number(const std::string& key, NodeId id) {
    std::vector<Call>& calls = calls_[key];
    const auto known = std::ranges::find_if(calls, [&](const Call& call) {
      return std::ranges::equal(bank_.node(call.node).arguments, bank_.node(id).arguments,
                                [&](ValueId a, ValueId b) { return have_equal_elements(a, b); });
    });
    if (known != calls.end()) return known->number;
    calls.push_back({id, ++last_call_});
    return last_call_;
  }

  bool have_equal_elements(ValueId a, ValueId b) const {
    if (a == b) return true;
    const auto first = samples_.find(a), second = samples_.find(b);
    return first != samples_.end() && second != samples_.end() && first->second.shape == second->second.shape &&
           agree(first->second, second->second);
  }

  const GraphBank& bank_;
  const RandomDraw& draw_;
  std::unordered_map<ValueId, Sample> samples_;
  std::unordered_map<ValueId, std::string> initializers_;  // keys
  std::map<std::string, std::vector<Call>> calls_;         // of opaque nodes, by key
  std::uint64_t last_call_ = 0;
};

/// Returns the values of a model, arguments before users.
std::vector<ValueId> values_of(const GraphBank& bank, const ImportedModel& model) {
  std::vector<ValueId> values;
  for (const NodeId id : bank.live_nodes(model.outputs)) {
    const std::vector<ValueId>& outputs = bank.node(id).outputs;
    values.insert(values.end(), outputs.begin(), outputs.end());
  }
  return values;
}

bool is_comparable(const GraphBank& bank, ValueId value) {
  return bank.value(value).type && !bank.node_of(value).constant;
}

}  // namespace

MatchingValues matching_values(const GraphBank& bank, const IdentifiedModel& before, const IdentifiedModel& after) {
  const std::vector<ValueId> first = values_of(bank, before.import), second = values_of(bank, after.import);
  std::vector<ValueId> roots = first;
  roots.insert(roots.end(), second.begin(), second.end());
  const std::vector<algebra::Atom> open = open_sizes_of(bank, roots);
  MatchingValues matches;
  if (static_cast<double>(first.size()) * static_cast<double>(second.size()) > max_pairs) return matches;
  try {
    for (std::uint32_t number = 0; number < (open.empty() ? 1U : 2U); ++number) {
      const RandomDraw draw(bank, number, open);
      SampledDraw sampled(bank, draw);
      sampled.add(before, first);
      sampled.add(after, second);
      for (const ValueId value : second) {
        if (!is_comparable(bank, value)) continue;
        const auto [known, is_new] = matches.try_emplace(value);
        const auto agrees = [&](ValueId each) {
          return is_comparable(bank, each) && agree(sampled.sample(each), sampled.sample(value));
        };
        if (is_new) {
          std::ranges::copy_if(first, std::back_inserter(known->second), agrees);
        } else {
          std::erase_if(known->second, [&](ValueId each) { return !agrees(each); });
        }
      }
    }
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return {};  // the models cannot be evaluated at these sizes
  }
  for (auto& [value, known] : matches) {
    std::stable_partition(known.begin(), known.end(),
                          [&, &type = bank.value(value).type](ValueId each) { return bank.value(each).type == type; });
    known.resize(std::min(known.size(), max_matches));
  }
  return matches;
}

}  // namespace rulemill::optimize
