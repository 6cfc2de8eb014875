// Completes the last level but one: its canonical terms alone, shared by the ranks, without values.
#include <algorithm>
#include <unordered_set>

#include "fingerprint/level_runner.h"
#include "runtime/byte_lists.h"
#include "runtime/error.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;
using execute::Fingerprint;

namespace {

/// A row as ranks tell each other of it; its arguments and the renamings that fix it follow.
struct RowRecord {
  OrbitPrint print;
  std::uint64_t row = 0;
  SignatureId signature = 0;
  std::uint32_t images = 0;
  std::uint32_t fixing = 0;
  std::uint32_t unused = 0;
};

}  // namespace

void LevelRunner::exchange(std::uint64_t count, RowRange& rows, enumerate::CanonicalNodes& nodes) const {
  const std::uint32_t stride = enumerator_.arity_stride();
  runtime::Bytes mine;
  for (std::uint64_t row = 0; row < count; ++row) {
    if (rows.signatures[row] == enumerate::no_id) continue;
    runtime::append_value(mine, RowRecord{rows.prints[row], row, rows.signatures[row], rows.images[row],
                                          static_cast<std::uint32_t>(nodes.fixing[row].size()), 0});
    runtime::append_bytes(mine, runtime::bytes_of(std::span(rows.arguments).subspan(row * stride, stride)));
    runtime::append_bytes(mine, runtime::bytes_of(nodes.fixing[row]));
  }
  for (const runtime::Bytes& part : communicator_.all_gather(mine)) {
    for (runtime::ByteView rest = part; !rest.empty();) {
      const auto record = runtime::take_value<RowRecord>(rest);
      rows.prints[record.row] = record.print;
      rows.signatures[record.row] = record.signature;
      rows.images[record.row] = record.images;
      const auto arguments = runtime::values_of<TermId>(runtime::take_bytes(rest, stride * sizeof(TermId)));
      std::ranges::copy(arguments, rows.arguments.begin() + static_cast<std::ptrdiff_t>(record.row * stride));
      nodes.fixing[record.row] =
          runtime::values_of<std::uint32_t>(runtime::take_bytes(rest, record.fixing * sizeof(std::uint32_t)));
    }
  }
}

std::uint64_t LevelRunner::evaluate_canonical(std::uint64_t count, RowRange& rows,
                                              enumerate::CanonicalNodes& nodes) const {
  const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) {
      rows.set(orbit, o);
      for (std::uint32_t r = 1; r < orbit.image_of.size(); ++r) {
        const std::uint32_t image = orbit.image_of[r];
        const bool same =
            image == 0 || (!options_.all_terms && orbit.prints[image * orbit.outputs + o] == orbit.prints[o]);
        if (same) nodes.fixing[orbit.row + o].push_back(r);
      }
    }
  };
  std::atomic<std::uint64_t> products{0};
  const std::size_t chunks = (count + rows_at_once - 1) / rows_at_once;
  const auto ranks = static_cast<std::size_t>(communicator_.size()),
             rank = static_cast<std::size_t>(communicator_.rank());
  const std::size_t first_chunk = chunks * rank / ranks, last_chunk = chunks * (rank + 1) / ranks;
  workers_.run_unless_stopped(last_chunk - first_chunk, [&](std::size_t own, unsigned) {
    const std::uint64_t first = (first_chunk + own) * rows_at_once;
    products += evaluate(first, std::min(count, first + rows_at_once), note);
  });
  return products;
}

void LevelRunner::complete_canonical(std::uint64_t count) {
  enumerate::CanonicalNodes nodes;
  RowRange rows;
  constexpr std::uint64_t bytes_a_row = 3 * sizeof(OrbitPrint) + sizeof(std::vector<std::uint32_t>) + 64;
  check_memory(count * (bytes_a_row + enumerator_.arity_stride() * sizeof(TermId)), "the rows");
  rows.resize(0, count, enumerator_.arity_stride());
  nodes.fixing.resize(count);
  const std::uint64_t products = evaluate_canonical(count, rows, nodes);
  runtime::require_going_on(fingerprint_stage, communicator_);
  if (communicator_.size() > 1) exchange(count, rows, nodes);
  LevelFigures& figures = figures_.back();
  figures.products = communicator_.sum(products);
  std::unordered_set<Fingerprint, FingerprintHash> known;
  known.reserve(prints_.size() + count);
  for (const OrbitPrint& print : prints_) known.insert(print.print);
  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  images_.assign(enumerator_.terms().nodes(), 0);
  for (std::uint64_t row = 0; row < count; ++row) {
    const bool is_new = known.insert(rows.prints[row].print).second;
    nodes.is_new.push_back(is_new);
    figures.new_values += is_new ? rows.prints[row].values : 0;
    figures.terms += rows.images[row];
    prints_.push_back(rows.prints[row]);
    orbits_.push_back(static_cast<TermId>(first_term + row));
  }
  nodes.signatures = std::move(rows.signatures);
  nodes.arguments = std::move(rows.arguments);
  enumerator_.end_level(nodes, options_.all_terms);
  for (std::uint64_t row = 0; row < count; row += enumerator_.signatures()[nodes.signatures[row]].outputs.size()) {
    images_.push_back(rows.images[row]);
    figures.nodes += rows.images[row];
  }
}

}  // namespace rulemill::fingerprint
