// Parses the rule database. Everything in the file is checked before use.
#include "algebra/rules/rule_set_reader.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>

#include "algebra/language/poly_parser.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using runtime::InputError;

class RuleReader {
 public:
  RuleReader(const proto::Rule& from, std::string place, Library& library, TermBank& bank, Symbols& symbols)
      : from_(from), place_(std::move(place)), library_(library), bank_(bank), symbols_(symbols) {}

  RuleRecord read() {
    RuleRecord record;
    Rule& rule = record.rule;
    rule.id = from_.id();
    if (rule.id.empty()) fail("id", "is empty");
    if (!proto::Tier_IsValid(from_.tier())) fail("tier", "has the unknown value " + std::to_string(from_.tier()));
    rule.tier = static_cast<Tier>(from_.tier());
    for (int v = 0; v < from_.variables_size(); ++v) read_variable(v, rule);
    for (int n = 0; n < from_.nodes_size(); ++n) read_node(n);
    rule.source = read_outputs(from_.source(), "source");
    rule.target = read_outputs(from_.target(), "target");
    if (rule.source.empty() || rule.source.size() != rule.target.size())
      fail("target", fmt::format("has {} outputs, expected as many as the source, {}, and at least one",
                                 rule.target.size(), rule.source.size()));
    for (int c = 0; c < from_.condition_size(); ++c) rule.condition.push_back(read_condition(c));
    for (int g = 0; g < from_.packs_size(); ++g) {
      const auto pack = read_size(from_.packs(g), at("packs", g)).atom();
      if (!pack) fail(at("packs", g), "is not one size");
      rule.packs.push_back(*pack);
    }
    record.reversible = from_.reversible();
    rule.widens = from_.widens();
    if (rule.widens && record.reversible) fail("reversible", "is true of a rule that widens");
    if (!proto::SearchPhase_IsValid(from_.phase()))
      fail("phase", "has the unknown value " + std::to_string(from_.phase()));
    record.phase = static_cast<SearchPhase>(from_.phase());
    if (!proto::Certificate::Kind_IsValid(from_.certificate().kind())) fail("certificate.kind", "has an unknown value");
    record.certificate = {static_cast<Certificate::Kind>(from_.certificate().kind()), from_.certificate().text()};
    record.statistics = {from_.statistics().queries(), from_.statistics().instances()};
    read_example(record);
    return record;
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& message) const {
    throw InputError(place_, field + " " + message);
  }
  std::string at(const std::string& list, int index) const { return list + "[" + std::to_string(index) + "]"; }

  Poly read_size(const std::string& text, const std::string& field) const {
    return parse_poly(text, place_ + ": " + field, symbols_);
  }

  void read_variable(int index, Rule& rule) {
    const proto::Variable& variable = from_.variables(index);
    const std::string field = at("variables", index);
    if (variable.name().empty()) fail(field, "has no name");
    const TermId term = bank_.variable(variable.name(), static_cast<std::uint32_t>(variable.shape_size()));
    if (std::ranges::find(rule.variables, term) != rule.variables.end())
      fail(field, "has the name " + variable.name() + " of another variable");
    Shape shape;
    for (int d = 0; d < variable.shape_size(); ++d)
      shape.push_back(read_size(variable.shape(d), field + "." + at("shape", d)));
    rule.variables.push_back(term);
    rule.shapes.push_back(std::move(shape));
    variables_.push_back(term);
  }

  ParameterValue read_value(const proto::Parameter& parameter, const std::string& field) const {
    switch (parameter.value_case()) {
      case proto::Parameter::kNumber:
        return std::int64_t{parameter.number()};
      case proto::Parameter::kWord:
        return parameter.word();
      case proto::Parameter::kPermutation: {
        const auto& axes = parameter.permutation().axes();
        return std::vector<std::int64_t>(axes.begin(), axes.end());
      }
      case proto::Parameter::kSymbolicFrom:
        if (parameter.symbolic_from() > 1) fail(field, "expected a symbolic parameter from 0 or 1");
        return Symbolic{parameter.symbolic_from()};
      case proto::Parameter::VALUE_NOT_SET:
        break;
    }
    fail(field, "has no value");
  }

