#include "fingerprint/row_range.h"

#include <algorithm>

#include "runtime/byte_lists.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;

namespace {

/// A row as ranks tell each other of it; its arguments follow.
struct RowRecord {
  OrbitPrint print;
  std::uint64_t row = 0;
  SignatureId signature = 0;
  std::uint32_t images = 0;
};

}  // namespace

void RowRange::resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride) {
  first = first_row;
  signatures.assign(rows, enumerate::no_id);
  arguments.assign(rows * arity_stride, enumerate::no_id);
  prints.assign(rows, {});
  images.assign(rows, 0);
}

void RowRange::set(const Orbit& orbit, std::uint32_t output) {
  set(orbit.row + output, orbit.signature, orbit.arguments, static_cast<std::uint32_t>(orbit.renaming.size()),
      orbit_print(orbit, output));
}

void RowRange::set(std::uint64_t row, SignatureId signature, std::span<const TermId> terms, std::uint32_t image_count,
                   const OrbitPrint& print) {
  const std::uint64_t at = row - first;
  signatures[at] = signature;
  images[at] = image_count;
  prints[at] = print;
  std::ranges::copy(terms, arguments.begin() + static_cast<std::ptrdiff_t>(at * stride()));
}

void RowRange::append(std::size_t at, runtime::Bytes& bytes) const {
  runtime::append_value(bytes, RowRecord{prints[at], first + at, signatures[at], images[at]});
  runtime::append_bytes(bytes, runtime::bytes_of(std::span(arguments).subspan(at * stride(), stride())));
}

std::size_t RowRange::take(runtime::ByteView& bytes) {
  const auto record = runtime::take_value<RowRecord>(bytes);
  const runtime::ByteView terms = runtime::take_bytes(bytes, stride() * sizeof(TermId));
  const std::size_t at = record.row - first;
  RM_CHECK(at < signatures.size(), "a row of another range");
  prints[at] = record.print;
  signatures[at] = record.signature;
  images[at] = record.images;
  std::memcpy(arguments.data() + at * stride(), terms.data(), terms.size());
  return at;
}

}  // namespace rulemill::fingerprint
