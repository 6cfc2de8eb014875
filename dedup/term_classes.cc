#include "dedup/term_classes.h"

#include <algorithm>
#include <cmath>

#include "fingerprint/field.h"

namespace rulemill::dedup {

TermClasses find_classes(const TermRows& rows, const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<FingerprintRecord> records = rows.records();
  std::vector<std::uint64_t> by_type(rows.dictionary().types.size(), 0);
  for (const FingerprintRecord& record : records) ++by_type[record.type];
  by_type = communicator.sum(by_type);

  if (ranks > 1) {
    std::vector<runtime::Bytes> outgoing(ranks);
    for (const FingerprintRecord& record : records) {
      // The prefix as a fraction of all fingerprints.
      const auto to = static_cast<std::size_t>((record.high >> 32) * ranks >> 32);
      runtime::append_value(outgoing[to], record);
    }
    records.clear();
    for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
      const auto received = runtime::values_of<FingerprintRecord>(bytes);
      records.insert(records.end(), received.begin(), received.end());
    }
  }
  std::ranges::sort(records, {}, [](const FingerprintRecord& r) { return std::tuple(r.high, r.low, r.term); });

  TermClasses result;
  std::size_t levels = 0;
  while (rows.first_of_level(levels) < rows.terms()) ++levels;
  result.new_values.resize(levels);
  for (std::size_t begin = 0; begin < records.size();) {
    std::size_t end = begin + 1;
    while (end < records.size() && records[end].high == records[begin].high && records[end].low == records[begin].low)
      ++end;
    ++result.new_values[rows.level(records[begin].term)];
    if (end - begin > 1) {
      auto& members = result.classes.emplace_back();
      for (std::size_t i = begin; i < end; ++i) members.push_back(records[i].term);
    }
    begin = end;
  }
  result.new_values = communicator.sum(result.new_values);
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    const double n = static_cast<double>(by_type[type]);
    const double chance = rows.dictionary().degrees[type] / static_cast<double>(fingerprint::prime);
    result.expected_false += n * (n - 1) / 2 * (chance * chance + std::ldexp(1.0, -62));
  }
  return result;
}

}  // namespace rulemill::dedup
