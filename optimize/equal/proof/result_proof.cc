#include "optimize/equal/proof/result_proof.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "algebra/terms/rule_text.h"
#include "optimize/equal/proof/model_term.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/numbers.h"

namespace rulemill::optimize {

namespace {

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
    if (!names_.contains(earlier)) {
      std::vector<ValueId> arguments;
      for (const ValueId argument : std::vector<ValueId>(bank_.node_of(earlier).arguments))
        arguments.push_back(original(argument, change));
      const NodeId rebuilt = bank_.with_arguments(bank_.value(earlier).node, arguments);
      earlier = bank_.node(rebuilt).outputs[bank_.value(earlier).output];
    }
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
  const auto& [bank, before, after, terms, rules, named, result, is_cleaned] = searched;
  std::vector<const GraphChange*> changes{&named};
  for (const auto& change : result.changes) changes.push_back(change.get());
  OriginalTerms originals(bank, before, changes);
  proto::ModelProof proof;
  proof.set_cleaned(is_cleaned);
  std::set<std::string> written;
  const auto add = [&](const proto::ModelStep& step) {
    if (written.insert(step.SerializeAsString()).second) *proof.add_steps() = step;
  };

  ProofRules proved;
  std::unordered_map<std::uint32_t, std::string> ids;  // by number of the rule
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const ReplacedWindow& window : changes[i]->windows) {
      for (const RuleInstance& instance : build_instances(*window.derivation, window.leaves, window.type, bank)) {
        const algebra::Rule& rule = rules[instance.rule].rule;
        if (rule.widens) return std::nullopt;  // it is no equation
        const auto [id, is_new] = ids.try_emplace(instance.rule, "r" + std::to_string(ids.size() + 1));
        if (is_new) {
          algebra::Rule statement = rule;
          statement.id = "statement";
          statement.tier = {};
          const std::string text = algebra::to_string(statement, terms, bank.symbols());
          const auto certificate = prove(text, bank.library());
          if (!certificate) return std::nullopt;
          id->second = proved.try_emplace(text, id->second, *certificate).first->second.first;
        }
        proto::ModelStep step;
        step.set_rule(id->second);
        for (std::size_t v = 0; v < instance.variables.size(); ++v) {
          const auto term = originals.write(instance.variables[v], i);
          if (!term) return std::nullopt;
          add_variable(step, terms.term(rule.variables[v]).name, *term);
        }
        originals.add_sizes(step, instance.sizes);
        add(step);
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
  std::map<std::string, std::string> stored;  // names in the second model, by content
  for (const auto& [name, value] : names_of_values(after)) {
    if (bank.node_of(value).kind == Node::Kind::Constant) stored.try_emplace(content_of(bank, value), name);
  }
  ConstantFolder folder(bank);
  for (const ValueId constant : used_constants(bank, result.outputs)) {
    if (bank.node_of(constant).kind == Node::Kind::Constant) continue;
    const auto name = stored.find(content_of(bank, folder.fold(constant)));
    if (name != stored.end()) add_constant(name_in(name->second, true), originals.write(constant, changes.size()));
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::map<ValueId, ValueId> origins(changes[i]->origins.begin(), changes[i]->origins.end());
    for (const auto& [value, origin] : origins) {
      if (!is_named_constant(bank.node_of(value))) continue;
      const auto term = originals.write(origin, i);
      if (term && term->text().empty()) add_constant(term->names(0), originals.write_operator(value));
    }
  }
  for (const std::string& name : originals.dimensions()) proof.add_dimensions(name);
  proof.set_rules(serialize(proved, bank.library()));
  return proof;
}

}  // namespace rulemill::optimize
