// Results of evaluating rows of a level, and their serialization for messages between ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fingerprint/orbit_fingerprint.h"
#include "runtime/text/bytes.h"

namespace rulemill::fingerprint {

/// Rows [first, first + size) of a level. A row that has not been set has no signature.
struct EvaluatedRows {
  std::uint64_t first = 0;
  std::vector<enumerate::SignatureId> signatures;
  std::vector<enumerate::TermId> arguments;  // arity_stride per row
  std::vector<OrbitFingerprint> fingerprints;
  std::vector<std::uint32_t> orbit_sizes;  // nodes that the row represents

  void resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride);
  /// Sets the row of one output of the orbit's node.
  void set(const Orbit& orbit, std::uint32_t output);
  void set(std::uint64_t row, enumerate::SignatureId signature, std::span<const enumerate::TermId> terms,
           std::uint32_t orbit_size, const OrbitFingerprint& fingerprint);

  /// Appends the row with index `at` to the message.
  void append(std::size_t at, runtime::Bytes& bytes) const;
  /// Removes a row from the front of the message and sets it; returns its index.
  std::size_t take(runtime::ByteView& bytes);

 private:
  std::size_t stride() const { return arguments.size() / signatures.size(); }
};

}  // namespace rulemill::fingerprint
