#include "optimize/search/window_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "optimize/model/numbers.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

constexpr std::size_t max_window_nodes = 4, min_ops = 3, max_variables = 5;
constexpr std::size_t max_arity = 2;            // of operators beside a window's
constexpr std::int64_t largest_fixed_size = 3;  // kernels and pairs stay as they are
constexpr std::uint64_t max_tensor_elements = 1024;

using Dims = std::vector<std::int64_t>;

/// An operator with its parameters as a profile's file has them.
struct Entry {
  std::string name;
  algebra::Parameters parameters;
  auto operator<=>(const Entry&) const = default;
};

std::string toml(const Dims& dims) {
  return '[' + runtime::join_text(dims, [](std::int64_t dim) { return std::to_string(dim); }) + ']';
}

std::string toml(const std::set<std::int64_t>& numbers) { return toml(Dims(numbers.begin(), numbers.end())); }

std::string toml(const algebra::ParameterValue& value) {
  const std::string text = algebra::to_string(value);
  if (std::holds_alternative<std::string>(value)) return '"' + text + '"';
  return std::holds_alternative<Dims>(value) ? '[' + text + ']' : text;  // the only alternative
}

std::string toml(const Entry& entry) {
  std::string text = fmt::format("operator = \"{}\"\n", entry.name);
  for (const auto& [key, value] : entry.parameters) text += fmt::format("parameters.{} = {}\n", key, toml(value));
  return text;
}

bool applies_function(const algebra::ScalarExpr& expr) {
  using Kind = algebra::ScalarExpr::Kind;
  return expr.kind == Kind::Apply || expr.kind == Kind::Max ||
         std::ranges::any_of(expr.operands, [](const auto& operand) { return applies_function(*operand); });
}

bool applies_function(const algebra::OperatorInstance& instance) {
  const auto applies = [](const algebra::TensorDefinition& tensor) { return applies_function(*tensor.body); };
  return std::ranges::any_of(instance.outputs, applies) || std::ranges::any_of(instance.intermediates, applies);
}

/// Small values of a window's sizes. Products of other sizes remain products.
class SmallSizes {
 public:
  explicit SmallSizes(const std::set<std::int64_t>& sizes) {
    std::int64_t last = largest_fixed_size;
    for (const std::int64_t size : sizes) {
      const std::optional<std::int64_t> as_product = product(size);
      small_[size] = size <= largest_fixed_size ? size : as_product ? *as_product : ++last;
    }
  }

  Dims of(const Dims& dims) const {
    Dims result;
    for (const std::int64_t dim : dims) result.push_back(small_.at(dim));
    return result;
  }

 private:
  std::optional<std::int64_t> product(std::int64_t size) const {
    for (const auto& [factor, small] : small_) {
      const auto other = factor > 1 && size % factor == 0 ? small_.find(size / factor) : small_.end();
      if (other != small_.end() && other->first > 1) return small * other->second;
    }
    return std::nullopt;
  }

  std::map<std::int64_t, std::int64_t> small_;
};

/// The graph of some nodes at small sizes.
struct SmallWindow {
  std::vector<NodeId> nodes;  // arguments before users
  std::vector<ValueId> variables;
  std::set<NodeId> constants;                    // named ones
  std::map<ValueId, Dims> shapes;                // of all values
  std::map<NodeId, Dims> sizes;                  // size parameters
  std::map<Entry, std::vector<NodeId>> entries;  // the nodes with their operators
};

