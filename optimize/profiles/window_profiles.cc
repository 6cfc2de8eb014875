#include "optimize/profiles/window_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

constexpr std::size_t max_window_nodes = 4, min_ops = 3, max_variables = 5;
constexpr std::size_t max_arity = 2;            // of operators beside a window's
constexpr std::int64_t largest_fixed_size = 3;  // kernels and pairs stay as they are
constexpr std::int64_t max_tensor_elements = 1024;

using Dims = std::vector<std::int64_t>;
using Operator = std::pair<std::string, algebra::Parameters>;

template <class Numbers>
std::string list(const Numbers& numbers) {
  return '[' + runtime::join_text(numbers, [](auto number) { return std::to_string(number); }) + ']';
}

std::string toml(const algebra::ParameterValue& value) {
  const std::string text = algebra::to_string(value);
  if (std::holds_alternative<std::string>(value)) return '"' + text + '"';
  return std::holds_alternative<Dims>(value) ? '[' + text + ']' : text;  // the only alternative
}

/// Small values of a window's sizes. Products of other sizes remain products.
std::map<std::int64_t, std::int64_t> small_sizes(const std::set<std::int64_t>& sizes) {
  std::map<std::int64_t, std::int64_t> result;
  std::int64_t last = largest_fixed_size;
  for (const std::int64_t size : sizes) {
    std::int64_t small = size;
    const auto is_factor = [&](const auto& each) {
      return each.first > 1 && size % each.first == 0 && result.contains(size / each.first);
    };
    if (size > largest_fixed_size) {
      const auto factor = std::ranges::find_if(result, is_factor);
      small = factor == result.end() ? ++last : factor->second * result.at(size / factor->first);
    }
    result[size] = small;
  }
  return result;
}

/// The graph of some nodes at small sizes.
struct SmallWindow {
  std::vector<ValueId> variables;
  std::map<ValueId, Dims> shapes;                     // of all values
  std::map<Operator, std::vector<NodeId>> operators;  // with the nodes that apply them
};

class ProfileMaker {
 public:
  ProfileMaker(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs, const algebra::TermBank& terms,
               const std::vector<algebra::RuleRecord>& rules)
      : bank_(bank), library_(bank.library()), cost_(cost), costs_(cost.node_costs(outputs)) {
    for (const algebra::RuleRecord& record : rules) {
      std::set<std::string> names;
      for (const algebra::NodeId id : algebra::nodes_of(record.rule, terms))
        names.insert(library_.instance(terms.node(id).instance).operator_name);
      known_.insert(std::move(names));
    }
  }

  /// Adds a producer of an argument, the costliest; false if there is none.
  bool grow(std::vector<NodeId>& window) const {
    std::optional<NodeId> costliest;
    for (const NodeId id : window) {
      for (const ValueId argument : bank_.node(id).arguments) {
        const NodeId producer = bank_.value(argument).node;
        if (!is_computed(producer) || std::ranges::count(window, producer) > 0) continue;
        if (!costliest || cost_of(producer) > cost_of(*costliest)) costliest = producer;
      }
    }
    if (costliest) window.push_back(*costliest);
    return costliest.has_value();
  }

  bool is_computed(NodeId id) const { return bank_.node(id).kind == Node::Kind::Algebra && !bank_.node(id).constant; }

  double cost_of(NodeId id) const {
    const auto found = costs_.find(id);
    return found == costs_.end() ? 0 : found->second;
  }

  /// Returns nullopt if a rule has the nodes' operators, or if they have no small instance.
  std::optional<WindowProfile> profile_of(const std::vector<NodeId>& nodes) const {
    const std::optional<SmallWindow> window = small_window(nodes);
    if (!window || window->variables.size() > max_variables) return std::nullopt;
    std::set<std::string> names;
    std::string text;
    for (std::size_t i = 0; i < window->variables.size(); ++i)
      text += fmt::format("[[variables]]\nnames = [\"x{}\"]\nshape = {}\n", i + 1,
                          list(window->shapes.at(window->variables[i])));
    for (const auto& [op, of_operator] : window->operators) {
      names.insert(op.first);
      text += fmt::format("[[operators]]\noperator = \"{}\"\n", op.first);
      for (const auto& [key, value] : op.second) text += fmt::format("parameters.{} = {}\n", key, toml(value));
      text += fmt::format("ranks = {}\n", list(ranks_of(of_operator, *window)));
    }
    const auto has_names = [&](const auto& known) { return std::ranges::includes(known, names); };
    if (std::ranges::any_of(known_, has_names)) return std::nullopt;
    for (const std::string& name : companions(*window))
      if (!names.contains(name)) text += fmt::format("[[operators]]\noperator = \"{}\"\n", name);
    WindowProfile profile{fmt::format("max_ops = {}\nmax_elements = {}\nvalues = \"reals\"\n{}",
                                      std::max(min_ops, nodes.size()), max_tensor_elements, text),
                          {},
                          0};
    for (const NodeId id : nodes) profile.operators.push_back(bank_.instance(bank_.node(id)).operator_name);
    return profile;
  }

