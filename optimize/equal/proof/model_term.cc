#include "optimize/equal/proof/model_term.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "algebra/language/poly_parser.h"
#include "algebra/terms/rule_text.h"
#include "optimize/search/positivity.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

std::vector<std::pair<std::string, ValueId>> names_of_values(const ImportedModel& import) {
  std::vector<std::pair<std::string, ValueId>> names(import.values.begin(), import.values.end());
  for (std::size_t node = 0; node < import.nodes.size(); ++node) {
    const std::vector<ValueId>& literals = import.nodes[node].literals;
    for (std::size_t i = 0; i < literals.size(); ++i) names.emplace_back(fmt::format("#{}.{}", node, i), literals[i]);
  }
  std::ranges::sort(names);
  return names;
}

proto::ModelName name_in(const std::string& name, bool after) {
  proto::ModelName named;
  named.set_name(name);
  named.set_after(after);
  return named;
}

namespace {

std::optional<ValueId> value_named(const std::vector<std::pair<std::string, ValueId>>& names, const std::string& name) {
  const auto found = std::ranges::lower_bound(names, name, {}, &std::pair<std::string, ValueId>::first);
  return found == names.end() || found->first != name ? std::nullopt : std::optional(found->second);
}

/// A term over named values in text form.
class TermWriter {
 public:
  TermWriter(const GraphBank& bank, const NameOf& name_of, DimensionNames& dimensions)
      : bank_(bank), name_of_(name_of), dimensions_(dimensions), terms_(bank.library()) {}

  std::optional<proto::ModelTerm> write(ValueId value) {
    const auto root = term(value);
    if (!root) return std::nullopt;
    if (!terms_.term(*root).is_variable) result_.set_text(algebra::to_string(*root, terms_, bank_.symbols()));
    return std::move(result_);
  }

 private:
  std::optional<algebra::TermId> term(ValueId value) {
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    const ValueType& type = bank_.value(value).type;
    if (const auto name = name_of_(value)) {
      const std::uint32_t rank = type ? static_cast<std::uint32_t>(type->size()) : 0;
      const algebra::TermId variable = terms_.variable("v" + std::to_string(result_.names_size()), rank);
      *result_.add_names() = *name;
      return known_[value] = variable;
    }
    const Node& node = bank_.node_of(value);
    if (node.kind != Node::Kind::Algebra) return std::nullopt;
    std::vector<algebra::TermId> arguments;
    for (const ValueId argument : node.arguments) {
      const auto each = term(argument);
      if (!each) return std::nullopt;
      arguments.push_back(*each);
    }
    std::vector<algebra::Poly> sizes;
    for (const algebra::Poly& size : node.sizes) sizes.push_back(dimensions_.shorten(size));
    const algebra::NodeId created = terms_.apply(node.instance, arguments, sizes);
    return known_[value] = terms_.output(created, bank_.value(value).output);
  }

  const GraphBank& bank_;
  const NameOf& name_of_;
  DimensionNames& dimensions_;
  algebra::TermBank terms_;
  std::map<ValueId, algebra::TermId> known_;
  proto::ModelTerm result_;
};

}  // namespace

DimensionNames::DimensionNames(algebra::Symbols& symbols, const std::vector<std::string>& names) : symbols_(symbols) {
  for (const std::string& name : names) add(symbols_.size(name));
}

void DimensionNames::add(algebra::Atom dimension) {
  const algebra::Atom short_name = symbols_.size("d" + std::to_string(names_.size()));
  names_.push_back(symbols_.name(dimension));
  short_names_.emplace(dimension, algebra::Poly(short_name));
  dimensions_of_.emplace(short_name, algebra::Poly(dimension));
}

algebra::Poly DimensionNames::shorten(const algebra::Poly& size) {
  for (const algebra::Atom atom : symbols_.atoms(size)) {
    if (!short_names_.contains(atom)) add(atom);
  }
  return symbols_.substitute(size, short_names_);
}

std::optional<proto::ModelTerm> write_term(const GraphBank& bank, ValueId value, const NameOf& name_of,
                                           DimensionNames& dimensions) {
  return TermWriter(bank, name_of, dimensions).write(value);
}

void add_variable(proto::ModelStep& step, const std::string& name, proto::ModelTerm value) {
  proto::ModelVariable& variable = *step.add_variables();
  variable.set_name(name);
  *variable.mutable_value() = std::move(value);
}

void add_sizes(proto::ModelStep& step, const algebra::Substitution& sizes, DimensionNames& dimensions) {
  const algebra::Symbols& symbols = dimensions.symbols();
  std::map<std::string, std::string> texts;  // sorted
  for (const auto& [atom, size] : sizes) texts.emplace(symbols.name(atom), symbols.to_string(dimensions.shorten(size)));
  for (const auto& [name, value] : texts) {
    proto::ModelSize& added = *step.add_sizes();
    added.set_name(name);
    added.set_value(value);
  }
}

ModelTerms::ModelTerms(GraphBank& bank, const CanonicalModel& before, const CanonicalModel& after,
                       const std::vector<std::string>& dimensions)
    : bank_(bank),
      before_(before),
      after_(after),
      before_names_(names_of_values(before.import())),
      after_names_(names_of_values(after.import())),
      dimensions_(bank.symbols(), dimensions) {}

