#include "optimize/equal/proof/result_proof.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "optimize/equal/proof/model_term.h"
#include "optimize/equal/prover/window.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/numbers.h"

namespace rulemill::optimize {
namespace {

/// Returns the value with other arguments of its node.
ValueId rebuilt(GraphBank& bank, ValueId value, const auto& other) {
  std::vector<ValueId> arguments = bank.node_of(value).arguments;
  for (ValueId& argument : arguments) argument = other(argument);
  return bank.node(bank.with_arguments(bank.value(value).node, arguments)).outputs[bank.value(value).output];
}

/// Writes values of the graphs that a search went through by the names that the first model has for equal ones.
class OriginalTerms {
 public:
  OriginalTerms(GraphBank& bank, const ImportedModel& before, std::vector<const GraphChange*> changes)
      : bank_(bank), changes_(std::move(changes)), dimensions_(bank_.symbols()) {
    for (const auto& [name, value] : names_of_values(before)) names_.try_emplace(value, name);
    for (const ValueId input : before.inputs) {
      for (const algebra::Poly& dim : bank_.value(input).type.value_or({})) {
        for (const algebra::Atom atom : bank_.symbols().atoms(dim)) canonical_.emplace(atom, algebra::Poly(atom));
      }
    }
  }

  /// Returns the term of a value of the graph before the change of this number.
  std::optional<proto::ModelTerm> write(ValueId value, std::size_t change) {
    const NameOf name_of = [&](ValueId each) -> std::optional<proto::ModelName> {
      const auto name = names_.find(each);
      return name == names_.end() ? std::nullopt : std::optional(name_in(name->second, false));
    };
    return write_term(bank_, original(value, change), name_of, dimensions_);
  }

  /// Returns the term of an operator without inputs.
  std::optional<proto::ModelTerm> write_operator(ValueId value) {
    return write_term(
        bank_, value, [](ValueId) { return std::nullopt; }, dimensions_);
  }

  void add_sizes(proto::ModelStep& step, const algebra::Substitution& sizes) {
    optimize::add_sizes(step, sizes, dimensions_);
  }

  /// Those that no input determines have other names where models are compared.
  std::vector<std::string> dimensions() const {
    std::vector<std::string> names = dimensions_.names();
    for (std::string& name : names) {
      if (!canonical_.contains(bank_.symbols().size(name))) name.insert(0, first_model_prefix);
    }
    return names;
  }

 private:
  /// Returns the equal value of the first graph, or the same operators on equal values.
  ValueId original(ValueId value, std::size_t change) {
    const auto [known, is_new] = originals_[change].try_emplace(value, value);
    if (!is_new) return known->second;
    ValueId earlier = value;
    for (std::size_t i = change; i > 0; --i) {
      const auto origin = changes_[i - 1]->origins.find(earlier);
      if (origin != changes_[i - 1]->origins.end()) earlier = origin->second;
    }
    if (!names_.contains(earlier))
      earlier = rebuilt(bank_, earlier, [&](ValueId argument) { return original(argument, change); });
    return originals_[change][value] = earlier;
  }

