#include "algebra/terms/open_parameters.h"

#include <algorithm>
#include <functional>
#include <map>

#include "algebra/terms/typing.h"
#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

std::vector<NodeId> nodes_of(const Rule& rule, const TermBank& bank) {
  std::vector<TermId> roots = rule.source;
  roots.insert(roots.end(), rule.target.begin(), rule.target.end());
  return bank.nodes(roots);
}

std::uint32_t rank_of(TermId id, const TermBank& bank) {
  const Term& term = bank.term(id);
  if (term.is_variable) return term.rank;
  return static_cast<std::uint32_t>(bank.instance_of(id).outputs[term.output].dims.size());
}

/// A node's parameters and sizes, changed in place.
using Change = std::function<void(NodeId node, Parameters& parameters, std::vector<Poly>& sizes)>;

/// Of each node, by parameter: how many operators that have it stand on the longest path below.
class Heights {
 public:
  Heights(const Rule& rule, const TermBank& bank) {
    for (const NodeId id : nodes_of(rule, bank)) {
      auto& own = heights_[id];
      for (const TermId argument : bank.node(id).arguments) {
        if (bank.term(argument).is_variable) continue;
        const NodeId below = bank.term(argument).node;
        const Parameters& parameters = bank.library().instance(bank.node(below).instance).parameters;
        for (const auto& [name, height] : heights_.at(below))
          own[name] = std::max(own[name], height + (parameters.contains(name) ? 1 : 0));
        for (const auto& [name, value] : parameters) own[name] = std::max<std::uint32_t>(own[name], 1);
      }
    }
  }

  std::uint32_t of(NodeId node, const std::string& parameter) const {
    const auto& own = heights_.at(node);
    const auto found = own.find(parameter);
    return found == own.end() ? 0 : found->second;
  }

 private:
  std::map<NodeId, std::map<std::string, std::uint32_t>> heights_;
};

/// The rule with every node changed; its shapes and its condition are the caller's.
Rule rebuilt(const Rule& rule, Library& library, TermBank& bank, const Change& change) {
  Rule result = rule;
  std::unordered_map<TermId, TermId> terms;
  for (const TermId variable : rule.variables) terms[variable] = variable;
  for (const NodeId id : nodes_of(rule, bank)) {
    const Node node = bank.node(id);
    const Instance& instance = library.instance(node.instance);
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    for (const TermId argument : node.arguments) {
      arguments.push_back(terms.at(argument));
      ranks.push_back(rank_of(arguments.back(), bank));
    }
    if (library.has_open_rank(instance.operator_name)) {
      const std::size_t single = library.size_parameter_names(instance.operator_name).size() - 1;
      const std::size_t end = instance.open.empty() ? node.sizes.size() : instance.open[0].first;
      ranks.push_back(static_cast<std::uint32_t>(end - single));
    }
    Parameters parameters = instance.parameters;
    std::vector<Poly> sizes = node.sizes;
    change(id, parameters, sizes);
    const Instance& other = library.instantiate(instance.operator_name, parameters, ranks);
    if (sizes.size() != other.size_parameter_count())
      throw runtime::InputError("", other.name + " takes another number of sizes");
    const NodeId copy = bank.apply(other.id, arguments, sizes);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) terms[bank.output(id, o)] = bank.output(copy, o);
  }
  for (TermId& term : result.source) term = terms.at(term);
  for (TermId& term : result.target) term = terms.at(term);
  return result;
}

std::vector<std::string> names_of_sizes(const Rule& rule, const TermBank& bank, const Symbols& symbols) {
  std::vector<std::string> names;
  const auto note = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.push_back(symbols.name(atom));
  };
  for (const Shape& shape : rule.shapes) std::ranges::for_each(shape, note);
  for (const SizeCondition& condition : rule.condition) note(condition.right - condition.left);
  for (const NodeId node : nodes_of(rule, bank)) std::ranges::for_each(bank.node(node).sizes, note);
  return names;
}

std::vector<std::int64_t> numbers_of(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return {*number};
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  return list == nullptr ? std::vector<std::int64_t>{} : *list;
}

}  // namespace

