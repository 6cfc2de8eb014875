#include "dedup/unite.h"

#include <algorithm>
#include <set>

#include "algebra/terms/rule_text.h"
#include "dedup/candidate_text.h"
#include "dedup/join.h"
#include "runtime/atomic_file.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/manifest.h"

namespace rulemill::dedup {
namespace {

/// By size; of one size, those of fewer operator instances come first. What a rule of two operators says would follow
/// from rules of a third one, too (a sum from differences), and a search is better off with the rule.
CandidateLine line_of(algebra::Rule rule, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  constexpr std::size_t most_instances = 64;
  std::set<algebra::InstanceId> instances;
  std::size_t nodes = 0;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side)) {
      instances.insert(bank.node(node).instance);
      ++nodes;
    }
  }
  rule.id = unnumbered_candidate;
  return {static_cast<std::uint32_t>(nodes * most_instances + std::min(instances.size(), most_instances - 1)),
          algebra::to_string(rule, bank, symbols)};
}

}  // namespace

std::uint64_t unite(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& out,
                    algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::vector<CandidateLine> lines;
  for (const std::filesystem::path& folder : folders) {
    const std::string text = runtime::read_listed(runtime::Manifest(folder), candidates_file);
    const std::string origin = (folder / candidates_file).string();
    for (const algebra::Rule& rule : algebra::parse_rules(text, origin, library, bank, symbols)) {
      lines.push_back(line_of(rule, bank, symbols));
    }
  }
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  const std::uint64_t count = lines.size();
  const std::string text = candidates_text(std::move(lines));
  runtime::Manifest manifest(out);
  manifest.begin(unite_stage, runtime::to_hex(runtime::hash64(runtime::bytes_of(text))));
  runtime::write_file(out / candidates_file, text);
  manifest.add(runtime::entry_of(candidates_file, unite_stage, runtime::bytes_of(text)));
  manifest.finish(unite_stage, {{"candidates", count}});
  return count;
}

}  // namespace rulemill::dedup
