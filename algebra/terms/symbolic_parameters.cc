#include "algebra/terms/symbolic_parameters.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "algebra/terms/size_condition.h"
#include "algebra/terms/typing.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

/// Edits a node's parameters and sizes in place.
using NodeEdit = std::function<void(NodeId node, Parameters& parameters, std::vector<Poly>& sizes)>;

/// The heights of parameters, by node and name.
class ParameterHeights {
 public:
  ParameterHeights(const Rule& rule, const TermBank& bank) {
    for (const NodeId id : nodes_of(rule, bank)) {
      auto& heights = heights_[id];
      for (const TermId argument : bank.node(id).arguments) {
        if (bank.term(argument).is_variable) continue;
        const NodeId below = bank.term(argument).node;
        const Parameters& parameters = bank.library().instance(bank.node(below).instance).parameters;
        for (const auto& [name, height] : heights_.at(below))
          heights[name] = std::max(heights[name], height + (parameters.contains(name) ? 1 : 0));
        for (const auto& [name, value] : parameters) heights[name] = std::max<std::uint32_t>(heights[name], 1);
      }
    }
  }

  std::uint32_t height(NodeId node, const std::string& parameter) const {
    const auto& heights = heights_.at(node);
    const auto found = heights.find(parameter);
    return found == heights.end() ? 0 : found->second;
  }

 private:
  std::map<NodeId, std::map<std::string, std::uint32_t>> heights_;
};

/// Rebuilds the rule with every node edited. Leaves shapes and condition to the caller. Throws if an operator has no
/// such instance.
Rule rebuild_nodes(const Rule& rule, Library& library, TermBank& bank, const NodeEdit& edit) {
  Rule result = rule;
  TermMap images;
  rewrite_nodes(result, bank, images, [&](NodeId id, std::span<const TermId> arguments) {
    const OperatorInstance& instance = bank.library().instance(bank.node(id).instance);
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : arguments) ranks.push_back(bank.rank(argument));
    if (library.has_explicit_rank(instance.operator_name)) {
      const std::size_t single = library.size_parameter_names(instance.operator_name).size() - 1;
      ranks.push_back(static_cast<std::uint32_t>(instance.declared_size_count() - single));
    }
    Parameters parameters = instance.parameters;
    std::vector<Poly> sizes = bank.node(id).sizes;
    edit(id, parameters, sizes);
    const OperatorInstance& other = library.instantiate(instance.operator_name, parameters, ranks);
    if (sizes.size() != other.size_parameter_count())
      throw runtime::InputError(
          "", fmt::format("{}: expected {} sizes, found {}", other.name, other.size_parameter_count(), sizes.size()));
    return bank.apply(other.id, arguments, sizes);
  });
  return result;
}

std::vector<std::int64_t> to_numbers(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return {*number};
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  return list == nullptr ? std::vector<std::int64_t>{} : *list;
}

}  // namespace

std::vector<ParameterClass> parameter_classes(const Rule& rule, const TermBank& bank, bool by_height) {
  std::vector<ParameterClass> classes;
  const ParameterHeights heights(rule, bank);
  for (const NodeId node : nodes_of(rule, bank)) {
    const OperatorInstance& instance = bank.library().instance(bank.node(node).instance);
    for (const auto& [name, value] : instance.parameters) {
      const std::vector<std::int64_t> numbers = to_numbers(value);
      if (numbers.empty() || !bank.library().can_be_symbolic(instance.operator_name, name)) continue;
      const ParameterClass found{name, value, by_height ? heights.height(node, name) : 0};
      if (std::ranges::find(classes, found) == classes.end()) classes.push_back(found);
    }
  }
  return classes;
}

std::optional<Rule> with_symbolic_parameters(const Rule& rule, const std::vector<ParameterClass>& classes,
                                             Library& library, TermBank& bank, Symbols& symbols, bool by_height) {
  const ParameterHeights heights(rule, bank);
  std::set<std::string> used_names = used_size_names(rule, bank, symbols);
  std::vector<std::vector<Poly>> values;
  for (const ParameterClass& each : classes) {
    const std::size_t count = to_numbers(each.value).size();
    auto& sizes = values.emplace_back();
    for (std::size_t k = 0; k < count; ++k) {
      const bool is_number = std::holds_alternative<std::int64_t>(each.value);
      sizes.push_back(unused_size(each.name + (is_number ? "" : std::to_string(k + 1)), used_names, symbols));
    }
  }
  try {
    return rebuild_nodes(rule, library, bank, [&](NodeId node, Parameters& parameters, std::vector<Poly>& sizes) {
      const OperatorInstance& instance = library.instance(bank.node(node).instance);
      // All symbolic parameters, old and new, follow in the order in which the definition declares them.
      std::map<std::string, std::vector<Poly>> symbolic;
      for (const SymbolicParameter& each : instance.symbolic_parameters) {
        const auto first = sizes.begin() + each.first;
        symbolic[each.name] = {first, first + each.count};
      }
      sizes.resize(instance.declared_size_count());
      for (const std::string& name : library.parameter_names(instance.operator_name)) {
        ParameterValue& value = parameters.at(name);
        const ParameterClass own_class{name, value, by_height ? heights.height(node, name) : 0};
        const auto found = std::ranges::find(classes, own_class);
        if (found != classes.end()) {
          const std::vector<std::int64_t> numbers = to_numbers(value);
          value = Symbolic{std::ranges::find(numbers, 0) == numbers.end() ? 1 : 0};
          symbolic[name] = values[static_cast<std::size_t>(found - classes.begin())];
        }
        if (const auto values_of_name = symbolic.find(name); values_of_name != symbolic.end())
          sizes.insert(sizes.end(), values_of_name->second.begin(), values_of_name->second.end());
      }
    });
  } catch (const runtime::Error&) {  // the definition needs the number
    return std::nullopt;
  }
}

