#include "optimize/equal/model_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <unordered_map>

#include "optimize/equal/proof/canonical_model.h"
#include "optimize/equal/prover/constant_operators.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// What a rule cannot say, and of which model.
struct Unsupported {
  std::string file, reason;
};

/// Returns a name that the text form of rules accepts.
std::string identifier(const std::string& name, const char* prefix) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text.empty() || !std::isalpha(static_cast<unsigned char>(text[0])) ? prefix + text : text;
}

/// A model in the bank, with the canonical terms of its outputs.
struct RuleSide {
  RuleSide(const std::filesystem::path& path, GraphBank& bank)
      : file(path.string()),
        model(OnnxModel::read(path)),
        identity(model, bank.library()),
        import(import_model(model, bank)) {}

  /// Throws Unsupported if the outputs have no terms.
  void require_terms(const GraphBank& bank) const {
    for (const NodeId id : bank.live_nodes(import.outputs)) {
      if (bank.node(id).kind != Node::Kind::Opaque) continue;
      const ImportedModel::NodeRecord& record = import.nodes[import.opaque_nodes.at(bank.node(id).source)];
      throw Unsupported{file, fmt::format("node {} ({}) has no term: {}", record.name, record.op_type, record.reason)};
    }
  }

  void add_terms(GraphBank& bank, ConstantTable& constants, const std::string& prefix) {
    require_terms(bank);
    CanonicalModel canonical(bank, constants, import, identity, prefix);
    for (const NodeId id : bank.live_nodes(import.outputs)) canonical.add(id);
    for (const InterfaceItem& item : identity.outputs())
      outputs.push_back(canonical.value(import.values.at(item.name)));
  }

  std::string file;
  OnnxModel model;
  ModelIdentity identity;
  ImportedModel import;
  std::vector<ValueId> outputs;
};

class RuleBuilder {
 public:
  RuleBuilder(GraphBank& bank, algebra::TermBank& terms, const RuleSide& before, const RuleSide& after)
      : bank_(bank),
        terms_(terms),
        comparison_(bank),
        operators_(bank, comparison_, {}),
        before_(before),
        after_(after) {
    const std::vector<NodeId> first = bank.live_nodes(before.outputs), second = bank.live_nodes(after.outputs);
    std::ranges::set_intersection(first, second, std::inserter(common_, common_.end()));
  }

  std::map<ValueId, algebra::TermId> terms() const { return {built_.begin(), built_.end()}; }

  algebra::Rule build() {
    algebra::Rule rule;
    rule.source = side(before_);
    rule.target = side(after_);
    rule.variables = terms_.variables(rule.source);
    for (const algebra::TermId variable : terms_.variables(rule.target)) {
      if (std::ranges::find(rule.variables, variable) == rule.variables.end())
        throw Unsupported{after_.file, "the first model does not use " + terms_.term(variable).name};
    }
    return rule;
  }

 private:
  std::vector<algebra::TermId> side(const RuleSide& model) {
    for (const NodeId id : bank_.live_nodes(model.outputs)) add(id, model);
    std::vector<algebra::TermId> outputs;
    for (const ValueId output : model.outputs) outputs.push_back(built_.at(output));
    return outputs;
  }

  void add(NodeId id, const RuleSide& model) {
    const Node node = bank_.node(id);  // a copy, because the bank grows
    if (built_.contains(node.outputs[0])) return;
    if (node.kind == Node::Kind::Algebra) return add_node(node);
    const Value& value = bank_.value(node.outputs[0]);
    if (!value.type) throw Unsupported{model.file, fmt::format("the rank of {} is not known", value.name)};
    if (node.kind == Node::Kind::Constant && !common_.contains(id)) {
      const std::vector<NodeId>& computed = operators_.nodes_of(node.outputs[0]);
      if (computed.empty())
        throw Unsupported{model.file,
                          fmt::format("a constant of shape {} occurs in this model only, and no operator without "
                                      "inputs has its elements; constants of both models are variables",
                                      shape_text(value.type))};
      const Node first = bank_.node(computed[0]);
      built_.emplace(node.outputs[0], terms_.output(terms_.apply(first.instance, {}, general(first.sizes)), 0));
      return;
    }
    const bool is_named = node.kind == Node::Kind::Input || &before_ == &after_;
    const std::string name = is_named ? identifier(value.name, "x") : "w" + std::to_string(++weights_);
    built_.emplace(node.outputs[0], terms_.variable(unused(name), static_cast<std::uint32_t>(value.type->size())));
  }

