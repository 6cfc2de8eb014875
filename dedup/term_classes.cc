#include "dedup/term_classes.h"

#include <algorithm>
#include <cmath>

#include "execute/field.h"
#include "runtime/workers.h"

namespace rulemill::dedup {

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
