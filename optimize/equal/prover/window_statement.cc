#include "optimize/equal/prover/window_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "algebra/terms/match_sizes.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "algebra/terms/typing.h"
#include "optimize/equal/prover/general_window.h"
#include "optimize/equal/prover/window.h"

namespace rulemill::optimize {
namespace {

/// Larger windows are left to rules: a proof from the definitions compares whole normal forms.
constexpr std::size_t max_statement_nodes = 16;

std::vector<algebra::TermId> sorted(std::vector<algebra::TermId> terms) {
  std::ranges::sort(terms);
  return terms;
}

/// Returns the sides of the rule, and the shapes of its variables, at the sizes of the window.
std::pair<std::vector<algebra::TermId>, std::vector<algebra::Shape>> at_actual_sizes(
    const algebra::Rule& rule, const algebra::Substitution& actual, algebra::TermBank& terms,
    algebra::Symbols& symbols) {
  const algebra::TermId sides[] = {rule.source[0], rule.target[0]};
  std::vector<algebra::Shape> shapes = rule.shapes;
  for (algebra::Shape& shape : shapes) {
    for (algebra::Poly& size : shape) size = symbols.substitute(size, actual);
  }
  return {terms.substitute(sides, {}, actual, symbols), std::move(shapes)};
}

/// Returns the rule as it is typed, which may relate its sizes, and has the condition under which it is well-typed;
/// nullopt if the window is no instance of it. Adds what its new sizes stand for: a size may be 4·d where heads are 4.
std::optional<std::string> with_condition(const algebra::Rule& rule, GeneralWindow& general, algebra::TermBank& terms,
                                          GraphBank& bank) {
  const auto typed = algebra::try_typing(rule, terms, bank.symbols());
  if (!typed) return std::nullopt;
  const auto actual = at_actual_sizes(rule, general.actual, terms, bank.symbols());
  std::vector<std::pair<algebra::Poly, algebra::Poly>> sizes;  // of the typed rule, and what they are
  for (const auto& [atom, size] : general.actual) sizes.emplace_back(algebra::Poly(atom), size);
  for (std::size_t i = 0; i < actual.second.size(); ++i) {
    for (std::size_t d = 0; d < actual.second[i].size(); ++d)
      sizes.emplace_back(typed->rule.shapes[i][d], actual.second[i][d]);
  }
  if (auto all = algebra::match_sizes(sizes, bank.symbols(), typed->rule.condition)) general.actual = std::move(*all);
  if (at_actual_sizes(typed->rule, general.actual, terms, bank.symbols()) != actual) return std::nullopt;
  for (const algebra::SizeCondition& condition : typed->rule.condition) {
    const algebra::SizeCondition known = algebra::substitute(condition, general.actual, bank.symbols());
    if (algebra::holds(known, bank.symbols()) != algebra::Truth::Yes) return std::nullopt;
  }
  return algebra::to_string(typed->rule, terms, bank.symbols());
}

/// Returns the number as a term: a dyadic fraction is made of ones, twos and halves.
algebra::TermId number_term(algebra::Rational number, algebra::TermBank& terms, algebra::Library& library) {
  const std::uint32_t scalar[] = {0}, scalars[] = {0, 0};
  const auto apply = [&](const char* name, std::span<const std::uint32_t> ranks,
                         std::initializer_list<algebra::TermId> arguments) {
    return terms.output(terms.apply(library.instantiate(name, {}, ranks).id, {arguments.begin(), arguments.end()}, {}),
                        0);
  };
  if (number.num < 0) return apply("neg", scalar, {number_term(-number, terms, library)});
  if (number.den > 1)
    return apply("mul", scalars, {number_term({number.num, number.den / 2}, terms, library), apply("half", {}, {})});
  if (number.num == 0) return apply("zeros", scalar, {});
  if (number.num == 1) return apply("one", {}, {});
  const algebra::TermId two = apply("two", {}, {});
  if (number.num == 2) return two;
  if (number.num % 2 == 1)
    return apply("add", scalars, {number_term({number.num - 1, 1}, terms, library), apply("one", {}, {})});
  return apply("mul", scalars, {number_term({number.num / 2, 1}, terms, library), two});
}

/// Returns a positive number: any, as the variable is any number.
algebra::TermId positive_term(algebra::TermId variable, algebra::TermBank& terms, algebra::Library& library) {
  const std::uint32_t scalar[] = {0};
  return terms.output(terms.apply(library.instantiate("positive", {}, scalar).id, std::span(&variable, 1), {}), 0);
}

std::string variable_name(const GeneralLeaf& leaf, std::size_t number) {
  return (leaf.constant ? "w" : "x") + std::to_string(number + 1);
}

StatementInstance instance_of(const GeneralWindow& general, const Region& window) {
  StatementInstance instance{{}, general.actual, {}};
  for (std::size_t number = 0; number < general.leaves.size(); ++number) {
    const GeneralLeaf& leaf = general.leaves[number];
    const ValueId value = window.leaves[number].value;
    if (leaf.computed.empty() && !leaf.number)
      instance.variables.emplace_back(variable_name(leaf, number), value);
    else
      instance.constants.push_back(value);
  }
  return instance;
}

/// Returns the rule of one window; nullopt if each side depends on a leaf that the other one does not have. One may:
/// a sum that a normalization returns next to its result does not depend on the scale.
std::optional<std::string> statement_of(GeneralWindow& general, const RegionGraph& graph, GraphBank& bank) {
  algebra::TermBank terms(bank.library());
  std::vector<algebra::TermId> values;  // by value of the window
  std::unordered_map<algebra::TermId, algebra::Shape> shapes;
  std::vector<algebra::TermId> parts;  // of the leaf's term
  const auto apply = [&](const TermNode& node) {
    std::vector<algebra::TermId> arguments;
    for (const std::uint32_t argument : node.arguments)
      arguments.push_back(argument >= TermNode::inner ? parts[argument - TermNode::inner] : values[argument]);
    const algebra::NodeId created = terms.apply(node.instance, arguments, node.sizes);
    parts.push_back(terms.output(created, node.output));
    return created;
  };
  values.resize(general.leaves.size());
  for (const std::uint32_t number : general.leaf_order) {
    const GeneralLeaf& leaf = general.leaves[number];
    if (!leaf.computed.empty()) {
      parts.clear();
      std::ranges::for_each(leaf.computed, apply);
      values[number] = parts.back();
      continue;
    }
    if (leaf.number) {
      values[number] = number_term(*leaf.number, terms, bank.library());
      continue;
    }
    const std::string name = variable_name(leaf, number);
    values[number] = terms.variable(name, static_cast<std::uint32_t>(leaf.type->size()));
    shapes[values[number]] = *leaf.type;
    if (leaf.positive) values[number] = positive_term(values[number], terms, bank.library());
  }
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const algebra::NodeId created = apply(general.nodes[node]);
    for (std::uint32_t o = 0; o < graph.nodes[node].outputs; ++o) values.push_back(terms.output(created, o));
  }
  algebra::Rule rule;
  rule.id = "statement";
  rule.source = {values[graph.outputs[0]]};
  rule.target = {values[graph.outputs[1]]};
  if (terms.term(rule.source[0]).is_variable) std::swap(rule.source, rule.target);
  const std::vector<algebra::TermId> source = sorted(terms.variables(rule.source));
  const std::vector<algebra::TermId> target = sorted(terms.variables(rule.target));
  if (!std::ranges::includes(source, target)) {
    if (!std::ranges::includes(target, source)) return std::nullopt;
    std::swap(rule.source, rule.target);
  }
  rule.variables = terms.variables(rule.source);
  for (const algebra::TermId variable : rule.variables) rule.shapes.push_back(shapes.at(variable));
  return with_condition(rule, general, terms, bank);
}

}  // namespace

