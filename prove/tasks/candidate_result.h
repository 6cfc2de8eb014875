// The result of the prove and prune stages for one candidate. Rules travel between ranks and into the journal in text
// form, which means the same in every process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/term.h"
#include "prove/certificate/certificate.h"
#include "prove/prover/prover.h"
#include "prove/prover/verdict.h"
#include "runtime/text/json.h"

namespace rulemill::prove {

// The operator instances of a rule, by hashes that are the same in every run. The cache decides with them which rules a
// derivation can use. Workers return them, so that the first rank need not parse goals.

/// Ascending, each once.
using OperatorHashes = std::vector<std::uint64_t>;

/// A collision would only make more rules reachable.
std::uint64_t operator_hash(const algebra::OperatorInstance& instance);
OperatorHashes operator_hashes(const algebra::Rule& rule, const algebra::TermBank& bank);

struct CandidateResult {
  RuleStatus status = RuleStatus::Unknown;
  std::string candidate;    // name
  std::string rule;         // typed, in text form; of a refuted or unknown one as far as it was typed
  std::string detail;       // counterexample, or the reason why it is unknown or ill-typed
  std::string certificate;  // of a proved rule; of a derived rule the instances of then core rules that imply it
  std::uint64_t queries = 0;
  std::uint64_t instance_count = 0;  // rule instances of the derivation
  std::uint64_t operators = 0;       // of the larger side
  bool inactive = false;             // proved, and not used in derivations
  double estimated_cost = 0;         // of a proof that is still to be found
  double seconds = 0;                // spent on the candidate
  OperatorHashes goal_operators;     // of a derivation, for its key in the cache
  std::vector<std::vector<std::int64_t>> example;
};

/// True for a proved rule that becomes inactive if its derivation from the core hits a limit: one of more than four
/// operators. Measured at five operators: without these rules just as many proofs are needed, and thousands of them in
/// the core make each derivation slower and hit limits earlier.
bool must_deactivate(const CandidateResult& result);

/// Marks `rule` as derived if `answer` has a derivation, and copies it. False if it has none.
bool apply_derivation(const CandidateResult& answer, CandidateResult& rule);

/// A result as JSON, without what only the run needs: estimated cost, time, and operators of the goal.
runtime::Json to_json(const CandidateResult& result);
CandidateResult result_from_json(const runtime::Json& json);

/// A complete result as bytes. Only between processes of one program.
std::string pack(const CandidateResult& result);
CandidateResult unpack_result(std::string_view packed);

/// A list of results as text, in the form of to_json. Reading throws InputError on other text.
std::string to_text(const std::vector<CandidateResult>& results);
/// The same text in chunks: one text of hundreds of megabytes would be copied as it grows.
std::vector<std::string> to_chunks(const std::vector<CandidateResult>& results);
std::vector<CandidateResult> results_from_text(const std::string& text);

// The database record of a proved or derived rule. Workers make the records of derived rules in parts, because the
// rule's name and those in its certificate differ between runs.

/// Returns the record of a proved (core) or derived rule. Its sides are exchanged if only the other direction can be
/// applied.
algebra::RuleRecord record_of(const CandidateResult& result, const std::string& id, algebra::Library& library,
                              algebra::TermBank& bank, algebra::Symbols& symbols);

/// What the record of a derived rule has apart from names and what its result states: the certificate, with
/// missing_proof if no checkable proof is found, and the rule.
struct CertifiedRecord {
  std::string certificate;
  algebra::RecordParts parts;
};
/// The request is one of a certificate; its statement is the result's rule.
CertifiedRecord make_record(const std::string& packed_request, algebra::Library& library, const ProverOptions& options);
std::string pack(const CertifiedRecord& record);
CertifiedRecord unpack_record(std::string_view packed);

}  // namespace rulemill::prove
