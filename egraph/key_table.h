// A map from short runs of 32-bit words to a number: what interns shapes, types, e-nodes and matches. Keys lie in one
// pool; emptying it costs nothing, so that one table serves thousands of small e-graphs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rulemill::egraph {

class KeyTable {
 public:
  using Word = std::uint32_t;
  static constexpr Word none = 0xffffffff;

  KeyTable() : slots_(64) {}

  /// The number stored for the key, or none.
  Word find(std::span<const Word> key) const { return find(key, hash(key)); }

  /// Stores the number unless the key is known. The number that the key now has, and whether it is new.
  std::pair<Word, bool> insert(std::span<const Word> key, Word value) {
    const Word h = hash(key);
    if (const Word known = find(key, h); known != none) return {known, false};
    if (entries_.size() * 2 >= slots_.size()) grow();
    place(h, static_cast<Word>(entries_.size()));
    entries_.push_back({h, static_cast<Word>(pool_.size()), static_cast<Word>(key.size()), value});
    pool_.insert(pool_.end(), key.begin(), key.end());
    return {value, true};
  }

  void clear() {
    entries_.clear();
    pool_.clear();
    if (++generation_ == 0) {
      std::fill(slots_.begin(), slots_.end(), Slot{});
      generation_ = 1;
    }
  }
  std::size_t size() const { return entries_.size(); }
  /// The n-th key that was inserted.
  std::span<const Word> key(Word n) const { return {pool_.data() + entries_[n].first, entries_[n].length}; }

 private:
  struct Slot {
    Word generation = 0;
    Word entry = 0;
  };
  struct Entry {
    Word hash, first, length, value;
  };

  static Word hash(std::span<const Word> key) {
    std::uint64_t h = 0x9e3779b97f4a7c15u ^ key.size();
    for (const Word word : key) {
      h = (h ^ word) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return static_cast<Word>(h);
  }
  Word find(std::span<const Word> key, Word h) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = h & mask; slots_[at].generation == generation_; at = (at + 1) & mask) {
      const Entry& entry = entries_[slots_[at].entry];
      if (entry.hash == h && std::ranges::equal(key, std::span(pool_.data() + entry.first, entry.length))) {
        return entry.value;
      }
    }
    return none;
  }
  void place(Word h, Word entry) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = h & mask;
    while (slots_[at].generation == generation_) at = (at + 1) & mask;
    slots_[at] = {generation_, entry};
  }
  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    for (std::size_t i = 0; i < entries_.size(); ++i) place(entries_[i].hash, static_cast<Word>(i));
  }

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::vector<Word> pool_;
  Word generation_ = 1;
};

}  // namespace rulemill::egraph
