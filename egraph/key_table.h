// A hash map from short sequences of 32-bit words to numbers, for interning shapes, types, e-nodes and matches. Keys
// are stored in one pool. Clearing takes constant time, so that one table serves thousands of small e-graphs.
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

  KeyTable() : slots_(min_slots) {}

  /// The number stored for the key, or none.
  Word find(std::span<const Word> key) const { return find(key, hash(key)); }

  /// Stores the number unless the key exists. Returns the key's number and whether it is new.
  std::pair<Word, bool> insert(std::span<const Word> key, Word value) {
    const Word h = hash(key);
    if (const Word known = find(key, h); known != none) return {known, false};
    if (entries_.size() * 2 > mask_) grow();
    place(h, static_cast<Word>(entries_.size()));
    entries_.push_back({h, static_cast<Word>(pool_.size()), static_cast<Word>(key.size()), value});
    pool_.insert(pool_.end(), key.begin(), key.end());
    return {value, true};
  }

  void clear() {
    entries_.clear();
    pool_.clear();
    mask_ = min_slots - 1;
    invalidate_slots();
  }
  std::size_t size() const { return entries_.size(); }
  /// The n-th key that was inserted.
  std::span<const Word> key(Word n) const { return {pool_.data() + entries_[n].first, entries_[n].length}; }

 private:
  static constexpr std::size_t min_slots = 64;

  struct Slot {
    Word generation = 0;
    Word hash = 0;  // of the entry's key, so that most other entries are not read
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
    for (std::size_t at = h & mask_; slots_[at].generation == generation_; at = (at + 1) & mask_) {
      if (slots_[at].hash != h) continue;
      const Entry& entry = entries_[slots_[at].entry];
      if (std::ranges::equal(key, std::span(pool_.data() + entry.first, entry.length))) return entry.value;
    }
    return none;
  }
  void place(Word h, Word entry) {
    std::size_t at = h & mask_;
    while (slots_[at].generation == generation_) at = (at + 1) & mask_;
    slots_[at] = {generation_, h, entry};
  }
  void grow() {
    mask_ = 2 * mask_ + 1;
    if (mask_ >= slots_.size()) slots_.resize(mask_ + 1);
    invalidate_slots();
    for (std::size_t i = 0; i < entries_.size(); ++i) place(entries_[i].hash, static_cast<Word>(i));
  }

  void invalidate_slots() {
    if (++generation_ != 0) return;
    std::fill(slots_.begin(), slots_.end(), Slot{});
    generation_ = 1;
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = min_slots - 1;  // of the slots in use: few for few keys, for cache locality
  std::vector<Entry> entries_;
  std::vector<Word> pool_;
  Word generation_ = 1;
};

}  // namespace rulemill::egraph
