// The database record of a proved or derived rule. Workers make the records of derived rules in parts, because the
// rule's name and those in its certificate differ between runs.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/certificate/certificate.h"
#include "prove/prover/prover.h"
#include "prove/tasks/candidate_result.h"

namespace rulemill::prove {

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
