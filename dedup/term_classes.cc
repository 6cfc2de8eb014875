#include "dedup/term_classes.h"

#include <algorithm>
#include <cmath>

#include "fingerprint/field.h"

namespace rulemill::dedup {

TermClasses find_classes(const TermRows& rows, std::uint64_t part, std::uint64_t parts,
                         const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<FingerprintRecord> records = rows.records(part, parts);
  TermClasses result;
  result.by_type.resize(rows.dictionary().types.size(), 0);
  for (const FingerprintRecord& record : records) result.by_type[record.type] += record.values;
  result.by_type = communicator.sum(result.by_type);

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
  result.new_values.resize(levels);
  for (std::size_t begin = 0; begin < records.size();) {
    std::size_t end = begin + 1;
    while (end < records.size() && records[end].high == records[begin].high && records[end].low == records[begin].low)
      ++end;
    result.new_values[rows.level(records[begin].term)] += records[begin].values;
    if (end - begin > 1 || records[begin].symmetric) {
      auto& members = result.classes.emplace_back();
      for (std::size_t i = begin; i < end; ++i) members.push_back(records[i].term);
    }
    begin = end;
  }
  result.new_values = communicator.sum(result.new_values);
  return result;
}

double expected_false(const std::vector<std::uint64_t>& by_type, const std::vector<std::uint32_t>& degrees) {
  double expected = 0;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    const double n = static_cast<double>(by_type[type]);
    const double chance = degrees[type] / static_cast<double>(fingerprint::prime);
    expected += n * (n - 1) / 2 * (chance * chance + std::ldexp(1.0, -62));
  }
  return expected;
}

}  // namespace rulemill::dedup