std::optional<ProvedStatement> StatementProver::prove(const Region& window, Effort effort) {
  return prove(window, effort, {}, max_statement_nodes);
}

std::optional<ProvedStatement> StatementProver::prove(const Region& window, Effort effort,
                                                      std::span<const KnownConstant> known_constants,
                                                      std::size_t max_nodes) {
  if (!proof_ || window.graph.nodes.size() > max_nodes) return std::nullopt;
  if (effort == Effort::Known && known_.proved.empty()) return std::nullopt;
  for (const NumberForm form : {NumberForm::Products, NumberForm::SmallLiteral, NumberForm::Multiples,
                                NumberForm::Independent, NumberForm::Literals, NumberForm::Numbers}) {
    if (form == NumberForm::Numbers && max_nodes != max_shown_nodes) continue;
    GeneralWindow general = generalize(bank_, constants_, operators_, window, form, known_.sizes, known_constants);
    auto statement = statement_of(general, window.graph, bank_);
    if (!statement) continue;
    auto known = known_.proved.find(*statement);
    if (known == known_.proved.end() && effort == Effort::Full)
      known = known_.proved.emplace(*statement, proof_(*statement, bank_.library())).first;
    if (known == known_.proved.end() || !known->second) continue;
    ProvedStatement proved{std::move(*statement), {},
                           general.constants,     general.constant_difference,
                           *known->second,        instance_of(general, window)};
    for (const auto& [leaf, term] : general.terms) proved.terms.push_back(text_of(window, leaf, term));
    return proved;
  }
  return std::nullopt;
}

/// Returns the model of a constant, unless both have it, and its name there; an unnamed number, or "computed".
std::string StatementProver::name_of(const Region& window, std::uint32_t leaf) const {
  const ValueId value = window.leaves[leaf].value;
  const Node& node = bank_.node_of(value);
  std::string name = name_of_(value);
  if (name.empty() && node.kind == Node::Kind::Constant && bank_.value(value).type->empty())
    name = fmt::format("{}", bank_.tensor(node.source)->values[0]);
  if (name.empty()) name = "computed";
  const bool in_first = values_below(window.graph, window.graph.outputs[0]).contains(leaf);
  const bool in_second = values_below(window.graph, window.graph.outputs[1]).contains(leaf);
  return in_first == in_second ? name : (in_first ? "before." : "after.") + name;
}

/// Returns a constant and its term over others, by the names of the models.
std::string StatementProver::text_of(const Region& window, std::uint32_t leaf,
                                     const std::vector<TermNode>& term) const {
  algebra::TermBank terms(bank_.library());
  std::vector<algebra::TermId> parts;
  for (const TermNode& node : term) {
    std::vector<algebra::TermId> arguments;
    for (const std::uint32_t argument : node.arguments) {
      if (argument >= TermNode::inner) {
        arguments.push_back(parts[argument - TermNode::inner]);
      } else {
        const ValueType& type = bank_.value(window.leaves[argument].value).type;
        arguments.push_back(terms.variable(name_of(window, argument), static_cast<std::uint32_t>(type->size())));
      }
    }
    parts.push_back(terms.output(terms.apply(node.instance, arguments, node.sizes), node.output));
  }
  return name_of(window, leaf) + " = " + algebra::to_string(parts.back(), terms, bank_.symbols());
}

}  // namespace rulemill::optimize