std::vector<ParameterClass> parameter_classes(const Rule& rule, const TermBank& bank, bool by_height) {
  std::vector<ParameterClass> classes;
  const Heights heights(rule, bank);
  for (const NodeId node : nodes_of(rule, bank)) {
    const Instance& instance = bank.library().instance(bank.node(node).instance);
    for (const auto& [name, value] : instance.parameters) {
      const std::vector<std::int64_t> numbers = numbers_of(value);
      if (numbers.empty() || !bank.library().may_be_open(instance.operator_name, name)) continue;
      const ParameterClass found{name, value, by_height ? heights.of(node, name) : 0};
      if (std::ranges::find(classes, found) == classes.end()) classes.push_back(found);
    }
  }
  return classes;
}

std::optional<Rule> with_open(const Rule& rule, const std::vector<ParameterClass>& classes, Library& library,
                              TermBank& bank, Symbols& symbols, bool by_height) {
  const Heights heights(rule, bank);
  std::vector<std::string> taken = names_of_sizes(rule, bank, symbols);
  std::vector<std::vector<Poly>> values;
  for (const ParameterClass& each : classes) {
    const std::size_t count = numbers_of(each.value).size();
    auto& sizes = values.emplace_back();
    for (std::size_t k = 0; k < count; ++k) {
      std::string name = each.name + (std::holds_alternative<std::int64_t>(each.value) ? "" : std::to_string(k + 1));
      while (std::ranges::find(taken, name) != taken.end()) name += "_";
      taken.push_back(name);
      sizes.emplace_back(symbols.size(name));
    }
  }
  try {
    return rebuilt(rule, library, bank, [&](NodeId node, Parameters& parameters, std::vector<Poly>& sizes) {
      const Instance& instance = library.instance(bank.node(node).instance);
      // Open ones come in the order in which the definition declares them: those that are open already,
      // among them.
      std::map<std::string, std::vector<Poly>> open;
      for (const OpenParameter& each : instance.open) {
        const auto first = sizes.begin() + each.first;
        open[each.name] = {first, first + each.count};
      }
      if (!instance.open.empty()) sizes.resize(instance.open[0].first);
      for (const std::string& name : library.parameter_names(instance.operator_name)) {
        ParameterValue& value = parameters.at(name);
        const ParameterClass own{name, value, by_height ? heights.of(node, name) : 0};
        const auto found = std::ranges::find(classes, own);
        if (found != classes.end()) {
          const std::vector<std::int64_t> numbers = numbers_of(value);
          value = Open{std::ranges::find(numbers, 0) == numbers.end() ? 1 : 0};
          open[name] = values[static_cast<std::size_t>(found - classes.begin())];
        }
        if (const auto now = open.find(name); now != open.end())
          sizes.insert(sizes.end(), now->second.begin(), now->second.end());
      }
    });
  } catch (const runtime::Error&) {  // the definition needs the number
    return std::nullopt;
  }
}

std::optional<Rule> with_sizes(const Rule& rule, const Substitution& sizes, Library& library, TermBank& bank,
                               Symbols& symbols) {
  try {
    Rule result = rebuilt(rule, library, bank, [&](NodeId node, Parameters& parameters, std::vector<Poly>& of_node) {
      const Instance& instance = library.instance(bank.node(node).instance);
      for (Poly& size : of_node) size = symbols.substitute(size, sizes);
      for (auto open = instance.open.rbegin(); open != instance.open.rend(); ++open) {
        std::vector<std::int64_t> numbers;
        for (std::uint32_t k = 0; k < open->count; ++k) {
          if (const auto number = of_node[open->first + k].constant()) numbers.push_back(open->number_of(*number));
        }
        if (numbers.size() < open->count) continue;
        if (std::ranges::any_of(numbers, [&](std::int64_t number) { return number < open->least; }))
          throw runtime::InputError("", "an open parameter is at least " + std::to_string(open->least));
        parameters.at(open->name) = open->is_list ? ParameterValue(numbers) : ParameterValue(numbers.at(0));
        of_node.erase(of_node.begin() + open->first, of_node.begin() + open->first + open->count);
      }
    });
    for (Shape& shape : result.shapes) {
      for (Poly& dim : shape) dim = symbols.substitute(dim, sizes);
    }
    for (SizeCondition& condition : result.condition) condition = substitute(condition, sizes, symbols);
    std::erase_if(result.groups, [&](Atom atom) { return sizes.contains(atom); });
    std::erase_if(result.condition,
                  [&](const SizeCondition& condition) { return holds(condition, symbols) == Truth::Yes; });
    if (std::ranges::any_of(result.condition, [&](const SizeCondition& c) { return holds(c, symbols) == Truth::No; }))
      return std::nullopt;
    return result;
  } catch (const runtime::Error&) {  // no such instance
    return std::nullopt;
  }
}

