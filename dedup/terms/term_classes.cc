#include "dedup/terms/term_classes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "execute/values/field.h"
#include "runtime/mpi/parallel_sort.h"
#include "runtime/text/byte_lists.h"

namespace rulemill::dedup {

// Concatenates the surpluses of all ranks, and the deficits of all ranks; a surplus is sent to the deficits at the same
// offset.
std::vector<std::uint64_t> transfers_from(const std::vector<std::uint64_t>& costs, std::size_t rank) {
  std::uint64_t total = 0;
  for (const std::uint64_t cost : costs) total += cost;
  const std::uint64_t share = (total + costs.size() - 1) / costs.size();
  const auto surplus = [&](std::size_t r) { return costs[r] > share ? costs[r] - share : 0; };
  std::uint64_t offset = 0;  // surplus of the ranks before this one
  for (std::size_t r = 0; r < rank; ++r) offset += surplus(r);
  std::vector<std::uint64_t> transfers(costs.size(), 0);
  std::uint64_t deficit = 0;  // of the ranks up to r
  for (std::size_t r = 0; r < costs.size(); ++r) {
    const std::uint64_t begin = std::max(deficit, offset);
    deficit += costs[r] < share ? share - costs[r] : 0;
    const std::uint64_t end = std::min(deficit, offset + surplus(rank));
    transfers[r] = end > begin ? end - begin : 0;
  }
  return transfers;
}

namespace {

/// The number of pairs of a class, without its symmetries.
std::uint64_t cost_of(const std::vector<TermId>& members) { return std::max<std::uint64_t>(1, members.size() - 1); }

std::uint64_t cost_of(const TermClasses& bucket) {
  std::uint64_t cost = 0;
  for (const auto& members : bucket.classes) cost += cost_of(members);
  return cost;
}

/// Collective. Moves classes to ranks with less than the average cost of a bucket. Fingerprints are distributed evenly
/// by hash, but some classes have thousands of members.
void rebalance(std::vector<TermClasses>& buckets, const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::uint64_t> mine;
  for (const TermClasses& bucket : buckets) mine.push_back(cost_of(bucket));
  std::vector<std::vector<std::uint64_t>> costs;  // by rank, then bucket
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(mine)))
    costs.push_back(runtime::values_of<std::uint64_t>(bytes));
  std::vector<runtime::Bytes> outgoing(ranks);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    std::vector<std::uint64_t> bucket_costs;
    for (const auto& of_rank : costs) bucket_costs.push_back(of_rank[b]);
    const auto transfers = transfers_from(bucket_costs, static_cast<std::size_t>(communicator.rank()));
    auto& classes = buckets[b].classes;
    if (std::ranges::any_of(transfers, [](std::uint64_t cost) { return cost > 0; }))
      std::ranges::stable_sort(classes, std::greater{}, &std::vector<TermId>::size);
    for (std::size_t to = 0; to < ranks; ++to) {
      for (std::uint64_t left = transfers[to]; !classes.empty() && cost_of(classes.back()) <= left;
           classes.pop_back()) {
        runtime::append_value(outgoing[to], std::uint64_t{b});
        runtime::append_list(outgoing[to], classes.back());
        left -= cost_of(classes.back());
      }
    }
  }
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (runtime::ByteView view = bytes; !view.empty();) {
      auto& classes = buckets.at(runtime::take_value<std::uint64_t>(view)).classes;
      classes.push_back(runtime::take_list<TermId>(view));
    }
  }
}

}  // namespace

std::vector<TermClasses> find_classes(const TermRows& rows, std::uint64_t partition, std::uint64_t partitions,
                                      std::uint64_t buckets, const runtime::ThreadPool& thread_pool,
                                      const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<FingerprintRecord> records = rows.records(partition, partitions);
  runtime::throw_if_any_rank_interrupted("join", communicator);
  if (ranks > 1) {
    std::vector<runtime::Bytes> outgoing(ranks);
    for (const FingerprintRecord& record : records) {
      // The high word of a minimum of several hashes is small; the low word is uniformly distributed.
      const auto to = static_cast<std::size_t>((record.low >> 32) * ranks >> 32);
      runtime::append_value(outgoing[to], record);
    }
    records.clear();
    for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
      const auto received = runtime::values_of<FingerprintRecord>(bytes);
      records.insert(records.end(), received.begin(), received.end());
    }
  }
  runtime::parallel_sort(records, thread_pool, [](const FingerprintRecord& a, const FingerprintRecord& b) {
    return std::tie(a.high, a.low, a.term) < std::tie(b.high, b.low, b.term);
  });

  std::size_t levels = 0;
  while (rows.first_of_level(levels) < rows.rows()) ++levels;
  std::vector<TermClasses> result(buckets);
  for (TermClasses& bucket : result) {
    bucket.new_classes.resize(levels);
    bucket.by_type.resize(rows.dictionary().types.size());
  }
  for (std::size_t begin = 0; begin < records.size();) {
    TermClasses& bucket = result[bucket_of(records[begin].low, buckets)];
    std::size_t end = begin;
    for (; end < records.size() && records[end].high == records[begin].high && records[end].low == records[begin].low;
         ++end)
      bucket.by_type[records[end].type] += records[end].distinct_values;
    bucket.new_classes[rows.level(records[begin].term)] += records[begin].distinct_values;
    if (end - begin > 1 || records[begin].symmetric) {
      auto& members = bucket.classes.emplace_back();
      for (std::size_t i = begin; i < end; ++i) members.push_back(records[i].term);
    }
    begin = end;
  }
  if (ranks > 1) rebalance(result, communicator);
  return result;
}

double expected_false_candidates(const std::vector<std::uint64_t>& by_type, const std::vector<std::uint32_t>& degrees) {
  double expected = 0;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    const double n = static_cast<double>(by_type[type]);
    const double chance = degrees[type] / static_cast<double>(execute::prime);
    expected += n * (n - 1) / 2 * (chance * chance + std::ldexp(1.0, -62));
  }
  return expected;
}

}  // namespace rulemill::dedup
