// What candidates became when they were brought to their most general form, and what they are with symbolic sizes, kept
// from one run to the next: a candidate is known by its types, its operator instances and their definitions, so that a
// profile with one operator more tries and types only those that are new. The file carries its own checksum; one that
// is damaged or of another program is made anew.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
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

  /// A hash of the candidate with symbolic sizes, which `text` writes; zeros if that is empty. Either way it is known
  /// to save(). Any number of threads may call it.
  runtime::Hash128 typed(const CandidateGraph& graph, const std::function<std::string()>& text);
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

  struct TypedEntry {
    Key key;
    runtime::Hash128 text;
    bool operator==(const TypedEntry&) const = default;
    auto operator<=>(const TypedEntry&) const = default;
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
  std::vector<TypedEntry> typed_;                           // of the file, ascending
  std::mutex mutex_;                                        // of the list that follows
  std::vector<TypedEntry> noted_typed_;
};

}  // namespace rulemill::dedup
