// The result of a comparison of two models as text and as JSON.
#pragma once

#include <string>

#include "optimize/equal/compare_models.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {

std::string to_text(const EqualityResult& result);
runtime::Json to_json(const EqualityResult& result);
/// Returns one line: what is not shown; empty for equal models.
std::string failure_of(const EqualityResult& result);

/// Returns one line on the proof that was to be written; empty if none was.
std::string written_proof_text(const EqualityResult& result);

/// Of a proof that was followed.
std::string followed_proof_text(const EqualityResult& result);
runtime::Json followed_proof_json(const EqualityResult& result);

}  // namespace rulemill::optimize
