#include "prove/tasks/rule_record.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "runtime/text/byte_lists.h"

namespace rulemill::prove {
namespace {

using algebra::TermId;

/// Returns whether a rule can be applied from one side to the other.
bool is_applicable(const std::vector<TermId>& from, const std::vector<TermId>& to, const algebra::TermBank& bank) {
  const std::vector<TermId> known = bank.variables(from);
  const bool covered = std::ranges::all_of(
      bank.variables(to), [&](TermId variable) { return std::ranges::find(known, variable) != known.end(); });
  return covered && std::ranges::all_of(from, [&](TermId term) { return !bank.term(term).is_variable; });
}

}  // namespace

algebra::RuleRecord record_of(const CandidateResult& result, const std::string& id, algebra::Library& library,
                              algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleRecord record;
  algebra::Rule rule = algebra::parse_rule(result.rule, "rule", library, bank, symbols);
  rule.id = id;
  const bool forward = is_applicable(rule.source, rule.target, bank),
             backward = is_applicable(rule.target, rule.source, bank);
  if (!forward && backward && !rule.widens) std::swap(rule.source, rule.target);
  record.reversible = forward && backward && !rule.widens;
  rule.tier = result.status == RuleStatus::Proved ? algebra::Tier::Core : algebra::Tier::Derived;
  record.rule = std::move(rule);
  record.certificate.kind = result.status == RuleStatus::Proved ? algebra::Certificate::Kind::Definitions
                                                                : algebra::Certificate::Kind::Derivation;
  record.certificate.text = result.certificate;
  record.statistics = {result.queries, result.instance_count};
  record.example = result.example;
  return record;
}

CertifiedRecord make_record(const std::string& packed_request, algebra::Library& library,
                            const ProverOptions& options) {
  const CertificateRequest request = unpack_request(packed_request);
  CandidateResult result;
  result.status = RuleStatus::Derived;
  result.rule = request.statement;
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::RuleRecord record = record_of(result, {}, library, bank, symbols);
  const CertificateText certificate = certify_by_instances(statement_of(record.rule, bank, symbols),
                                                           request.rule_instances, request.premises, library, options);
  return {to_string(certificate), algebra::serialize_parts(record, bank, symbols)};
}

std::string pack(const CertifiedRecord& record) {
  runtime::Bytes bytes;
  for (const std::string* text : {&record.certificate, &record.parts.before, &record.parts.after})
    runtime::append_text(bytes, *text);
  runtime::append_texts(bytes, record.parts.operators);
  return std::string(runtime::text_of(bytes));
}

CertifiedRecord unpack_record(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  CertifiedRecord record;
  for (std::string* text : {&record.certificate, &record.parts.before, &record.parts.after})
    *text = runtime::take_text(rest);
  record.parts.operators = runtime::take_texts(rest);
  return record;
}

}  // namespace rulemill::prove
