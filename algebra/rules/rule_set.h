// The rule database: proved rules with their certificates and provenance, in memory and on disk (rule_set.proto). Equal
// rule sets give equal bytes. A database that uses an operator with a different definition is rejected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// The proof of a rule as text, for the checker.
struct Certificate {
  enum class Kind : std::uint8_t { None, Definitions, Derivation };
  Kind kind = Kind::None;
  std::string text;
  bool operator==(const Certificate&) const = default;
};

/// The cost of a proof, in counts that do not depend on the machine or the number of ranks.
struct ProofStatistics {
  std::uint64_t queries = 0;    // to the solver
  std::uint64_t instances = 0;  // of other rules
  bool operator==(const ProofStatistics&) const = default;
};

/// The search phase of a rule: with the core, or later with the derived rules. It is stored so that a recomputed core
/// (as general rules are added) does not change search results.
enum class SearchPhase : std::uint8_t { ByTier, WithCore, WithDerived };

struct RuleRecord {
  Rule rule;  // typed: rule.shapes is set
  Certificate certificate;
  ProofStatistics statistics;
  bool reversible = false;  // a search uses both directions
  SearchPhase phase = SearchPhase::ByTier;
  std::vector<std::vector<std::int64_t>> example;  // by variable; may be empty
};

/// True if a search tries the rule after the core.
inline bool is_late(const RuleRecord& record) {
  return record.phase == SearchPhase::WithDerived ||
         (record.phase == SearchPhase::ByTier && record.rule.tier == Tier::Derived);
}

struct Provenance {
  std::string profile_name, profile_digest;
  std::vector<std::pair<std::string, std::string>> operator_digests;  // of the operators in use, by name; set by save
  std::vector<std::uint64_t> seeds;
  std::string build;   // rulemill's version
  std::string solver;  // name and version
  std::uint32_t max_operators = 0;
};

struct RuleSet {
  Provenance provenance;
  std::vector<RuleRecord> rules;
  std::vector<std::pair<std::string, std::uint64_t>> funnel;  // the count after each stage
};

/// Protobuf's limit on message size.
inline constexpr std::size_t max_database_bytes = (std::size_t{1} << 31) - 1024;

/// The serialized fields of a record that depend on its rule alone: those before the certificate, without id and tier,
/// and those after the example.
struct RecordParts {
  std::string before, after;
  std::vector<std::string> operators;  // in use, by name
};
RecordParts serialize_parts(const RuleRecord& record, const TermBank& bank, const Symbols& symbols);

/// Serializes a database record by record, so that neither rules nor records of a large one share a term bank.
class RuleSetWriter {
 public:
  explicit RuleSetWriter(const Library& library) : library_(library) {}

  /// Returns a record's part of the database. Thread-compatible; the order of calls has no effect.
  std::string serialize(const RuleRecord& record, const TermBank& bank, const Symbols& symbols);
  /// Returns the same of a record whose rule is serialized in parts; `record` needs only the rule's id and tier.
  std::string join(const RuleRecord& record, const RecordParts& parts);
  /// Returns the chunks of the database of the records, in this order. Sets the digests of the provenance for the
  /// operators of all records that were serialized or joined. Throws Error beyond `max_bytes`.
  std::vector<std::string> finish(const Provenance& provenance, std::vector<std::string> records,
                                  const std::vector<std::pair<std::string, std::uint64_t>>& funnel,
                                  std::size_t max_bytes = max_database_bytes) const;

 private:
  const Library& library_;
  std::set<std::string> operators_;
};

/// Serializes the database. Sets the digests of the provenance from the bank's library. Throws Error beyond
/// `max_bytes`.
std::string serialize(const RuleSet& rules, const TermBank& bank, const Symbols& symbols,
                      std::size_t max_bytes = max_database_bytes);
/// Parses a serialized database; messages name it `origin`. Throws InputError with the rule, the field, the expected
/// and the found value: not a database or a truncated one, another schema, an operator that is unknown or defined
/// differently, a node that does not fit its operator, a rule that does not type.
RuleSet parse_rule_set(std::string_view bytes, const std::string& origin, Library& library, TermBank& bank,
                       Symbols& symbols);

/// Returns why a typed rule does not type again, or needs shapes or conditions that it does not state; nullopt if
/// typing it again adds nothing.
std::optional<std::string> find_typing_error(const Rule& rule, TermBank& bank, Symbols& symbols);

/// Writes a file atomically. Throws IoError.
void save(const RuleSet& rules, const TermBank& bank, const Symbols& symbols, const std::filesystem::path& path);
RuleSet load_rule_set(const std::filesystem::path& path, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
