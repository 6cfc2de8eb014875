#include "fingerprint/summary.h"

#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::fingerprint {

runtime::Attributes to_attributes(const Summary& summary) {
  runtime::Attributes statistics;
  statistics["max_ops"] = std::uint64_t{summary.max_ops};
  for (std::size_t level = 0; level < summary.levels.size(); ++level) {
    const std::string prefix = "level_" + std::to_string(level) + "_";
    statistics[prefix + "nodes"] = summary.levels[level].nodes;
    statistics[prefix + "terms"] = summary.levels[level].terms;
    statistics[prefix + "new_values"] = summary.levels[level].new_classes;
    statistics[prefix + "products"] = summary.levels[level].products;
    statistics[prefix + "orbits"] = summary.levels[level].orbits;
    statistics[prefix + "rows"] = summary.levels[level].rows;
  }
  for (std::size_t k = 1; k < summary.graphs.size(); ++k) statistics["graphs_" + std::to_string(k)] = summary.graphs[k];
  statistics["terms"] = summary.terms;
  statistics["rows"] = summary.rows;
  statistics["shards"] = summary.shards;
  statistics["shard_bytes"] = summary.shard_bytes;
  statistics["value_bytes"] = summary.value_bytes;
  statistics["backend"] = summary.backend;
  statistics["seconds"] = summary.seconds;
  statistics[program_attribute] = runtime::program_digest();
  return statistics;
}

Summary summary_of(const runtime::Attributes& statistics) {
  const auto number = [&](const std::string& name) {
    const auto found = statistics.find(name);
    const auto* value = found == statistics.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
    return value == nullptr ? std::uint64_t{0} : *value;
  };
  Summary summary;
  summary.already_done = true;
  summary.max_ops = static_cast<std::uint32_t>(number("max_ops"));
  for (std::uint32_t level = 0; level <= summary.max_ops; ++level) {
    const std::string prefix = "level_" + std::to_string(level) + "_";
    summary.levels.push_back({number(prefix + "nodes"), number(prefix + "terms"), number(prefix + "new_values"),
                              number(prefix + "products"), number(prefix + "orbits"), number(prefix + "rows")});
  }
  summary.graphs.push_back(0);
  for (std::uint32_t k = 1; statistics.contains("graphs_" + std::to_string(k)); ++k)
    summary.graphs.push_back(number("graphs_" + std::to_string(k)));
  summary.terms = number("terms");
  summary.rows = number("rows");
  std::uint64_t rows = 0;
  for (const LevelStatistics& level : summary.levels) rows += level.rows;
  if (rows != summary.rows || summary.max_ops == 0)
    throw runtime::InputError("manifest.json", "the counts of stage fingerprint do not agree with each other");
  summary.shards = number("shards");
  summary.shard_bytes = number("shard_bytes");
  summary.value_bytes = number("value_bytes");
  if (const auto found = statistics.find("backend"); found != statistics.end()) {
    if (const auto* text = std::get_if<std::string>(&found->second)) summary.backend = *text;
  }
  if (const auto found = statistics.find("seconds"); found != statistics.end()) {
    if (const auto* seconds = std::get_if<double>(&found->second)) summary.seconds = *seconds;
  }
  return summary;
}

}  // namespace rulemill::fingerprint
