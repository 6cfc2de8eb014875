// What evaluating rows of a level says of them, and how ranks tell each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fingerprint/orbit_print.h"
#include "runtime/bytes.h"

namespace rulemill::fingerprint {

/// Rows [first, first + size) of a level. What is no node's first output and was not seen has no signature.
struct RowRange {
  std::uint64_t first = 0;
  std::vector<enumerate::SignatureId> signatures;
  std::vector<enumerate::TermId> arguments;  // arity_stride a row
  std::vector<OrbitPrint> prints;
  std::vector<std::uint32_t> images;  // nodes that the row stands for

  void resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride);
  /// What an orbit says of the row of one of its outputs.
  void set(const Orbit& orbit, std::uint32_t output);
  void set(std::uint64_t row, enumerate::SignatureId signature, std::span<const enumerate::TermId> terms,
           std::uint32_t image_count, const OrbitPrint& print);

  /// Appends the row at place `at`.
  void append(std::size_t at, runtime::Bytes& bytes) const;
  /// Takes such a row off the front and sets it; returns its place.
  std::size_t take(runtime::ByteView& bytes);

 private:
  std::size_t stride() const { return arguments.size() / signatures.size(); }
};

}  // namespace rulemill::fingerprint
