#include "prove/tasks/candidate_result.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::prove {

std::uint64_t operator_hash(const algebra::OperatorInstance& instance) {
  runtime::Hasher hasher;
  hasher.add_text(instance.name);
  for (const auto& input : instance.inputs) hasher.add_number(input.size());
  for (const auto& output : instance.outputs) hasher.add_number(output.dims.size());
  return hasher.digest64();
}

OperatorHashes operator_hashes(const algebra::Rule& rule, const algebra::TermBank& bank) {
  OperatorHashes hashes;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side))
      hashes.push_back(operator_hash(bank.library().instance(bank.node(node).instance)));
  }
  std::ranges::sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

using runtime::Json;

bool must_deactivate(const CandidateResult& result) {
  constexpr std::uint64_t max_operators = 4;
  return result.operators > max_operators;
}

bool apply_derivation(const CandidateResult& answer, CandidateResult& rule) {
  if (answer.status != RuleStatus::Derived) return false;
  rule.status = RuleStatus::Derived;
  rule.instance_count = answer.instance_count;
  rule.certificate = answer.certificate;
  return true;
}

Json to_json(const CandidateResult& result) {
  return {{"kind", static_cast<int>(result.status)},
          {"candidate", result.candidate},
          {"rule", result.rule},
          {"detail", result.detail},
          {"certificate", result.certificate},
          {"queries", result.queries},
          {"instances", result.instance_count},
          {"operators", result.operators},
          {"inactive", result.inactive},
          {"example", result.example}};
}

CandidateResult result_from_json(const Json& json) {
  CandidateResult result;
  const int kind = runtime::to_integer<int>(json.at("kind"));
  if (kind < 0 || kind > static_cast<int>(RuleStatus::IllTyped))
    throw runtime::InputError("outcome", "expected a kind from 0 to 4, found " + std::to_string(kind));
  result.status = static_cast<RuleStatus>(kind);
  json.at("candidate").get_to(result.candidate);
  json.at("rule").get_to(result.rule);
  json.at("detail").get_to(result.detail);
  json.at("certificate").get_to(result.certificate);
  result.queries = runtime::to_integer<std::uint64_t>(json.at("queries"));
  result.instance_count = runtime::to_integer<std::uint64_t>(json.at("instances"));
  result.operators = runtime::to_integer<std::uint64_t>(json.at("operators"));
  json.at("inactive").get_to(result.inactive);
  for (const Json& numbers : json.at("example")) result.example.push_back(runtime::to_integers<std::int64_t>(numbers));
  return result;
}

std::string pack(const CandidateResult& result) {
  runtime::Bytes bytes;
  runtime::append_value(bytes, result.status);
  for (const std::string* text : {&result.candidate, &result.rule, &result.detail, &result.certificate})
    runtime::append_text(bytes, *text);
  for (const std::uint64_t count : {result.queries, result.instance_count, result.operators})
    runtime::append_value(bytes, count);
  for (const double number : {result.estimated_cost, result.seconds}) runtime::append_value(bytes, number);
  runtime::append_list(bytes, result.goal_operators);
  for (const auto& dims : result.example) runtime::append_list(bytes, dims);
  return std::string(runtime::text_of(bytes));
}

CandidateResult unpack_result(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  CandidateResult result;
  result.status = runtime::take_value<RuleStatus>(rest);
  RM_CHECK(result.status <= RuleStatus::IllTyped, "a known status");
  for (std::string* text : {&result.candidate, &result.rule, &result.detail, &result.certificate})
    *text = runtime::take_text(rest);
  for (std::uint64_t* count : {&result.queries, &result.instance_count, &result.operators})
    *count = runtime::take_value<std::uint64_t>(rest);
  for (double* number : {&result.estimated_cost, &result.seconds}) *number = runtime::take_value<double>(rest);
  result.goal_operators = runtime::take_list<std::uint64_t>(rest);
  while (!rest.empty()) result.example.push_back(runtime::take_list<std::int64_t>(rest));
  return result;
}

std::string to_text(const std::vector<CandidateResult>& results) {
  std::string text;
  for (const std::string& chunk : to_chunks(results)) text += chunk;
  return text;
}

std::vector<std::string> to_chunks(const std::vector<CandidateResult>& results) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
  std::vector<std::string> chunks{"["};
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (chunks.back().size() >= chunk_bytes) chunks.emplace_back();
    if (i > 0) chunks.back() += ",";
    chunks.back() += runtime::to_text(to_json(results[i]));
  }
  chunks.back() += "]";
  return chunks;
}

std::vector<CandidateResult> results_from_text(const std::string& text) {
  try {
    std::vector<CandidateResult> results;
    runtime::for_each_element(text, "outcome", [&](const Json& json) { results.push_back(result_from_json(json)); });
    return results;
  } catch (const Json::exception&) {
    throw runtime::InputError("outcome", "damaged: expected a list of outcomes");
  }
}

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
  return runtime::pack_fields(record.certificate, record.parts.before, record.parts.after, record.parts.operators);
}

CertifiedRecord unpack_record(std::string_view packed) {
  CertifiedRecord record;
  runtime::unpack_fields(packed, record.certificate, record.parts.before, record.parts.after, record.parts.operators);
  return record;
}

}  // namespace rulemill::prove