  void add_node(const Node& node) {
    std::vector<algebra::TermId> arguments;
    for (const ValueId argument : node.arguments) arguments.push_back(built_.at(argument));
    const algebra::NodeId created = terms_.apply(node.instance, arguments, general(node.sizes));
    for (std::uint32_t o = 0; o < node.outputs.size(); ++o) built_.emplace(node.outputs[o], terms_.output(created, o));
  }

  /// Sizes of a rule that are numbers above 1 are left to the typing, as `?` in the text form.
  std::vector<algebra::Poly> general(std::vector<algebra::Poly> sizes) {
    for (algebra::Poly& size : sizes) {
      if (&before_ != &after_ && size.constant().value_or(0) > 1)
        size = algebra::Poly(bank_.symbols().open_size("size"));
    }
    return sizes;
  }

  std::string shape_text(const ValueType& type) const {
    std::string text;
    for (const algebra::Poly& dim : *type) text += (text.empty() ? "" : ", ") + bank_.symbols().to_string(dim);
    return "[" + text + "]";
  }

  std::string unused(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  GraphBank& bank_;
  algebra::TermBank& terms_;
  ConstantComparison comparison_;
  ConstantOperators operators_;
  const RuleSide &before_, &after_;
  std::set<NodeId> common_;
  std::set<std::string> names_;
  std::uint32_t weights_ = 0;
  std::unordered_map<ValueId, algebra::TermId> built_;
};

/// The number that all elements of a constant are, in decimal form; empty if they differ, nan if one is no number.
std::string number_of(const algebra::Tensor& tensor) {
  if (!std::ranges::all_of(tensor.values, [](double value) { return std::isfinite(value); })) return "nan";
  const double first = tensor.values.at(0);
  if (std::ranges::count(tensor.values, first) < std::ssize(tensor.values)) return "";
  const auto single = static_cast<float>(first);
  return single == first ? fmt::format("{}", single) : fmt::format("{}", first);
}

}  // namespace

ModelAsTerms read_model_terms(const std::filesystem::path& path, algebra::Library& library, algebra::TermBank& terms,
                              algebra::Symbols& symbols) try {
  GraphBank bank(library, symbols);
  RuleSide model(path, bank);
  model.require_terms(bank);
  model.outputs = model.import.outputs;
  ModelAsTerms result;
  RuleBuilder builder(bank, terms, model, model);
  result.rule = builder.build();
  algebra::Substitution sizes;
  for (const DynamicDim& dim : model.import.dynamic_dims) {
    const algebra::Poly size(symbols.size(identifier(dim.name, "d")));
    sizes[dim.atom] = size - dim.offset;
    if (dim.offset > 0) result.rule.condition.push_back({algebra::Relation::Le, dim.offset + 1, size});
  }
  result.rule.source = result.rule.target = terms.substitute(result.rule.source, {}, sizes, symbols);
  result.rule.variables.clear();
  for (const auto& [value, variable] : builder.terms()) {
    if (!terms.term(variable).is_variable) continue;
    result.rule.variables.push_back(variable);
    result.rule.shapes.push_back(*bank.value(value).type);
    for (algebra::Poly& size : result.rule.shapes.back()) size = symbols.substitute(size, sizes);
    const Node& node = bank.node_of(value);
    if (node.kind == Node::Kind::Constant)
      result.constants[terms.term(variable).name] = number_of(*bank.tensor(node.source));
  }
  return result;
} catch (const Unsupported& unsupported) {
  throw runtime::InputError(unsupported.file, unsupported.reason);
}

algebra::ImportedRule read_model_rule(const std::filesystem::path& before, const std::filesystem::path& after,
                                      algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols) {
  GraphBank bank(library, symbols);
  RuleSide source(before, bank), target(after, bank);
  require_same_interface(source.identity, target.identity, after.string());
  algebra::ImportedRule result{identifier(after.stem().string(), "rule_"), after.string(), {}, {}};
  try {
    ConstantTable constants(bank);
    source.add_terms(bank, constants, "before ");
    target.add_terms(bank, constants, "after ");
    result.rule = RuleBuilder(bank, terms, source, target).build();
    result.rule->id = result.name;
  } catch (const Unsupported& unsupported) {
    result.problem = unsupported.file + ": " + unsupported.reason;
  }
  return result;
}

}  // namespace rulemill::optimize
