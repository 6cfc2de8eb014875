// What candidates became when they were brought to their most general form, kept from one run to the next: a candidate
// is known by its types, its operator instances and their definitions, so that a profile with one operator more tries
// only those that are new. The file carries its own checksum; one that is damaged or of another program is made anew.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dedup/candidate_set.h"
#include "fingerprint/shards.h"

namespace rulemill::dedup {

inline constexpr const char* general_forms_file = "general.store";

class GeneralForms {
 public:
  /// Collective. Those of the folder. `origin`: what the forms depend on besides.
  GeneralForms(std::filesystem::path out, const fingerprint::Dictionary& dictionary, const algebra::Library& library,
               const std::string& origin, const runtime::Communicator& communicator);

  using Key = runtime::Hash128;
  Key key(const CandidateGraph& graph) const;
  /// Packed; null if it is not known.
  const std::string* find(const Key& key) const;
  /// From now on it is known to save().
  void note(const Key& key, const std::string& packed);
  std::uint64_t noted() const { return noted_.size(); }
  /// Collective. Writes what every rank has noted.
  void save() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  struct Entry {
    Key key;
    std::uint64_t form = 0;  // its number
  };

  bool read(const std::string& content);

  std::filesystem::path out_;
  std::string origin_;
  const runtime::Communicator& communicator_;
  std::vector<std::uint64_t> types_, instances_;           // by number: hash of what it is
  PackedCandidates forms_;                                 // of the file, in this run's numbers; empty: not expressible
  std::unordered_map<Key, std::uint64_t, KeyHash> known_;  // likewise
  std::vector<Entry> noted_;
  std::unordered_map<std::string, std::uint64_t> numbers_;  // of the noted forms
};

}  // namespace rulemill::dedup
