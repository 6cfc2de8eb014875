#include "dedup/term_classes.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "dedup/gifts.h"
#include "execute/field.h"
#include "runtime/byte_lists.h"
#include "runtime/workers.h"

namespace rulemill::dedup {
namespace {

/// The pairs that a class makes, but for its symmetries.
std::uint64_t cost_of(const std::vector<TermId>& members) { return std::max<std::uint64_t>(1, members.size() - 1); }

std::uint64_t cost_of(const TermClasses& slice) {
  std::uint64_t cost = 0;
  for (const auto& members : slice.classes) cost += cost_of(members);
  return cost;
}

/// Collective: classes move from ranks that have more than their share of a slice. Fingerprints are spread by hash, but
/// some classes have thousands of members.
void balance(std::vector<TermClasses>& slices, const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::uint64_t> mine;
  for (const TermClasses& slice : slices) mine.push_back(cost_of(slice));
  std::vector<std::vector<std::uint64_t>> costs;  // by rank, then slice
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(mine)))
    costs.push_back(runtime::values_of<std::uint64_t>(bytes));
  std::vector<runtime::Bytes> outgoing(ranks);
  for (std::size_t s = 0; s < slices.size(); ++s) {
    std::vector<std::uint64_t> here;
    for (const auto& of_rank : costs) here.push_back(of_rank[s]);
    const std::vector<std::uint64_t> given = gifts(here, static_cast<std::size_t>(communicator.rank()));
    auto& classes = slices[s].classes;
    if (std::ranges::any_of(given, [](std::uint64_t cost) { return cost > 0; })) {
      std::ranges::stable_sort(classes, std::greater{}, &std::vector<TermId>::size);
    }
    for (std::size_t to = 0; to < ranks; ++to) {
      for (std::uint64_t left = given[to]; !classes.empty() && cost_of(classes.back()) <= left; classes.pop_back()) {
        runtime::append_value(outgoing[to], std::uint64_t{s});
        runtime::append_list(outgoing[to], classes.back());
        left -= cost_of(classes.back());
      }
    }
  }
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (runtime::ByteView view = bytes; !view.empty();) {
      auto& classes = slices.at(runtime::take_value<std::uint64_t>(view)).classes;
      classes.push_back(runtime::take_list<TermId>(view));
    }
  }
}

}  // namespace

std::vector<TermClasses> find_classes(const TermRows& rows, std::uint64_t part, std::uint64_t parts,
                                      std::uint64_t slices, const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<FingerprintRecord> records = rows.records(part, parts);
  runtime::require_going_on("join", communicator);
  if (ranks > 1) {
    std::vector<runtime::Bytes> outgoing(ranks);
    for (const FingerprintRecord& record : records) {
      // The smallest of several hashes has a small high word; the low one is even.
      const auto to = static_cast<std::size_t>((record.low >> 32) * ranks >> 32);
      runtime::append_value(outgoing[to], record);
    }
    records.clear();
    for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
      const auto received = runtime::values_of<FingerprintRecord>(bytes);
      records.insert(records.end(), received.begin(), received.end());
    }
  }
  std::ranges::sort(records, {}, [](const FingerprintRecord& r) { return std::tuple(r.high, r.low, r.term); });

  std::size_t levels = 0;
  while (rows.first_of_level(levels) < rows.rows()) ++levels;
  std::vector<TermClasses> result(slices);
  for (TermClasses& slice : result) {
    slice.new_values.resize(levels);
    slice.by_type.resize(rows.dictionary().types.size());
  }
  for (std::size_t begin = 0; begin < records.size();) {
    TermClasses& slice = result[slice_of(records[begin].low, slices)];
    std::size_t end = begin;
    for (; end < records.size() && records[end].high == records[begin].high && records[end].low == records[begin].low;
         ++end) {
      slice.by_type[records[end].type] += records[end].values;
    }
    slice.new_values[rows.level(records[begin].term)] += records[begin].values;
    if (end - begin > 1 || records[begin].symmetric) {
      auto& members = slice.classes.emplace_back();
      for (std::size_t i = begin; i < end; ++i) members.push_back(records[i].term);
    }
    begin = end;
  }
  if (ranks > 1) balance(result, communicator);
  return result;
}

double expected_false(const std::vector<std::uint64_t>& by_type, const std::vector<std::uint32_t>& degrees) {
  double expected = 0;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    const double n = static_cast<double>(by_type[type]);
    const double chance = degrees[type] / static_cast<double>(execute::prime);
    expected += n * (n - 1) / 2 * (chance * chance + std::ldexp(1.0, -62));
  }
  return expected;
}

}  // namespace rulemill::dedup
