// Completes level last − 1: canonical terms only, without values. Ranks share the evaluation.
#include <algorithm>
#include <unordered_set>

#include "fingerprint/level_runner.h"
#include "runtime/text/byte_lists.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;
using execute::Fingerprint;

void LevelRunner::exchange(EvaluatedRows& rows, enumerate::CanonicalNodes& nodes) const {
  runtime::Bytes mine;
  for (std::size_t row = 0; row < rows.signatures.size(); ++row) {
    if (rows.signatures[row] == enumerate::no_id) continue;
    rows.append(row, mine);
    runtime::append_value(mine, static_cast<std::uint32_t>(nodes.stabilizers[row].size()));
    runtime::append_bytes(mine, runtime::bytes_of(nodes.stabilizers[row]));
  }
  for (const runtime::Bytes& received : communicator_.all_gather(mine)) {
    for (runtime::ByteView rest = received; !rest.empty();) {
      const std::size_t row = rows.take(rest);
      const auto fixing = runtime::take_value<std::uint32_t>(rest);
      nodes.stabilizers[row] =
          runtime::values_of<std::uint32_t>(runtime::take_bytes(rest, fixing * sizeof(std::uint32_t)));
    }
  }
}

std::uint64_t LevelRunner::evaluate_canonical(std::uint64_t count, EvaluatedRows& rows,
                                              enumerate::CanonicalNodes& nodes) const {
  const OrbitEvaluator::Receiver set_rows = [&](const Orbit& orbit) {
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) {
      rows.set(orbit, o);
      for (std::uint32_t r = 1; r < orbit.image_of.size(); ++r) {
        const std::uint32_t image = orbit.image_of[r];
        const bool same = image == 0 || (!options_.all_terms &&
                                         orbit.fingerprints[image * orbit.outputs + o] == orbit.fingerprints[o]);
        if (same) nodes.stabilizers[orbit.row + o].push_back(r);
      }
    }
  };
  std::atomic<std::uint64_t> products{0};
  distribute((count + rows_per_batch - 1) / rows_per_batch, [&](std::size_t c) {
    const std::uint64_t first = c * rows_per_batch;
    products += evaluate(first, std::min(count, first + rows_per_batch), set_rows);
  });
  return products;
}

void LevelRunner::complete_canonical_level(std::uint64_t count) {
  enumerate::CanonicalNodes nodes;
  EvaluatedRows rows;
  constexpr std::uint64_t bytes_per_row = 3 * sizeof(OrbitFingerprint) + sizeof(std::vector<std::uint32_t>) + 64;
  check_memory(count * (bytes_per_row + enumerator_.arity_stride() * sizeof(TermId)), "the rows");
  rows.resize(0, count, enumerator_.arity_stride());
  nodes.stabilizers.resize(count);
  const std::uint64_t products = evaluate_canonical(count, rows, nodes);
  if (communicator_.size() > 1) exchange(rows, nodes);
  LevelStatistics& statistics = statistics_.back();
  statistics.products = communicator_.sum(products);
  std::unordered_set<Fingerprint, FingerprintHash> known;
  known.reserve(fingerprints_.size() + count);
  for (const OrbitFingerprint& fingerprint : fingerprints_) known.insert(fingerprint.minimum);
  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  orbit_sizes_.assign(enumerator_.terms().nodes(), 0);
  for (std::uint64_t row = 0; row < count; ++row) {
    const bool is_new = known.insert(rows.fingerprints[row].minimum).second;
    nodes.is_new.push_back(is_new);
    statistics.new_classes += is_new ? rows.fingerprints[row].distinct_values : 0;
    statistics.terms += rows.orbit_sizes[row];
    fingerprints_.push_back(rows.fingerprints[row]);
    orbits_.push_back(static_cast<TermId>(first_term + row));
  }
  nodes.signatures = std::move(rows.signatures);
  nodes.arguments = std::move(rows.arguments);
  enumerator_.end_level(nodes, options_.all_terms);
  for (std::uint64_t row = 0; row < count; row += enumerator_.signatures()[nodes.signatures[row]].outputs.size()) {
    orbit_sizes_.push_back(rows.orbit_sizes[row]);
    statistics.nodes += rows.orbit_sizes[row];
  }
}

}  // namespace rulemill::fingerprint
