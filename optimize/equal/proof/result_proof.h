// The proof of an optimizer's result, from what its search did: the instances of rules that it applied, and the
// constants that the result stores in place of terms.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model_proof.pb.h"
#include "optimize/equal/prover/window_statement.h"
#include "optimize/onnx/import.h"
#include "optimize/search/search_result.h"

namespace rulemill::optimize {

/// Rules of a proof by their texts: ids and certificates.
using ProofRules = std::map<std::string, std::pair<std::string, algebra::Certificate>>;
std::string serialize(const ProofRules& rules, algebra::Library& library);
/// Returns the text of a rule, the same for all ids and tiers.
std::string statement_text(algebra::Rule rule, const algebra::TermBank& terms, const algebra::Symbols& symbols);

/// Returns a proof without digests; nullopt if a rule is not proved. Its lemmas show that the values of the search's
/// last graph equal those of the first model. Steps without a rule, to be proved or left out, say that a value of the
/// second model is one of that graph: it was written as ONNX nodes, and may be read as other operators.
std::optional<proto::ModelProof> proof_of_result(const SearchedResult& searched, const StatementProof& prove);

}  // namespace rulemill::optimize
