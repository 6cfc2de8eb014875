// Nodes to evaluate whose arguments are all at hand: values of named terms, which stay for a whole level, and values
// that an earlier wave left in an arena. A CPU and a GPU run waves with the same results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "enumerate/term_table.h"
#include "fingerprint/fingerprint.h"
#include "fingerprint/program.h"

namespace rulemill::fingerprint {

/// A signature's program and the type keys of its outputs.
struct CompiledSignature {
  Program program;
  std::vector<std::uint64_t> type_keys;
};

/// A tensor: a named term's, or one in the arena by its first pair there. Element e is at [e · block_width].
class TensorRef {
 public:
  static TensorRef term(enumerate::TermId t) { return TensorRef(t); }
  static TensorRef arena(std::uint64_t at) { return TensorRef(at | arena_bit); }
  TensorRef() = default;
  RM_HD bool in_arena() const { return (bits_ & arena_bit) != 0; }
  RM_HD enumerate::TermId term() const { return static_cast<enumerate::TermId>(bits_); }
  RM_HD std::uint64_t at() const { return bits_ & ~arena_bit; }
  std::uint64_t bits() const { return bits_; }
  bool operator==(const TensorRef&) const = default;

  static constexpr std::uint64_t arena_bit = std::uint64_t{1} << 63;

 private:
  explicit TensorRef(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

struct WaveNode {
  static constexpr std::uint64_t not_kept = ~std::uint64_t{0};
  enumerate::SignatureId signature = 0;
  std::uint32_t print = 0;                    // place of output 0's fingerprint; the other outputs' follow
  TensorRef arguments[enumerate::max_arity];  // a plain array: device code reads it
  std::uint64_t keep_at = not_kept;  // where in the arena, or in a store of the caller's, one output's values go
  std::uint32_t keep_output = 0;
};

/// Runs waves for one thread.
class WaveRunner {
 public:
  virtual ~WaveRunner() = default;
  /// About how much to give it at a time.
  struct Batch {
    std::uint64_t nodes = 0;
    std::uint64_t arena_pairs = 0;
  };
  virtual Batch batch() const = 0;
  /// Makes room for an arena of so many pairs; forgets what was in it.
  virtual void reserve(std::uint64_t arena_pairs) = 0;
  virtual void run(std::span<const WaveNode> nodes, std::span<Fingerprint> prints) = 0;
};

}  // namespace rulemill::fingerprint