  void read_node(int index) {
    const proto::Node& node = from_.nodes(index);
    const std::string field = at("nodes", index);
    if (!library_.has_operator(node.operator_()))
      fail(field,
           "names the unknown operator '" + node.operator_() + "'; give the folder that defines it with --definitions");
    Parameters parameters;
    for (const proto::Parameter& parameter : node.parameters())
      parameters[parameter.name()] = read_value(parameter, field + ".parameters " + parameter.name());
    std::vector<TermId> arguments;
    std::vector<std::uint32_t> ranks;
    for (int a = 0; a < node.arguments_size(); ++a) {
      arguments.push_back(read_term(node.arguments(a), field + "." + at("arguments", a)));
      ranks.push_back(bank_.rank(arguments.back()));
    }
    std::vector<Poly> sizes;
    for (int s = 0; s < node.sizes_size(); ++s) sizes.push_back(read_size(node.sizes(s), field + "." + at("sizes", s)));
    if (library_.has_explicit_rank(node.operator_()))
      ranks.push_back(find_pack_length(node.operator_(), parameters, ranks, sizes.size()));
    const OperatorInstance& instance = instantiate(node.operator_(), parameters, ranks, field);
    if (arguments.size() != instance.inputs.size() || sizes.size() != instance.size_parameter_count())
      fail(field, fmt::format("has {} arguments and {} sizes, but {} takes {} and {}", arguments.size(), sizes.size(),
                              instance.name, instance.inputs.size(), instance.size_parameter_count()));
    nodes_.push_back(bank_.apply(instance.id, arguments, sizes));
  }

  /// Returns the length of an operator's pack of sizes: all sizes but the single ones, less those of symbolic
  /// parameters. As their number may depend on the length, it is the longest with which the operator has so many sizes.
  std::uint32_t find_pack_length(const std::string& name, const Parameters& parameters,
                                 std::vector<std::uint32_t> ranks, std::size_t size_count) const {
    const std::size_t single = library_.size_parameter_names(name).size() - 1;
    const auto longest = static_cast<std::uint32_t>(size_count - std::min(size_count, single));
    const bool is_symbolic = std::ranges::any_of(
        parameters, [](const auto& parameter) { return std::holds_alternative<Symbolic>(parameter.second); });
    if (!is_symbolic) return longest;
    constexpr std::uint32_t max_length = 64;  // bounds the work for a damaged file
    for (std::uint32_t length = std::min(longest, max_length); length > 0; --length) {
      ranks.push_back(length);
      const OperatorInstance* instance = library_.find_instance(name, parameters, ranks);
      if (instance != nullptr && instance->size_parameter_count() == size_count) return length;
      ranks.pop_back();
    }
    return 0;
  }

  const OperatorInstance& instantiate(const std::string& name, const Parameters& parameters,
                                      std::span<const std::uint32_t> ranks, const std::string& field) const {
    try {
      return library_.instantiate(name, parameters, ranks);
    } catch (const InputError& error) {
      fail(field, std::string("does not fit its operator: ") + error.what());
    }
  }

  TermId read_term(const proto::Term& term, const std::string& field) const {
    if (term.kind_case() == proto::Term::kVariable) {
      if (term.variable() >= variables_.size())
        fail(field, fmt::format("is variable {}, expected one of the {}", term.variable(), variables_.size()));
      return variables_[term.variable()];
    }
    if (term.kind_case() != proto::Term::kNode) fail(field, "is neither a variable nor a node");
    if (term.node() >= nodes_.size()) fail(field, fmt::format("is node {}, expected one before it", term.node()));
    const std::size_t outputs = library_.instance(bank_.node(nodes_[term.node()]).instance).outputs.size();
    if (term.output() >= outputs)
      fail(field, fmt::format("is output {} of a node that has {}", term.output(), outputs));
    return bank_.output(nodes_[term.node()], term.output());
  }

  template <class Terms>
  std::vector<TermId> read_outputs(const Terms& terms, const std::string& side) const {
    std::vector<TermId> result;
    for (int i = 0; i < terms.size(); ++i) result.push_back(read_term(terms[i], at(side, i)));
    return result;
  }

  SizeCondition read_condition(int index) const {
    const proto::Condition& condition = from_.condition(index);
    const std::string field = at("condition", index);
    if (!proto::Condition::Relation_IsValid(condition.relation())) fail(field + ".relation", "has an unknown value");
    return {static_cast<Relation>(condition.relation()), read_size(condition.left(), field + ".left"),
            read_size(condition.right(), field + ".right")};
  }

  void read_example(RuleRecord& record) const {
    if (from_.example_size() == 0) return;
    if (from_.example_size() != from_.variables_size()) fail("example", "does not give a shape for each variable");
    for (int v = 0; v < from_.example_size(); ++v) {
      const auto& sizes = from_.example(v).sizes();
      if (sizes.size() != from_.variables(v).shape_size()) fail(at("example", v), "has another rank than the variable");
      record.example.emplace_back(sizes.begin(), sizes.end());
    }
  }

  const proto::Rule& from_;
  std::string place_;
  Library& library_;
  TermBank& bank_;
  Symbols& symbols_;
  std::vector<TermId> variables_;
  std::vector<NodeId> nodes_;
};

}  // namespace

void fail_not_a_database(const std::string& origin) {
  throw InputError(origin, "is not a rule database, or is cut short");
}

void check_schema_version(const proto::RuleSet& from, bool has_widening, const std::string& origin) {
  if (from.schema_version() == 0) fail_not_a_database(origin);
  if (from.schema_version() > rule_set_schema_version || (has_widening && from.schema_version() == 1))
    throw InputError(origin,
                     fmt::format("has schema version {}, expected {}", from.schema_version(), rule_set_schema_version));
}

