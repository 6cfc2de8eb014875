// Serializes the rule database. rule_set_reader.cc parses it.
#include "algebra/rules/rule_set.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <set>

#include "algebra/rules/rule_set_format.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/quantity.h"

namespace rulemill::algebra {
namespace {

/// Sets the certificate, the statistics and the example.
void set_proof(const RuleRecord& record, proto::Rule& to) {
  to.mutable_certificate()->set_kind(static_cast<proto::Certificate::Kind>(record.certificate.kind));
  to.mutable_certificate()->set_text(record.certificate.text);
  to.mutable_statistics()->set_queries(record.statistics.queries);
  to.mutable_statistics()->set_instances(record.statistics.instances);
  for (const auto& shape : record.example) {
    proto::Sizes& sizes = *to.add_example();
    for (const std::int64_t dim : shape) sizes.add_sizes(dim);
  }
}

/// Serializes one rule. Terms become indices into its variables and nodes.
class RuleWriter {
 public:
  RuleWriter(const TermBank& bank, const Symbols& symbols, std::set<std::string>& operators)
      : bank_(bank), symbols_(symbols), operators_(operators) {}

  void write(const RuleRecord& record, proto::Rule& to) {
    const Rule& rule = record.rule;
    RM_CHECK(rule.shapes.size() == rule.variables.size(), "a rule is typed before it is stored: " + rule.id);
    to.set_id(rule.id);
    to.set_tier(static_cast<proto::Tier>(rule.tier));
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      variables_.emplace(rule.variables[v], static_cast<std::uint32_t>(v));
      proto::Variable& variable = *to.add_variables();
      variable.set_name(bank_.term(rule.variables[v]).name);
      for (const Poly& dim : rule.shapes[v]) variable.add_shape(symbols_.to_string(dim));
    }
    for (const NodeId id : nodes_of(rule, bank_)) {
      nodes_.emplace(id, static_cast<std::uint32_t>(nodes_.size()));
      write(bank_.node(id), *to.add_nodes());
    }
    for (const TermId root : rule.source) write(root, *to.add_source());
    for (const TermId root : rule.target) write(root, *to.add_target());
    for (const SizeCondition& condition : rule.condition) {
      proto::Condition& out = *to.add_condition();
      out.set_left(symbols_.to_string(condition.left));
      out.set_relation(static_cast<proto::Condition::Relation>(condition.relation));
      out.set_right(symbols_.to_string(condition.right));
    }
    for (const Atom pack : rule.packs) to.add_packs(symbols_.name(pack));
    to.set_reversible(record.reversible);
    to.set_phase(static_cast<proto::SearchPhase>(record.phase));
    to.set_widens(rule.widens);
    set_proof(record, to);
  }

 private:
  void write(const Node& node, proto::Node& to) {
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    operators_.insert(instance.operator_name);
    to.set_operator_(instance.operator_name);
    for (const auto& [name, value] : instance.parameters) {
      proto::Parameter& parameter = *to.add_parameters();
      parameter.set_name(name);
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        parameter.set_number(*number);
      } else if (const auto* enum_value = std::get_if<std::string>(&value)) {
        parameter.set_word(*enum_value);
      } else if (const auto* symbolic = std::get_if<Symbolic>(&value)) {
        parameter.set_symbolic_from(static_cast<std::uint32_t>(symbolic->min_value));
      } else {
        proto::Permutation& list = *parameter.mutable_permutation();
        for (const std::int64_t axis : std::get<std::vector<std::int64_t>>(value)) list.add_axes(axis);
      }
    }
    for (const TermId argument : node.arguments) write(argument, *to.add_arguments());
    for (const Poly& size : node.sizes) to.add_sizes(symbols_.to_string(size));
  }

  void write(TermId id, proto::Term& to) const {
    const Term& term = bank_.term(id);
    if (term.is_variable) {
      const auto found = variables_.find(id);
      RM_CHECK(found != variables_.end(), "every variable of a rule is listed");
      to.set_variable(found->second);
    } else {
      to.set_node(nodes_.at(term.node));
      to.set_output(term.output);
    }
  }

  const TermBank& bank_;
  const Symbols& symbols_;
  std::set<std::string>& operators_;
  std::unordered_map<TermId, std::uint32_t> variables_;
  std::unordered_map<NodeId, std::uint32_t> nodes_;
};

}  // namespace

std::string checksum_field(const runtime::Hash128& of_bytes) {
  proto::RuleSet tail;
  tail.set_checksum(runtime::to_hex(of_bytes));
  return tail.SerializeAsString();
}