namespace {

using OpenSizeVisitor = std::function<void(const OpenParameter& parameter, Atom size)>;

void visit_open_sizes(const Rule& rule, const TermBank& bank, const OpenSizeVisitor& visit) {
  for (const NodeId id : nodes_of(rule, bank)) {
    const Node& node = bank.node(id);
    for (const OpenParameter& open : bank.library().instance(node.instance).open) {
      for (std::uint32_t k = 0; k < open.count; ++k) {
        if (const auto atom = node.sizes[open.first + k].atom()) visit(open, *atom);
      }
    }
  }
}

}  // namespace

std::vector<Atom> open_sizes(const Rule& rule, const TermBank& bank) {
  std::vector<Atom> result;
  visit_open_sizes(rule, bank, [&](const OpenParameter&, Atom size) {
    if (std::ranges::find(result, size) == result.end()) result.push_back(size);
  });
  return result;
}

std::vector<std::string> open_names(const Rule& rule, const TermBank& bank) {
  std::vector<std::string> result;
  visit_open_sizes(rule, bank, [&](const OpenParameter& parameter, Atom) {
    if (std::ranges::find(result, parameter.name) == result.end()) result.push_back(parameter.name);
  });
  return result;
}

std::vector<WordClass> word_classes(const Rule& rule, const TermBank& bank) {
  std::vector<WordClass> classes;
  for (const NodeId node : nodes_of(rule, bank)) {
    const Instance& instance = bank.library().instance(bank.node(node).instance);
    for (const auto& parameter : instance.parameters) {
      const std::string& name = parameter.first;
      if (bank.library().parameter_kind(instance.operator_name, name) != ParameterKind::Words) continue;
      const auto* word = std::get_if<std::string>(&parameter.second);
      if (word == nullptr) continue;
      const auto is_known = [&](const WordClass& known) { return known.name == name && known.word == *word; };
      const bool is_new = std::ranges::none_of(classes, is_known);
      if (is_new) classes.push_back({name, *word, {}});
      WordClass& own = *std::ranges::find_if(classes, is_known);
      std::vector<std::string> others;
      for (const ParameterValue& each : bank.library().domain(instance.operator_name, name, {})) {
        const std::string& other = std::get<std::string>(each);
        const bool common = is_new || std::ranges::find(own.others, other) != own.others.end();
        if (other != *word && common) others.push_back(other);
      }
      own.others = std::move(others);
    }
  }
  return classes;
}

std::optional<Rule> with_word(const Rule& rule, const WordClass& words, const std::string& word, Library& library,
                              TermBank& bank, Symbols& symbols) {
  try {
    const Rule other = rebuilt(rule, library, bank, [&](NodeId, Parameters& parameters, std::vector<Poly>&) {
      const auto value = parameters.find(words.name);
      if (value != parameters.end() && value->second == ParameterValue(words.word)) value->second = word;
    });
    auto types = infer_types(other, bank, symbols);
    auto* typed = std::get_if<TypedRule>(&types);
    if (typed == nullptr || typed->rule.shapes != rule.shapes || typed->rule.condition != rule.condition ||
        open_sizes(typed->rule, bank) != open_sizes(rule, bank))
      return std::nullopt;
    return std::move(typed->rule);
  } catch (const runtime::Error&) {  // no such instance
    return std::nullopt;
  }
}

}  // namespace rulemill::algebra
