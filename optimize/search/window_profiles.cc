#include "optimize/search/window_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "optimize/model/numbers.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

constexpr std::uint32_t max_window_nodes = 4, min_ops = 3;
constexpr std::size_t max_variables = 5;
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

std::string toml(const algebra::ParameterValue& value) {
  const std::string text = algebra::to_string(value);
  if (std::holds_alternative<std::string>(value)) return '"' + text + '"';
  return std::holds_alternative<Dims>(value) ? '[' + text + ']' : text;
}

std::string toml(const Dims& dims) {
  return '[' + runtime::join_text(dims, [](std::int64_t dim) { return std::to_string(dim); }) + ']';
}

std::string toml(const Entry& entry) {
  std::string text = fmt::format("operator = \"{}\"\n", entry.name);
  for (const auto& [key, value] : entry.parameters) text += fmt::format("parameters.{} = {}\n", key, toml(value));
  return text;
}

bool has_entry(const enumerate::Profile& profile, const Entry& entry, const algebra::Library& library) {
  const auto is_entry = [&](const auto& each) {
    return each.name == entry.name && std::ranges::all_of(entry.parameters, [&](const auto& parameter) {
             const auto given = each.parameters.find(parameter.first);
             return given != each.parameters.end()
                        ? given->second == parameter.second
                        : library.default_value(entry.name, parameter.first) == parameter.second;
           });
  };
  return std::ranges::any_of(profile.operators, is_entry) || std::ranges::any_of(profile.constants, is_entry);
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

class ProfileMaker {
 public:
  ProfileMaker(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs,
               const std::vector<enumerate::Profile>& known)
      : bank_(bank), cost_(cost), known_(known), costs_(cost.node_costs(outputs)) {}

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

  bool is_computed(NodeId id) const {
    return bank_.node(id).kind == Node::Kind::Algebra && !bank_.node(id).constant && !is_named_constant(bank_.node(id));
  }

  double cost_of(NodeId id) const {
    const auto found = costs_.find(id);
    return found == costs_.end() ? 0 : found->second;
  }

  /// Returns nullopt if known profiles have the window's operators, or if it has no small instance.
  std::optional<std::string> text_of(std::vector<NodeId> window) const {
    std::ranges::sort(window);
    std::map<ValueId, Dims> shapes;
    std::vector<ValueId> variables;
    std::set<NodeId> constants;
    std::set<Entry> entries;
    std::set<std::int64_t> sizes;
    for (const NodeId id : window) {
      const Node& node = bank_.node(id);
      entries.insert(entry_of(node));
      for (const algebra::Poly& size : node.sizes) sizes.insert(cost_.evaluate(size));
      for (const ValueId argument : node.arguments) {
        const NodeId producer = bank_.value(argument).node;
        if (std::ranges::binary_search(window, producer) || shapes.contains(argument)) continue;
        const ValueType& type = bank_.value(argument).type;
        if (!type || !is_float(type.data_type)) return std::nullopt;
        shapes[argument] = cost_.evaluate(*type);
        sizes.insert(shapes[argument].begin(), shapes[argument].end());
        if (!is_named_constant(bank_.node(producer)))
          variables.push_back(argument);
        else if (constants.insert(producer).second)
          entries.insert(entry_of(bank_.node(producer)));
      }
    }
    const std::size_t max_ops = std::max<std::size_t>(min_ops, window.size() + constants.size());
    if (variables.size() > max_variables || is_known(entries, max_ops)) return std::nullopt;
    const SmallSizes small(sizes);
    for (auto& [value, shape] : shapes) shape = small.of(shape);
    for (const NodeId id : window) {
      if (!infer(id, small, shapes)) return std::nullopt;
    }
    std::string text = fmt::format("max_ops = {}\nmax_elements = {}\nvalues = \"{}\"\n", max_ops, max_tensor_elements,
                                   domain_of(entries));
    for (std::size_t i = 0; i < variables.size(); ++i)
      text += fmt::format("[[variables]]\nnames = [\"x{}\"]\nshape = {}\n", i + 1, toml(shapes.at(variables[i])));
    for (const NodeId id : constants)
      text += fmt::format("[[constants]]\n{}sizes = {}\n", toml(entry_of(bank_.node(id))), toml(sizes_of(id, small)));
    std::set<Entry> operators;
    for (const NodeId id : window) operators.insert(entry_of(bank_.node(id)));
    for (const Entry& entry : operators)
      text += "[[operators]]\n" + toml(entry) + restrictions(entry, window, small, shapes);
    for (const std::string& entry : companions(window, entries, shapes)) text += "[[operators]]\n" + entry;
    return text;
  }

 private:
  Entry entry_of(const Node& node) const {
    const algebra::OperatorInstance& instance = bank_.instance(node);
    return {instance.operator_name, instance.parameters};
  }

  bool is_known(const std::set<Entry>& entries, std::size_t nodes) const {
    return std::ranges::any_of(known_, [&](const enumerate::Profile& profile) {
      return profile.max_ops >= nodes && std::ranges::all_of(entries, [&](const Entry& entry) {
               return has_entry(profile, entry, bank_.library());
             });
    });
  }

  Dims sizes_of(NodeId id, const SmallSizes& small) const { return small.of(cost_.evaluate(bank_.node(id).sizes)); }

  /// Adds the shapes of the node's outputs; false if it does not exist at the small sizes.
  bool infer(NodeId id, const SmallSizes& small, std::map<ValueId, Dims>& shapes) const {
    const Node& node = bank_.node(id);
    std::vector<Dims> inputs;
    for (const ValueId argument : node.arguments) inputs.push_back(shapes.at(argument));
    const auto outputs = algebra::infer(bank_.instance(node), inputs, sizes_of(id, small));
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i) shapes[node.outputs[i]] = (*outputs)[i];
    return outputs.has_value();
  }

  /// The ranks of the operator's arguments in the window and the values of its size parameters.
  std::string restrictions(const Entry& entry, const std::vector<NodeId>& window, const SmallSizes& small,
                           const std::map<ValueId, Dims>& shapes) const {
    const std::vector<std::string> names = bank_.library().size_parameter_names(entry.name);
    std::vector<std::set<std::int64_t>> values(names.size());
    std::set<std::int64_t> ranks;
    for (const NodeId id : window) {
      if (entry_of(bank_.node(id)) != entry) continue;
      for (const ValueId argument : bank_.node(id).arguments)
        ranks.insert(static_cast<std::int64_t>(shapes.at(argument).size()));
      for (std::size_t i = 0; i < names.size(); ++i) values[i].insert(sizes_of(id, small).at(i));
    }
    std::string text = fmt::format("ranks = {}\n", toml(Dims(ranks.begin(), ranks.end())));
    for (std::size_t i = 0; i < names.size(); ++i)
      text += fmt::format("sizes.{} = {}\n", names[i], toml(Dims(values[i].begin(), values[i].end())));
    return text;
  }

  /// Functions of numbers are evaluated where known profiles do so.
  std::string domain_of(const std::set<Entry>& entries) const {
    const bool is_real = std::ranges::any_of(known_, [&](const enumerate::Profile& profile) {
      return profile.values == algebra::Domain::Reals && std::ranges::any_of(entries, [&](const Entry& entry) {
               return has_entry(profile, entry, bank_.library());
             });
    });
    return is_real ? "reals" : "field";
  }

  /// Returns the operators that ONNX's operators of the window stand for at other ranks, as entries of a profile.
  std::set<std::string> companions(const std::vector<NodeId>& window, const std::set<Entry>& entries,
                                   const std::map<ValueId, Dims>& shapes) const {
    std::set<std::uint32_t> ranks = {0};
    for (const auto& [value, shape] : shapes) ranks.insert(static_cast<std::uint32_t>(shape.size()));
    std::set<std::string> found;
    for (const NodeId id : window) {
      const algebra::OperatorInstance& instance = bank_.instance(bank_.node(id));
      for (const algebra::OnnxMapping& mapping : instance.onnx) {
        for (const auto& other : bank_.library().onnx_mappings(mapping.op_type, mapping.domain)) {
          const bool is_inside =
              std::ranges::any_of(entries, [&](const Entry& each) { return each.name == other.operator_name; });
          if (const auto text = companion(other.operator_name, instance, ranks); text && !is_inside)
            found.insert(*text);
        }
      }
    }
    return found;
  }

  /// Returns nullopt if the operator takes no arguments of these ranks, or has parameters that the instance lacks.
  std::optional<std::string> companion(const std::string& name, const algebra::OperatorInstance& instance,
                                       const std::set<std::uint32_t>& ranks) const {
    algebra::Library& library = bank_.library();
    Entry entry{name, {}};
    for (const std::string& parameter : library.parameter_names(name)) {
      if (library.default_value(name, parameter)) continue;
      const auto given = instance.parameters.find(parameter);
      if (given == instance.parameters.end()) return std::nullopt;
      entry.parameters.insert(*given);
    }
    const std::size_t arity = library.arity(name);
    if (arity == 0 || arity > max_arity || !library.size_parameter_names(name).empty()) return std::nullopt;
    Dims accepted;
    for (const std::uint32_t rank : ranks) {
      const bool is_accepted = std::ranges::any_of(ranks, [&](std::uint32_t other) {
        const std::uint32_t pair[] = {rank, other, rank};
        const auto accepts = [&](std::size_t first) {
          return library.find_instance(name, entry.parameters, std::span(pair).subspan(first, arity)) != nullptr;
        };
        return accepts(0) || (arity == 2 && accepts(1));
      });
      if (is_accepted) accepted.push_back(rank);
    }
    if (accepted.empty()) return std::nullopt;
    return toml(entry) + fmt::format("ranks = {}\n", toml(accepted));
  }

  const GraphBank& bank_;
  CostModel& cost_;
  const std::vector<enumerate::Profile>& known_;
  std::unordered_map<NodeId, double> costs_;
};

}  // namespace

std::vector<WindowProfile> window_profiles(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs,
                                           const std::vector<enumerate::Profile>& known) {
  const ProfileMaker maker(bank, cost, outputs, known);
  std::map<std::string, WindowProfile> found;
  for (const NodeId root : bank.live_nodes(outputs)) {
    if (!maker.is_computed(root)) continue;
    std::vector<NodeId> window = {root};
    double seconds = maker.cost_of(root);
    while (window.size() < max_window_nodes && maker.grow(window)) {
      seconds += maker.cost_of(window.back());
      const std::optional<std::string> text = maker.text_of(window);
      if (!text) continue;
      WindowProfile& profile =
          found.try_emplace(*text, WindowProfile{*text, static_cast<std::uint32_t>(window.size())}).first->second;
      profile.seconds += seconds;
    }
  }
  std::vector<WindowProfile> profiles;
  for (auto& [text, profile] : found) profiles.push_back(std::move(profile));
  std::ranges::stable_sort(profiles, std::ranges::greater(), &WindowProfile::seconds);
  return profiles;
}

}  // namespace rulemill::optimize