std::string checksum_field(std::string_view bytes) {
  return checksum_field(runtime::hash128(runtime::bytes_of(bytes)));
}

bool has_valid_checksum(std::string_view file) {
  const std::size_t content = file.size() - std::min(file.size(), checksum_bytes);
  return file.substr(content) == checksum_field(file.substr(0, content));
}

std::string RuleSetWriter::serialize(const RuleRecord& record, const TermBank& bank, const Symbols& symbols) {
  proto::RuleSet part;  // fields of a message in parts are those of the whole, one after the other
  RuleWriter(bank, symbols, operators_).write(record, *part.add_rules());
  return part.SerializeAsString();
}

RecordParts serialize_parts(const RuleRecord& record, const TermBank& bank, const Symbols& symbols) {
  std::set<std::string> operators;
  proto::Rule before, after;
  RuleWriter(bank, symbols, operators).write(record, before);
  after.mutable_packs()->Swap(before.mutable_packs());
  after.set_phase(before.phase());
  before.clear_phase();
  before.clear_id();
  before.clear_tier();
  before.clear_certificate();
  before.clear_statistics();
  before.clear_example();
  return {before.SerializeAsString(), after.SerializeAsString(), {operators.begin(), operators.end()}};
}

std::string RuleSetWriter::join(const RuleRecord& record, const RecordParts& parts) {
  operators_.insert(parts.operators.begin(), parts.operators.end());
  proto::Rule name, proof;
  name.set_id(record.rule.id);
  name.set_tier(static_cast<proto::Tier>(record.rule.tier));
  set_proof(record, proof);
  const std::string rule = name.SerializeAsString() + parts.before + proof.SerializeAsString() + parts.after;
  constexpr std::uint32_t message = 2;  // protobuf's wire type
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.WriteTag(proto::RuleSet::kRulesFieldNumber << 3 | message);
    out.WriteVarint32(static_cast<std::uint32_t>(rule.size()));
    out.WriteString(rule);
  }
  return bytes;
}

std::vector<std::string> RuleSetWriter::finish(const Provenance& provenance, std::vector<std::string> records,
                                               const std::vector<std::pair<std::string, std::uint64_t>>& funnel,
                                               std::size_t max_bytes) const {
  proto::RuleSet first, last;
  first.set_schema_version(rule_set_schema_version);
  proto::Provenance& out = *first.mutable_provenance();
  out.set_profile_name(provenance.profile_name);
  out.set_profile_digest(provenance.profile_digest);
  for (const std::string& name : operators_) {
    proto::OperatorDigest& digest = *out.add_operators();
    digest.set_name(name);
    digest.set_digest(library_.digest(name));
  }
  for (const std::uint64_t seed : provenance.seeds) out.add_seeds(seed);
  out.set_build(provenance.build);
  out.set_solver(provenance.solver);
  out.set_max_operators(provenance.max_operators);
  for (const auto& [name, value] : funnel) {
    proto::Count& count = *last.add_funnel();
    count.set_name(name);
    count.set_value(value);
  }
  std::size_t size = first.ByteSizeLong() + last.ByteSizeLong();
  for (const std::string& record : records) size += record.size();
  if (size > max_bytes) {
    throw runtime::Error("rule database", "its " + runtime::format_count(records.size()) + " rules need " +
                                              runtime::format_bytes(size) + "; a database holds " +
                                              runtime::format_bytes(max_bytes) + ": take a smaller profile");
  }
  std::vector<std::string> chunks = std::move(records);
  chunks.insert(chunks.begin(), first.SerializeAsString());
  chunks.push_back(last.SerializeAsString());
  runtime::Hasher hasher;
  for (const std::string& chunk : chunks) hasher.add(runtime::bytes_of(chunk));
  chunks.push_back(checksum_field(hasher.digest128()));
  return chunks;
}

std::string serialize(const RuleSet& rules, const TermBank& bank, const Symbols& symbols, std::size_t max_bytes) {
  RuleSetWriter writer(bank.library());
  std::vector<std::string> records;
  for (const RuleRecord& record : rules.rules) records.push_back(writer.serialize(record, bank, symbols));
  std::string bytes;
  for (const std::string& chunk : writer.finish(rules.provenance, std::move(records), rules.funnel, max_bytes))
    bytes += chunk;
  return bytes;
}

void save(const RuleSet& rules, const TermBank& bank, const Symbols& symbols, const std::filesystem::path& path) {
  runtime::write_file(path, serialize(rules, bank, symbols));
}

}  // namespace rulemill::algebra
