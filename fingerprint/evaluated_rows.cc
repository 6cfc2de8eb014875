#include "fingerprint/evaluated_rows.h"

#include <algorithm>

#include "runtime/text/byte_lists.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;

namespace {

/// The fixed part of a row in a message; its arguments follow.
struct RowRecord {
  OrbitFingerprint fingerprint;
  std::uint64_t row = 0;
  SignatureId signature = 0;
  std::uint32_t orbit_size = 0;
};

}  // namespace

void EvaluatedRows::resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride) {
  first = first_row;
  signatures.assign(rows, enumerate::no_id);
  arguments.assign(rows * arity_stride, enumerate::no_id);
  fingerprints.assign(rows, {});
  orbit_sizes.assign(rows, 0);
}

void EvaluatedRows::set(const Orbit& orbit, std::uint32_t output) {
  set(orbit.row + output, orbit.signature, orbit.arguments, static_cast<std::uint32_t>(orbit.renaming.size()),
      orbit_fingerprint(orbit, output));
}

void EvaluatedRows::set(std::uint64_t row, SignatureId signature, std::span<const TermId> terms,
                        std::uint32_t orbit_size, const OrbitFingerprint& fingerprint) {
  const std::uint64_t at = row - first;
  signatures[at] = signature;
  orbit_sizes[at] = orbit_size;
  fingerprints[at] = fingerprint;
  std::ranges::copy(terms, arguments.begin() + static_cast<std::ptrdiff_t>(at * stride()));
}

void EvaluatedRows::append(std::size_t at, runtime::Bytes& bytes) const {
  runtime::append_value(bytes, RowRecord{fingerprints[at], first + at, signatures[at], orbit_sizes[at]});
  runtime::append_bytes(bytes, runtime::bytes_of(std::span(arguments).subspan(at * stride(), stride())));
}

std::size_t EvaluatedRows::take(runtime::ByteView& bytes) {
  const auto record = runtime::take_value<RowRecord>(bytes);
  const runtime::ByteView terms = runtime::take_bytes(bytes, stride() * sizeof(TermId));
  const std::size_t at = record.row - first;
  RM_CHECK(at < signatures.size(), "the row belongs to another range");
  fingerprints[at] = record.fingerprint;
  signatures[at] = record.signature;
  orbit_sizes[at] = record.orbit_size;
  std::memcpy(arguments.data() + at * stride(), terms.data(), terms.size());
  return at;
}

}  // namespace rulemill::fingerprint
