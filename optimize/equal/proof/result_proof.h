// The proof of an optimizer's result, from what its search did: the instances of rules that it applied, and the
// constants that the result stores in place of terms.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model_proof.pb.h"
#include "optimize/equal/prover/window_statement.h"
#include "optimize/onnx/import.h"
#include "optimize/search/search_result.h"

namespace rulemill::optimize {

/// Rules of a proof by their texts: ids and certificates.
using ProofRules = std::map<std::string, std::pair<std::string, algebra::Certificate>>;
std::string serialize(const ProofRules& rules, algebra::Library& library);

/// Returns a proof without digests; nullopt if a rule is not proved.
std::optional<proto::ModelProof> proof_of_result(const SearchedResult& searched, const StatementProof& prove);

}  // namespace rulemill::optimize