void fail_checksum(const std::string& origin) {
  throw InputError(origin, "its checksum does not match its content: the file is cut short or damaged");
}

Provenance read_provenance(const proto::Provenance& from, const std::string& origin, const Library& library) {
  Provenance result;
  result.profile_name = from.profile_name();
  result.profile_digest = from.profile_digest();
  for (const proto::OperatorDigest& each : from.operators()) {
    result.operator_digests.emplace_back(each.name(), each.digest());
    if (!library.has_operator(each.name()))
      throw InputError(origin, "its rules use operator '" + each.name() +
                                   "', which the definitions do not have; give the folder that defines it with "
                                   "--definitions");
    if (const std::string now = library.digest(each.name()); now != each.digest())
      throw InputError(origin, "operator '" + each.name() +
                                   "' is defined otherwise than when the rules were proved: digest " + now +
                                   ", expected " + each.digest());
  }
  result.seeds.assign(from.seeds().begin(), from.seeds().end());
  result.build = from.build();
  result.solver = from.solver();
  result.max_operators = from.max_operators();
  return result;
}

std::string place_of_rule(const std::string& origin, std::size_t index, const proto::Rule& rule) {
  return origin + ": rule " + std::to_string(index + 1) + " (" + rule.id() + ")";
}

RuleRecord read_rule(const proto::Rule& from, const std::string& place, const std::vector<std::string>& digested,
                     Library& library, TermBank& bank, Symbols& symbols) {
  RuleRecord record = RuleReader(from, place, library, bank, symbols).read();
  require_types(record.rule, bank, symbols, place);
  for (const NodeId node : nodes_of(record.rule, bank)) {
    const std::string& name = library.instance(bank.node(node).instance).operator_name;
    if (std::ranges::find(digested, name) == digested.end())
      throw InputError(place, "uses operator '" + name + "', whose digest the database does not give");
  }
  return record;
}

RuleSet parse_rule_set(std::string_view bytes, const std::string& origin, Library& library, TermBank& bank,
                       Symbols& symbols) {
  const google::protobuf::LogSilencer quiet;  // this function reports errors itself
  proto::RuleSet from;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) fail_not_a_database(origin);
  check_schema_version(from, std::ranges::any_of(from.rules(), &proto::Rule::widens), origin);
  if (!has_valid_checksum(bytes)) fail_checksum(origin);
  RuleSet result;
  result.provenance = read_provenance(from.provenance(), origin, library);
  std::vector<std::string> digested;
  for (const auto& [name, digest] : result.provenance.operator_digests) digested.push_back(name);
  for (int i = 0; i < from.rules_size(); ++i) {
    const std::string place = place_of_rule(origin, static_cast<std::size_t>(i), from.rules(i));
    result.rules.push_back(read_rule(from.rules(i), place, digested, library, bank, symbols));
  }
  for (const proto::Count& count : from.funnel()) result.funnel.emplace_back(count.name(), count.value());
  return result;
}

std::optional<std::string> find_typing_error(const Rule& rule, TermBank& bank, Symbols& symbols) {
  const auto types = infer_types(rule, bank, symbols);
  if (const auto* error = std::get_if<TypeError>(&types)) return "does not type: " + error->what;
  const Rule& typed = std::get<TypedRule>(types).rule;
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    if (typed.shapes[v] == rule.shapes[v]) continue;
    return "types only if " + bank.term(rule.variables[v]).name + " is " + symbols.to_string(typed.shapes[v]) +
           ", found " + symbols.to_string(rule.shapes[v]);
  }
  const std::vector<TermId> terms = outputs_of(rule), narrowed = outputs_of(typed);
  for (std::size_t o = 0; o < terms.size(); ++o) {
    if (terms[o] == narrowed[o]) continue;
    return "types only if " + to_string(terms[o], bank, symbols) + " is " + to_string(narrowed[o], bank, symbols);
  }
  for (const SizeCondition& required : typed.condition) {
    const Poly difference = required.right - required.left;
    const bool symmetric = required.relation == Relation::Eq || required.relation == Relation::Ne;
    const auto is_required = [&](const SizeCondition& stated) {
      const Poly other = stated.right - stated.left;
      return stated.relation == required.relation && (other == difference || (symmetric && other == -difference));
    };
    if (std::ranges::any_of(rule.condition, is_required)) continue;
    return "types only when " + to_string(required, symbols) + ", which it does not state";
  }
  return std::nullopt;
}

RuleSet load_rule_set(const std::filesystem::path& path, Library& library, TermBank& bank, Symbols& symbols) {
  return parse_rule_set(runtime::read_file(path), path.string(), library, bank, symbols);
}

}  // namespace rulemill::algebra