algebra::Poly ModelTerms::size(const std::string& text) const {
  return bank_.symbols().substitute(algebra::parse_poly(text, "a size", bank_.symbols()), dimensions_.dimensions());
}

std::optional<proto::ModelTerm> ModelTerms::own(ValueId original) {
  const NameOf name_of = [&](ValueId value) -> std::optional<proto::ModelName> {
    for (const auto& [name, id] : after_names_) {
      if (id == value) return name_in(name, true);
    }
    return std::nullopt;
  };
  return write_term(bank_, original, name_of, dimensions_);
}

std::optional<proto::ModelTerm> ModelTerms::canonical(ValueId value) {
  return write_term(
      bank_, value, [&](ValueId each) { return canonical_name(each); }, dimensions_);
}

/// Terms of the second model that it alone has change with what is merged below them: only what has no term is named.
std::optional<proto::ModelName> ModelTerms::canonical_name(ValueId value) const {
  for (const auto& [name, id] : before_names_) {
    if (before_.has(id) && before_.value(id) == value) return name_in(name, false);
  }
  if (bank_.node_of(value).kind == Node::Kind::Algebra) return std::nullopt;
  for (const auto& [name, id] : after_names_) {
    if (after_.has(id) && after_.value(id) == value) return name_in(name, true);
  }
  return std::nullopt;
}

std::optional<ValueId> ModelTerms::find_own(const proto::ModelTerm& term) const {
  const ValueOf value_of = [&](const proto::ModelName& name) { return value_named(after_names_, name.name()); };
  return find(term, value_of, DataType::Float32);
}

std::optional<ValueId> ModelTerms::find_canonical(const proto::ModelTerm& term, DataType type) const {
  const ValueOf value_of = [&](const proto::ModelName& name) -> std::optional<ValueId> {
    const CanonicalModel& model = name.after() ? after_ : before_;
    const auto original = value_named(name.after() ? after_names_ : before_names_, name.name());
    return original && model.has(*original) ? std::optional(model.value(*original)) : std::nullopt;
  };
  return find(term, value_of, type);
}

std::optional<ValueId> ModelTerms::find(const proto::ModelTerm& term, const ValueOf& value_of, DataType type) const {
  std::vector<ValueId> values;
  for (const proto::ModelName& name : term.names()) {
    const auto value = value_of(name);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (term.text().empty()) return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
  std::map<std::string, algebra::Shape> shapes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ValueType& own = bank_.value(values[i]).type;
    if (!own) return std::nullopt;
    shapes.emplace("v" + std::to_string(i), *own);
  }
  algebra::TermBank terms(bank_.library());
  const algebra::Rule parsed =
      algebra::parse_terms(term.text(), "a step", shapes, bank_.library(), terms, bank_.symbols());
  if (parsed.source.size() != 1) return std::nullopt;
  if (!values.empty()) type = bank_.value(values[0]).type.data_type;
  TermBuilder builder(bank_, terms, dimensions_.dimensions(), type,
                      [](ValueId value, ValueId) { return std::optional(value); });
  for (std::size_t i = 0; i < values.size(); ++i)
    builder.set(
        terms.variable("v" + std::to_string(i), static_cast<std::uint32_t>(shapes.at("v" + std::to_string(i)).size())),
        values[i]);
  return builder.build(parsed.source[0]);
}

std::optional<ValueId> TermBuilder::build(algebra::TermId term) {
  if (const auto known = values_.find(term); known != values_.end()) return known->second;
  if (terms_.term(term).is_variable) return std::nullopt;
  const auto built = build_node(term);
  if (built) values_.emplace(term, *built);
  return built;
}

std::optional<ValueId> TermBuilder::build_node(algebra::TermId term) {
  const algebra::Node& node = terms_.node_of(term);
  std::vector<ValueId> arguments, whole;
  for (const algebra::TermId argument : node.arguments) {
    const auto built = build(argument);
    if (!built) return std::nullopt;
    arguments.push_back(*built);
    whole.push_back(whole_.try_emplace(argument, *built).first->second);
  }
  const algebra::OperatorInstance& instance = terms_.instance_of(term);
  const auto is_symbolic = [](const auto& each) { return std::holds_alternative<algebra::Symbolic>(each.second); };
  if (std::ranges::any_of(instance.parameters, is_symbolic)) return std::nullopt;
  if (algebra::is_positive_operator(instance)) {
    whole_.emplace(term, whole[0]);
    return PositivityAnalysis(bank_).is_positive(arguments[0]) ? std::optional(arguments[0]) : std::nullopt;
  }
  std::vector<algebra::Poly> sizes;
  for (const algebra::Poly& size : node.sizes) sizes.push_back(bank_.symbols().substitute(size, sizes_));
  const auto apply = [&](const std::vector<ValueId>& to) {
    const auto created = bank_.apply(node.instance, to, sizes, type_);
    return created ? std::optional(bank_.node(*created).outputs[terms_.term(term).output]) : std::nullopt;
  };
  const auto built = apply(arguments);
  if (!built) return std::nullopt;
  const auto own = bank_.node_of(*built).constant ? apply(whole) : built;
  if (!own) return std::nullopt;
  whole_.emplace(term, *own);
  return use_(*built, *own);
}

}  // namespace rulemill::optimize
