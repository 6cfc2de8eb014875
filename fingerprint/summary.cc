#include "fingerprint/summary.h"

#include "runtime/error.h"
#include "runtime/program_digest.h"

namespace rulemill::fingerprint {

runtime::Attributes to_attributes(const Summary& summary) {
  runtime::Attributes figures;
  figures["max_ops"] = std::uint64_t{summary.max_ops};
  for (std::size_t level = 0; level < summary.levels.size(); ++level) {
    const std::string prefix = "level_" + std::to_string(level) + "_";
    figures[prefix + "nodes"] = summary.levels[level].nodes;
    figures[prefix + "terms"] = summary.levels[level].terms;
    figures[prefix + "new_values"] = summary.levels[level].new_values;
    figures[prefix + "products"] = summary.levels[level].products;
    figures[prefix + "orbits"] = summary.levels[level].orbits;
    figures[prefix + "rows"] = summary.levels[level].rows;
  }
  for (std::size_t k = 1; k < summary.graphs.size(); ++k) figures["graphs_" + std::to_string(k)] = summary.graphs[k];
  figures["terms"] = summary.terms;
  figures["rows"] = summary.rows;
  figures["shards"] = summary.shards;
  figures["shard_bytes"] = summary.shard_bytes;
  figures["value_bytes"] = summary.value_bytes;
  figures["backend"] = summary.backend;
  figures["seconds"] = summary.seconds;
  figures[program_figure] = runtime::program_digest();
  return figures;
}

Summary summary_of(const runtime::Attributes& figures) {
  const auto number = [&](const std::string& name) {
    const auto found = figures.find(name);
    const auto* value = found == figures.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
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
  for (std::uint32_t k = 1; figures.contains("graphs_" + std::to_string(k)); ++k) {
    summary.graphs.push_back(number("graphs_" + std::to_string(k)));
  }
  summary.terms = number("terms");
  summary.rows = number("rows");
  std::uint64_t rows = 0;
  for (const LevelFigures& level : summary.levels) rows += level.rows;
  if (rows != summary.rows || summary.max_ops == 0) {
    throw runtime::InputError("manifest.json", "the counts of stage fingerprint do not agree with each other");
  }
  summary.shards = number("shards");
  summary.shard_bytes = number("shard_bytes");
  summary.value_bytes = number("value_bytes");
  if (const auto found = figures.find("backend"); found != figures.end()) {
    if (const auto* text = std::get_if<std::string>(&found->second)) summary.backend = *text;
  }
  if (const auto found = figures.find("seconds"); found != figures.end()) {
    if (const auto* seconds = std::get_if<double>(&found->second)) summary.seconds = *seconds;
  }
  return summary;
}

}  // namespace rulemill::fingerprint
