// The parts of a rule database's reader, for files that are read as a whole and for those that are read rule by rule.
#pragma once

#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "algebra/rules/rule_set_format.h"

namespace rulemill::algebra {

/// The errors of a file that is no database of this schema; version 1 has no rules that widen. `origin` names it.
[[noreturn]] void fail_not_a_database(const std::string& origin);
void check_schema_version(const proto::RuleSet& from, bool has_widening, const std::string& origin);
[[noreturn]] void fail_checksum(const std::string& origin);

/// Returns the provenance. Throws InputError if an operator is unknown or defined differently, which can invalidate the
/// proofs.
Provenance read_provenance(const proto::Provenance& from, const std::string& origin, const Library& library);

/// Returns where a rule is, for messages: "origin: rule 3 (r2)".
std::string place_of_rule(const std::string& origin, std::size_t index, const proto::Rule& rule);

/// Reads and types a rule. `digested` are the operators whose digests the database gives. Throws InputError.
RuleRecord read_rule(const proto::Rule& from, const std::string& place, const std::vector<std::string>& digested,
                     Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