  GraphBank& bank_;
  const std::vector<const GraphChange*> changes_;
  DimensionNames dimensions_;
  std::unordered_map<ValueId, std::string> names_;
  algebra::Substitution canonical_;                                        // dimensions of inputs
  std::map<std::size_t, std::unordered_map<ValueId, ValueId>> originals_;  // by change
};

/// Returns the constants that nodes of the graph use, or that are its outputs.
std::set<ValueId> used_constants(const GraphBank& bank, std::span<const ValueId> outputs) {
  std::set<ValueId> found;
  const auto add = [&](const std::vector<ValueId>& values) {
    std::ranges::copy_if(values, std::inserter(found, found.end()),
                         [&](ValueId each) { return bank.node_of(each).constant; });
  };
  for (const NodeId id : bank.live_nodes(outputs)) {
    if (!bank.node(id).constant) add(bank.node(id).arguments);
  }
  add({outputs.begin(), outputs.end()});
  return found;
}

std::string content_of(const GraphBank& bank, ValueId constant) {
  const Value& value = bank.value(constant);
  return std::to_string(static_cast<int>(value.type.data_type)) + digest(*bank.tensor(bank.node(value.node).source));
}

/// Returns values of the search's last graph, each with the term over values of that graph that the second model has
/// for it, where they differ: nodes that were written may be read as other operators. `known`: by value of the second
/// model, the equal one of that graph.
std::vector<ValuePair> other_readings(GraphBank& bank, const ImportedModel& after,
                                      const std::unordered_map<ValueId, std::string>& names,
                                      std::unordered_map<ValueId, ValueId> known) {
  const auto read = [&](auto& self, ValueId value) -> ValueId {
    if (const auto found = known.find(value); found != known.end()) return found->second;
    if (bank.node_of(value).kind != Node::Kind::Algebra) return value;
    const ValueId term = rebuilt(bank, value, [&](ValueId argument) { return self(self, argument); });
    return known[value] = term;
  };
  std::vector<ValuePair> found;
  for (const auto& [written, name] : std::map<ValueId, std::string>(names.begin(), names.end())) {
    const auto value = after.values.find(name);
    if (value == after.values.end() || bank.node_of(written).constant) continue;
    const ValueId term = read(read, value->second);
    if (term != written && bank.node_of(term).kind == Node::Kind::Algebra) found.push_back({written, term});
    known[value->second] = written;
  }
  return found;
}

}  // namespace

std::string serialize(const ProofRules& rules, algebra::Library& library) {
  algebra::TermBank terms(library);
  algebra::Symbols symbols;
  algebra::RuleSet set;
  for (const auto& [text, named] : rules) {
    algebra::RuleRecord record;
    record.rule = algebra::parse_rule(text, named.first, library, terms, symbols);
    record.certificate = named.second;
    record.rule.id = named.first;
    record.rule.tier = algebra::Tier::Core;
    set.rules.push_back(std::move(record));
  }
  return algebra::serialize(set, terms, symbols);
}

std::optional<proto::ModelProof> proof_of_result(const SearchedResult& searched, const StatementProof& prove) {
  const auto& [bank, before, after, terms, rules, named, result, names, is_cleaned] = searched;
  if (result.widens) return std::nullopt;
  std::vector<const GraphChange*> changes{&named};
  for (const auto& change : result.changes) changes.push_back(change.get());
  OriginalTerms originals(bank, before, changes);
  proto::ModelProof proof;
  proof.set_cleaned(is_cleaned);
  proof.set_after_as_written(true);
  std::set<std::string> written;
  const auto add = [&](const proto::ModelStep& step) {
    if (written.insert(step.SerializeAsString()).second) *proof.add_steps() = step;
  };
  /// Adds an instance of a rule in the graph before the change of this number.
  const auto add_instance = [&](const std::string& rule, const std::vector<std::pair<std::string, ValueId>>& variables,
                                const algebra::Substitution& sizes, std::size_t change) {
    proto::ModelStep step;
    step.set_rule(rule);
    for (const auto& [name, value] : variables) {
      const auto term = originals.write(value, change);
      if (!term) return false;
      add_variable(step, name, *term);
    }
    originals.add_sizes(step, sizes);
    add(step);
    return true;
  };

  ProofRules proved;
  std::unordered_map<std::uint32_t, std::string> ids;  // by number of the rule
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const ReplacedWindow& window : changes[i]->windows) {
      for (const RuleInstance& instance : build_instances(*window.derivation, window.leaves, window.type, bank)) {
        const algebra::Rule& rule = rules[instance.rule].rule;
        const auto [id, is_new] = ids.try_emplace(instance.rule, "r" + std::to_string(ids.size() + 1));
        if (is_new) {
          // A general rule may be narrower at some parameters than its text: a kernel enlarged to one column has one.
          algebra::Rule statement = algebra::require_types(rule, terms, bank.symbols(), rule.id).rule;
          statement.id = "statement";
          statement.tier = {};
          const std::string text = algebra::to_string(statement, terms, bank.symbols());
          const auto certificate = prove(text, bank.library());
          if (!certificate) return std::nullopt;
          id->second = proved.try_emplace(text, id->second, *certificate).first->second.first;
        }
        std::vector<std::pair<std::string, ValueId>> variables;
        for (std::size_t v = 0; v < instance.variables.size(); ++v)
          variables.emplace_back(terms.term(rule.variables[v]).name, instance.variables[v]);
        if (!add_instance(id->second, variables, instance.sizes, i)) return std::nullopt;
      }
    }
  }

  const auto add_constant = [&](const proto::ModelName& name, const std::optional<proto::ModelTerm>& term) {
    if (!term) return;
    proto::ModelStep step;
    *step.mutable_partner() = *term;
    *step.add_constants()->add_names() = name;
    add(step);
  };
  std::map<std::string, std::pair<std::string, ValueId>> stored;  // in the second model, by content
  for (const auto& [name, value] : names_of_values(after)) {
    if (bank.node_of(value).kind == Node::Kind::Constant) stored.try_emplace(content_of(bank, value), name, value);
  }
  std::unordered_map<ValueId, ValueId> known;  // by value of the second model
  ConstantFolder folder(bank);
  for (const ValueId constant : used_constants(bank, result.outputs)) {
    const auto name = stored.find(content_of(bank, folder.fold(constant)));
    if (name == stored.end()) continue;
    known.emplace(name->second.second, constant);
    if (bank.node_of(constant).kind != Node::Kind::Constant)
      add_constant(name_in(name->second.first, true), originals.write(constant, changes.size()));
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::map<ValueId, ValueId> origins(changes[i]->origins.begin(), changes[i]->origins.end());
    for (const auto& [value, origin] : origins) {
      if (!is_named_constant(bank.node_of(value))) continue;
      const auto term = originals.write(origin, i);
      if (term && term->text().empty()) add_constant(term->names(0), originals.write_operator(value));
    }
  }
  ConstantComparison constants(bank);
  ConstantOperators operators(bank, constants, {});
  KnownStatements statements;
  StatementProver prover(
      bank, constants, operators, [](ValueId) { return ""; }, prove, statements);
  std::unordered_set<NodeId> common;
  for (const auto& [value, name] : names) common.insert(bank.value(value).node);
  for (const ValuePair& reading : other_readings(bank, after, names, std::move(known))) {
    const auto window = equality_window(bank, reading, common, {});
    const auto statement = window ? prover.prove(window->region, StatementProver::Effort::Full) : std::nullopt;
    if (!statement || !statement->instance.constants.empty()) continue;
    const auto& [rule, is_new] =
        proved.try_emplace(statement->text, "s" + std::to_string(proved.size() + 1), statement->certificate);
    add_instance(rule->second.first, statement->instance.variables, statement->instance.sizes, changes.size());
  }
  for (const std::string& name : originals.dimensions()) proof.add_dimensions(name);
  proof.set_rules(serialize(proved, bank.library()));
  return proof;
}

}  // namespace rulemill::optimize