std::optional<Rule> substitute_sizes(const Rule& rule, const Substitution& sizes, Library& library, TermBank& bank,
                                     Symbols& symbols) {
  try {
    Rule result =
        rebuild_nodes(rule, library, bank, [&](NodeId node, Parameters& parameters, std::vector<Poly>& of_node) {
          const OperatorInstance& instance = library.instance(bank.node(node).instance);
          for (Poly& size : of_node) size = symbols.substitute(size, sizes);
          for (auto symbolic = instance.symbolic_parameters.rbegin(); symbolic != instance.symbolic_parameters.rend();
               ++symbolic) {
            std::vector<std::int64_t> numbers;
            for (std::uint32_t k = 0; k < symbolic->count; ++k) {
              if (const auto number = of_node[symbolic->first + k].constant())
                numbers.push_back(symbolic->to_number(*number));
            }
            if (numbers.size() < symbolic->count) continue;
            if (std::ranges::any_of(numbers, [&](std::int64_t number) { return number < symbolic->min_value; }))
              throw runtime::InputError("", "a symbolic parameter is at least " + std::to_string(symbolic->min_value));
            parameters.at(symbolic->name) = symbolic->is_list ? ParameterValue(numbers) : ParameterValue(numbers.at(0));
            of_node.erase(of_node.begin() + symbolic->first, of_node.begin() + symbolic->first + symbolic->count);
          }
        });
    for (Shape& shape : result.shapes) {
      for (Poly& dim : shape) dim = symbols.substitute(dim, sizes);
    }
    for (SizeCondition& condition : result.condition) condition = substitute(condition, sizes, symbols);
    std::erase_if(result.packs, [&](Atom atom) { return sizes.contains(atom); });
    std::erase_if(result.condition,
                  [&](const SizeCondition& condition) { return holds(condition, symbols) == Truth::Yes; });
    if (std::ranges::any_of(result.condition, [&](const SizeCondition& c) { return holds(c, symbols) == Truth::No; }))
      return std::nullopt;
    return result;
  } catch (const runtime::Error&) {  // no such instance
    return std::nullopt;
  }
}

void visit_symbolic_sizes(const Rule& rule, const TermBank& bank, const SymbolicSizeVisitor& visit) {
  for (const NodeId id : nodes_of(rule, bank)) {
    const Node& node = bank.node(id);
    for (const SymbolicParameter& symbolic : bank.library().instance(node.instance).symbolic_parameters) {
      for (std::uint32_t k = 0; k < symbolic.count; ++k) {
        if (const auto atom = node.sizes[symbolic.first + k].atom()) visit(symbolic, *atom);
      }
    }
  }
}

std::vector<Atom> symbolic_parameter_sizes(const Rule& rule, const TermBank& bank) {
  std::vector<Atom> result;
  visit_symbolic_sizes(rule, bank, [&](const SymbolicParameter&, Atom size) {
    if (std::ranges::find(result, size) == result.end()) result.push_back(size);
  });
  return result;
}

std::vector<std::string> symbolic_parameter_names(const Rule& rule, const TermBank& bank) {
  std::vector<std::string> result;
  visit_symbolic_sizes(rule, bank, [&](const SymbolicParameter& parameter, Atom) {
    if (std::ranges::find(result, parameter.name) == result.end()) result.push_back(parameter.name);
  });
  return result;
}

std::vector<EnumClass> enum_classes(const Rule& rule, const TermBank& bank) {
  std::vector<EnumClass> classes;
  for (const NodeId node : nodes_of(rule, bank)) {
    const OperatorInstance& instance = bank.library().instance(bank.node(node).instance);
    for (const auto& parameter : instance.parameters) {
      const std::string& name = parameter.first;
      if (bank.library().parameter_kind(instance.operator_name, name) != ParameterKind::Enum) continue;
      const auto* value = std::get_if<std::string>(&parameter.second);
      if (value == nullptr) continue;
      const auto is_known = [&](const EnumClass& known) { return known.name == name && known.value == *value; };
      const bool is_new = std::ranges::none_of(classes, is_known);
      if (is_new) classes.push_back({name, *value, {}});
      EnumClass& own_class = *std::ranges::find_if(classes, is_known);
      std::vector<std::string> alternatives;
      for (const ParameterValue& each : bank.library().domain(instance.operator_name, name, {})) {
        const std::string& other = std::get<std::string>(each);
        const bool common = is_new || std::ranges::find(own_class.alternatives, other) != own_class.alternatives.end();
        if (other != *value && common) alternatives.push_back(other);
      }
      own_class.alternatives = std::move(alternatives);
    }
  }
  return classes;
}

std::optional<Rule> with_enum_value(const Rule& rule, const EnumClass& enum_class, const std::string& value,
                                    Library& library, TermBank& bank, Symbols& symbols) {
  try {
    const Rule other = rebuild_nodes(rule, library, bank, [&](NodeId, Parameters& parameters, std::vector<Poly>&) {
      const auto found = parameters.find(enum_class.name);
      if (found != parameters.end() && found->second == ParameterValue(enum_class.value)) found->second = value;
    });
    auto typed = try_typing(other, bank, symbols);
    if (!typed || typed->rule.shapes != rule.shapes || typed->rule.condition != rule.condition ||
        symbolic_parameter_sizes(typed->rule, bank) != symbolic_parameter_sizes(rule, bank))
      return std::nullopt;
    return std::move(typed->rule);
  } catch (const runtime::Error&) {  // no such instance
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
