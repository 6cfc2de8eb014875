// Proofs as text. This is not trusted: a proof that is misread is checked like any other.
#pragma once

#include "check/kernel/proof.h"

namespace rulemill::check {

/// Returns lines, each ended by a newline, that parse_proof reads.
std::string to_string(const Proof& proof, const Statement& statement);
/// Throws InputError with the line number on a text that to_string does not write. The first line has number `first`.
Proof parse_proof(std::string_view text, const std::string& origin, std::size_t first, const Statement& statement);
std::string to_string(const Step& step, const Statement& statement);

}  // namespace rulemill::check