 private:
  std::optional<SmallWindow> small_window(std::vector<NodeId> nodes) const {
    SmallWindow window;
    std::set<std::int64_t> all_sizes;
    std::ranges::sort(nodes);
    for (const NodeId id : nodes) {
      const Node& node = bank_.node(id);
      for (const ValueId argument : node.arguments) {
        const ValueType& type = bank_.value(argument).type;
        if (!type || !is_float(type.data_type) || !node.sizes.empty()) return std::nullopt;
        if (std::ranges::binary_search(nodes, bank_.value(argument).node)) continue;
        const Dims dims = cost_.evaluate(*type);
        all_sizes.insert(dims.begin(), dims.end());
        if (window.shapes.emplace(argument, dims).second) window.variables.push_back(argument);
      }
      window.operators[{bank_.instance(node).operator_name, bank_.instance(node).parameters}].push_back(id);
    }
    const std::map<std::int64_t, std::int64_t> small = small_sizes(all_sizes);
    for (auto& [value, shape] : window.shapes)
      for (std::int64_t& size : shape) size = small.at(size);
    const bool exists = std::ranges::all_of(nodes, [&](NodeId id) { return infer(id, window); });
    const bool is_small = std::ranges::all_of(window.shapes, [](const auto& each) {
      return std::accumulate(each.second.begin(), each.second.end(), std::int64_t{1}, std::multiplies()) <=
             max_tensor_elements;
    });
    return exists && is_small ? std::optional(std::move(window)) : std::nullopt;
  }

  /// Adds the shapes of the node's outputs; false if it does not exist at small sizes.
  bool infer(NodeId id, SmallWindow& window) const {
    const Node& node = bank_.node(id);
    std::vector<Dims> inputs;
    for (const ValueId argument : node.arguments) inputs.push_back(window.shapes.at(argument));
    const auto outputs = algebra::infer(bank_.instance(node), inputs, {});
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i) window.shapes[node.outputs[i]] = (*outputs)[i];
    return outputs.has_value();
  }

  std::set<std::size_t> ranks_of(const std::vector<NodeId>& nodes, const SmallWindow& window) const {
    std::set<std::size_t> ranks;
    for (const NodeId id : nodes) {
      for (const ValueId argument : bank_.node(id).arguments) ranks.insert(window.shapes.at(argument).size());
    }
    return ranks;
  }

  /// Returns the operators without parameters of the ONNX operators that the window's stand for.
  std::set<std::string> companions(const SmallWindow& window) const {
    std::set<std::string> found;
    for (const auto& [op, nodes] : window.operators) {
      for (const algebra::OnnxMapping& mapping : bank_.instance(bank_.node(nodes[0])).onnx) {
        for (const auto& other : library_.onnx_mappings(mapping.op_type, mapping.domain))
          if (is_companion(other.operator_name)) found.insert(other.operator_name);
      }
    }
    return found;
  }

  bool is_companion(const std::string& name) const {
    const std::size_t arity = library_.arity(name);
    return arity > 0 && arity <= max_arity && library_.size_parameter_names(name).empty() &&
           std::ranges::all_of(library_.parameter_names(name), [&](const std::string& parameter) {
             return library_.default_value(name, parameter).has_value();
           });
  }

  const GraphBank& bank_;
  const algebra::Library& library_;
  CostModel& cost_;
  const std::unordered_map<NodeId, double> costs_;
  std::set<std::set<std::string>> known_;  // operators of a rule
};

}  // namespace

std::vector<WindowProfile> window_profiles(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs,
                                           const algebra::TermBank& terms,
                                           const std::vector<algebra::RuleRecord>& rules) {
  const ProfileMaker maker(bank, cost, outputs, terms, rules);
  std::map<std::string, WindowProfile> found;
  for (const NodeId root : bank.live_nodes(outputs)) {
    if (!maker.is_computed(root)) continue;
    std::vector<NodeId> window = {root};
    double seconds = maker.cost_of(root);
    while (window.size() < max_window_nodes && maker.grow(window)) {
      seconds += maker.cost_of(window.back());
      if (const std::optional<WindowProfile> profile = maker.profile_of(window))
        found.try_emplace(profile->text, *profile).first->second.seconds += seconds;
    }
  }
  std::vector<WindowProfile> profiles;
  for (auto& [text, profile] : found) profiles.push_back(std::move(profile));
  std::ranges::stable_sort(profiles, {},
                           [](const auto& each) { return std::tuple(each.operators.size(), -each.seconds); });
  return profiles;
}

}  // namespace rulemill::optimize
