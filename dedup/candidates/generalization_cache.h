// A cache of generalized candidates and of candidates with symbolic sizes, which later runs reuse. The key of a
// candidate consists of its types, its operator instances and their definitions. If a profile gets another operator,
// only new candidates are generalized and typed. The file contains a checksum; a corrupt one or one of another build is
// not used.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dedup/candidates/candidate_graph.h"
#include "fingerprint/shards.h"
#include "runtime/mpi/communicator.h"
#include "runtime/text/hash.h"

namespace rulemill::dedup {

inline constexpr const char* generalization_cache_file = "generalizations.cache";

class GeneralizationCache {
 public:
  /// Collective. Reads the cache of a folder. `origin`: all other inputs that the results depend on.
  GeneralizationCache(std::filesystem::path out, const fingerprint::Dictionary& dictionary,
                      const algebra::Library& library, const std::string& origin,
                      const runtime::Communicator& communicator);

  using Key = runtime::Hash128;
  Key key(const CandidateGraph& graph) const;
  /// Returns the packed generalized candidate; null if it is not in the cache.
  const std::string* find(const Key& key) const;
  /// Adds a generalized candidate for save().
  void add(const Key& key, const std::string& packed);

  /// Returns a hash of the candidate with symbolic sizes, and adds it for save(). On a cache miss, `text` returns the
  /// candidate's text; the hash is zero if that is empty. Thread-safe.
  runtime::Hash128 typed_hash(const CandidateGraph& graph, const std::function<std::string()>& text);
  /// Collective. Writes the entries that all ranks added or looked up.
  void save() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  struct FormEntry {
    Key key;
    std::uint64_t form = 0;  // index of the generalized candidate
  };

  struct TypedEntry {
    Key key;
    runtime::Hash128 text;
    bool operator==(const TypedEntry&) const = default;
    auto operator<=>(const TypedEntry&) const = default;
  };

  /// Returns false if the content is corrupt. Ignores a cache of another build or origin.
  bool read(const std::string& content);

  std::filesystem::path out_;
  std::string origin_;
  const runtime::Communicator& communicator_;
  std::vector<std::uint64_t> types_, instances_;  // by number: hash of the definition
  PackedCandidates forms_;                        // from the file, with this run's numbers; empty: not expressible
  std::unordered_map<Key, std::uint64_t, KeyHash> form_numbers_;  // by key: index in forms_
  std::vector<FormEntry> new_entries_;
  std::unordered_map<std::string, std::uint64_t> new_form_numbers_;
  std::vector<TypedEntry> typed_entries_;  // from the file, ascending
  std::mutex mutex_;                       // guards new_typed_entries_
  std::vector<TypedEntry> new_typed_entries_;
};

}  // namespace rulemill::dedup
