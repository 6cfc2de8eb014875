// A rule database on disk whose rules are read one by one, so that a large one need not fit into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "runtime/process/input_file.h"

namespace rulemill::algebra {

/// A rule as it is in its file: the bytes travel to other processes, so that these read the file's own record.
struct StoredRule {
  std::string place;                  // file, number and id, for messages
  std::string bytes;                  // of the record
  std::vector<std::string> digested;  // its operators whose digests the database gives
};
/// Reads and types the rule. Throws InputError as parse_rule_set does.
RuleRecord parse_stored_rule(const StoredRule& stored, Library& library, TermBank& bank, Symbols& symbols);

class RuleSetFile {
 public:
  /// Opens a database and reads all but its rules. Throws what load_rule_set does about the file as a whole: it is no
  /// database, is damaged, has another schema, or was made with other definitions.
  RuleSetFile(const std::filesystem::path& path, const Library& library);

  const Provenance& provenance() const { return provenance_; }
  std::size_t size() const { return rules_.size(); }
  const std::string& id(std::size_t rule) const { return rules_.at(rule).id; }
  Certificate::Kind certificate_kind(std::size_t rule) const { return rules_.at(rule).kind; }

  struct Record {
    StoredRule rule;
    Certificate certificate;
  };
  /// Throws InputError if the file has been changed.
  Record read(std::size_t rule) const;

 private:
  struct Entry {
    std::string id;
    Certificate::Kind kind = Certificate::Kind::None;
    std::size_t offset = 0, size = 0;  // in the file
  };
  std::string read_all_but_rules();
  void verify_checksum() const;

  runtime::InputFile file_;
  Provenance provenance_;
  std::vector<Entry> rules_;
  bool has_widening_ = false;
};

}  // namespace rulemill::algebra