class ProfileMaker {
 public:
  ProfileMaker(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs, const algebra::TermBank& terms,
               const std::vector<algebra::RuleRecord>& rules)
      : bank_(bank), cost_(cost), costs_(cost.node_costs(outputs)) {
    for (const algebra::RuleRecord& record : rules) {
      std::set<std::string> names;
      for (const algebra::NodeId id : algebra::nodes_of(record.rule, terms))
        names.insert(bank.library().instance(terms.node(id).instance).operator_name);
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
  std::optional<std::string> text_of(const std::vector<NodeId>& nodes) const {
    const std::optional<SmallWindow> window = small_window(nodes);
    if (!window || window->variables.size() > max_variables) return std::nullopt;
    std::set<std::string> names;
    bool is_real = false;
    for (const auto& [entry, of_entry] : window->entries) {
      names.insert(entry.name);
      is_real = is_real || applies_function(bank_.instance(bank_.node(of_entry[0])));
    }
    if (std::ranges::any_of(known_, [&](const auto& known) { return std::ranges::includes(known, names); }))
      return std::nullopt;
    std::string text = fmt::format("max_ops = {}\nmax_elements = {}\nvalues = \"{}\"\n",
                                   std::max(min_ops, nodes.size() + window->constants.size()), max_tensor_elements,
                                   is_real ? "reals" : "field");
    for (std::size_t i = 0; i < window->variables.size(); ++i)
      text += fmt::format("[[variables]]\nnames = [\"x{}\"]\nshape = {}\n", i + 1,
                          toml(window->shapes.at(window->variables[i])));
    for (const NodeId id : window->constants)
      text += fmt::format("[[constants]]\n{}sizes = {}\n", toml(entry_of(id)), toml(window->sizes.at(id)));
    for (const auto& [entry, of_entry] : window->entries) {
      if (!window->constants.contains(of_entry[0]))
        text += "[[operators]]\n" + toml(entry) + restrictions(entry.name, of_entry, *window);
    }
    for (const std::string& entry : companions(*window, names)) text += "[[operators]]\n" + entry;
    return text;
  }

 private:
  Entry entry_of(NodeId id) const {
    const algebra::OperatorInstance& instance = bank_.instance(bank_.node(id));
    return {instance.operator_name, instance.parameters};
  }

  std::optional<SmallWindow> small_window(std::vector<NodeId> nodes) const {
    SmallWindow window;
    std::set<std::int64_t> all_sizes;
    std::ranges::sort(nodes);
    for (const NodeId id : nodes) {
      for (const ValueId argument : bank_.node(id).arguments) {
        const NodeId producer = bank_.value(argument).node;
        const ValueType& type = bank_.value(argument).type;
        if (!type || !is_float(type.data_type)) return std::nullopt;
        const Dims dims = cost_.evaluate(*type);
        all_sizes.insert(dims.begin(), dims.end());
        if (std::ranges::binary_search(nodes, producer)) continue;
        if (is_named_constant(bank_.node(producer)))
          window.constants.insert(producer);
        else if (window.shapes.emplace(argument, dims).second)
          window.variables.push_back(argument);
      }
    }
    window.nodes.assign(window.constants.begin(), window.constants.end());
    window.nodes.insert(window.nodes.end(), nodes.begin(), nodes.end());
    for (const NodeId id : window.nodes) {
      window.sizes[id] = cost_.evaluate(bank_.node(id).sizes);
      all_sizes.insert(window.sizes[id].begin(), window.sizes[id].end());
      window.entries[entry_of(id)].push_back(id);
    }
    const SmallSizes small(all_sizes);
    for (auto& [value, shape] : window.shapes) shape = small.of(shape);
    for (auto& [id, sizes] : window.sizes) sizes = small.of(sizes);
    for (const NodeId id : window.nodes) {
      if (!infer(id, window)) return std::nullopt;
    }
    const auto has_pack = [&](const auto& entry) {
      const auto names = bank_.library().size_parameter_names(entry.first.name);
      return std::ranges::any_of(names, [](const std::string& name) { return name.ends_with("..."); });
    };
    if (std::ranges::any_of(window.entries, has_pack)) return std::nullopt;
    const auto is_large = [](const auto& shape) {
      return std::accumulate(shape.second.begin(), shape.second.end(), 1.0, std::multiplies()) > max_tensor_elements;
    };
    if (std::ranges::any_of(window.shapes, is_large)) return std::nullopt;
    return window;
  }

  /// Adds the shapes of the node's outputs; false if it does not exist at the small sizes.
  bool infer(NodeId id, SmallWindow& window) const {
    const Node& node = bank_.node(id);
    std::vector<Dims> inputs;
    for (const ValueId argument : node.arguments) inputs.push_back(window.shapes.at(argument));
    const auto outputs = algebra::infer(bank_.instance(node), inputs, window.sizes.at(id));
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i) window.shapes[node.outputs[i]] = (*outputs)[i];
    return outputs.has_value();
  }

  /// The ranks of the operator's arguments and the values of its size parameters.
  std::string restrictions(const std::string& name, const std::vector<NodeId>& nodes, const SmallWindow& window) const {
    const std::vector<std::string> names = bank_.library().size_parameter_names(name);
    std::vector<std::set<std::int64_t>> values(names.size());
    std::set<std::int64_t> ranks;
    for (const NodeId id : nodes) {
      for (const ValueId argument : bank_.node(id).arguments)
        ranks.insert(static_cast<std::int64_t>(window.shapes.at(argument).size()));
      for (std::size_t i = 0; i < names.size(); ++i) values[i].insert(window.sizes.at(id).at(i));
    }
    std::string text = fmt::format("ranks = {}\n", toml(ranks));
    for (std::size_t i = 0; i < names.size(); ++i) text += fmt::format("sizes.{} = {}\n", names[i], toml(values[i]));
    return text;
  }

  /// Returns the other operators of the ONNX operators that the window's stand for, as entries of a profile.
  std::set<std::string> companions(const SmallWindow& window, const std::set<std::string>& names) const {
    std::set<std::uint32_t> ranks = {0};
    for (const auto& [value, shape] : window.shapes) ranks.insert(static_cast<std::uint32_t>(shape.size()));
    std::set<std::string> found;
    for (const auto& [entry, nodes] : window.entries) {
      for (const algebra::OnnxMapping& mapping : bank_.instance(bank_.node(nodes[0])).onnx) {
        for (const auto& other : bank_.library().onnx_mappings(mapping.op_type, mapping.domain)) {
          if (names.contains(other.operator_name)) continue;
          if (const auto text = companion(other.operator_name, entry.parameters, ranks)) found.insert(*text);
        }
      }
    }
    return found;
  }

  /// Returns nullopt if the operator takes no arguments of these ranks, or has parameters that are not given.
  std::optional<std::string> companion(const std::string& name, const algebra::Parameters& given,
                                       const std::set<std::uint32_t>& ranks) const {
    algebra::Library& library = bank_.library();
    Entry entry{name, {}};
    for (const std::string& parameter : library.parameter_names(name)) {
      if (library.default_value(name, parameter)) continue;
      const auto found = given.find(parameter);
      if (found == given.end()) return std::nullopt;
      entry.parameters.insert(*found);
    }
    const std::size_t arity = library.arity(name);
    if (arity == 0 || arity > max_arity || !library.size_parameter_names(name).empty()) return std::nullopt;
    std::set<std::int64_t> accepted;
    for (const std::uint32_t first : ranks) {
      for (const std::uint32_t second : ranks) {
        const std::uint32_t pair[] = {first, second};
        const std::span<const std::uint32_t> arguments = std::span(pair).first(arity);
        if (library.find_instance(name, entry.parameters, arguments) != nullptr)
          accepted.insert(arguments.begin(), arguments.end());
      }
    }
    if (accepted.empty()) return std::nullopt;
    return toml(entry) + fmt::format("ranks = {}\n", toml(accepted));
  }

  const GraphBank& bank_;
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
      if (const std::optional<std::string> text = maker.text_of(window))
        found.try_emplace(*text, WindowProfile{*text, window.size(), 0}).first->second.seconds += seconds;
    }
  }
  std::vector<WindowProfile> profiles;
  for (auto& [text, profile] : found) profiles.push_back(std::move(profile));
  std::ranges::stable_sort(profiles, {}, [](const auto& each) { return std::tuple(each.nodes, -each.seconds); });
  return profiles;
}

}  // namespace rulemill::optimize
