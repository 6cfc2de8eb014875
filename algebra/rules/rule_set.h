// The rule database: proved rules with their certificates and provenance, in memory and on disk (rule_set.proto). Equal
// rule sets give equal bytes. A database made from other definitions of an operator that its rules use is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// What lets someone else check a rule's proof.
struct Certificate {
  enum class Kind : std::uint8_t { None, Definitions, Derivation };
  Kind kind = Kind::None;
  std::string text;
  bool operator==(const Certificate&) const = default;
};

/// What a proof took, as far as it does not depend on the machine or on the number of ranks.
struct ProofStatistics {
  std::uint64_t queries = 0;    // put to the solver
  std::uint64_t instances = 0;  // of other rules
  bool operator==(const ProofStatistics&) const = default;
};

/// When a search tries a rule: core first, then shortcuts, or as it is said: what is core may change, and with it what
/// a search finds within its limits, as rules in general form come in.
enum class SearchTurn : std::uint8_t { ByTier, WithCore, WithShortcuts };

struct RuleRecord {
  Rule rule;  // typed: rule.shapes is set
  Certificate certificate;
  ProofStatistics statistics;
  bool reversible = false;  // both directions are of use to a search
  SearchTurn turn = SearchTurn::ByTier;
  std::vector<std::vector<std::int64_t>> example;  // by variable; may be empty
};

/// Whether a search tries the rule after the core.
inline bool comes_later(const RuleRecord& record) {
  return record.turn == SearchTurn::WithShortcuts ||
         (record.turn == SearchTurn::ByTier && record.rule.tier == Tier::Shortcut);
}

struct Provenance {
  std::string profile_name, profile_digest;
  std::string library_digest;                                         // set by save
  std::vector<std::pair<std::string, std::string>> operator_digests;  // of the operators in use, by name; set by save
  std::vector<std::uint64_t> seeds;
  std::string build;   // rulemill's version
  std::string solver;  // name and version
  std::uint32_t max_operators = 0;
};

struct RuleSet {
  Provenance provenance;
  std::vector<RuleRecord> rules;
  std::vector<std::pair<std::string, std::uint64_t>> funnel;  // how many were left after each stage
};

/// The bytes of the database. Sets the digests of the provenance from the bank's library.
/// Throws Error if it would be larger than `largest`, which protobuf cannot go beyond.
inline constexpr std::size_t largest_database = (std::size_t{1} << 31) - 1024;
std::string serialize(const RuleSet& rules, const TermBank& bank, const Symbols& symbols,
                      std::size_t largest = largest_database);
/// Reads what serialize wrote; `origin` names it in messages. Throws InputError naming the rule, the field, what was
/// found and what was expected: bytes that are no database or not all of one, another schema, an operator that is
/// unknown or is defined otherwise, a node that does not fit its operator, a rule that does not type.
RuleSet parse_rule_set(std::string_view bytes, const std::string& origin, Library& library, TermBank& bank,
                       Symbols& symbols);

/// Why a typed rule does not say all that typing it asks for; nothing if typing it again adds nothing.
std::optional<std::string> typing_objection(const Rule& rule, TermBank& bank, Symbols& symbols);

/// To a file, atomically. Throws IoError.
void save(const RuleSet& rules, const TermBank& bank, const Symbols& symbols, const std::filesystem::path& path);
RuleSet load_rule_set(const std::filesystem::path& path, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
