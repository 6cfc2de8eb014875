// A cache of generalized candidates. Generalizations of different candidates often reach the same candidate, which is
// then generalized once. Later runs reuse the results. The key of a candidate consists of its types, its operator
// instances and their definitions. If a profile gets another operator, only new candidates are generalized. The file
// contains a checksum; a corrupt one or one of another build is not used.
#pragma once

#include <array>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
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
  /// Returns the packed generalized candidate; null if it is not in the cache. Thread-safe.
  const std::string* find(const Key& key) const;
  /// Whether the generalization of another candidate of this run reached this one. Thread-safe.
  bool is_step(const Key& key) const { return find_step(key) != nullptr; }
  /// Adds the result of a generalization. `steps`: the keys of the candidate and of those that its generalization
  /// reached. All are found from now on; save() writes the first one. Thread-safe.
  void add(std::span<const Key> steps, const std::string& packed);

  /// Collective. Writes the generalizations that all ranks added, with an entry for each result itself.
  void save() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  struct FormEntry {
    Key key;
    std::uint64_t form = 0;  // index of the generalized candidate
  };
  struct NewEntry {
    Key key;
    const std::string* form = nullptr;  // in new_forms_
  };
  /// A part of the steps of this run's generalizations.
  struct StepTable {
    std::mutex mutex;
    std::unordered_map<Key, const std::string*, KeyHash> forms;
  };

  const std::string* find_step(const Key& key) const;
  /// Returns false if the content is corrupt. Ignores a cache of another build or origin.
  bool read(const std::string& content);

  std::filesystem::path out_;
  std::string origin_;
  const runtime::Communicator& communicator_;
  std::vector<std::uint64_t> types_, instances_;  // by number: hash of the definition
  PackedCandidates forms_;                        // from the file, with this run's numbers; empty: not expressible
  std::unordered_map<Key, std::uint64_t, KeyHash> form_numbers_;  // by key: index in forms_
  mutable std::array<StepTable, 64> steps_;                       // by the key's high word
  std::mutex new_entries_mutex_;                                  // guards the next two
  std::vector<NewEntry> new_entries_;
  std::unordered_set<std::string> new_forms_;
};

}  // namespace rulemill::dedup
