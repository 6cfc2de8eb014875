#include "dedup/unite.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/rule_text.h"
#include "dedup/candidate_text.h"
#include "dedup/join.h"
#include "runtime/atomic_file.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/manifest.h"

namespace rulemill::dedup {
namespace {

/// Both sides, whichever comes first, and nothing of sizes.
std::string sides_of(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  algebra::Rule plain;
  plain.variables = rule.variables;
  plain.source = rule.source;
  plain.target = rule.target;
  const std::string forward = algebra::to_string(plain, bank, symbols);
  std::swap(plain.source, plain.target);
  return std::min(forward, algebra::to_string(plain, bank, symbols));
}

/// What is core among its profile's rules comes first: it is the simplest way to say so in the words of the profile.
/// Then by size; of one size, those of fewer operator instances first. A law of two operators would follow from laws of
/// a third one, too (of a sum from those of differences), and a search is better off with the law.
CandidateLine line_of(algebra::Rule rule, const std::set<std::string>& core, const algebra::TermBank& bank,
                      const algebra::Symbols& symbols) {
  constexpr std::size_t most_instances = 64, most_nodes = 64;
  std::set<algebra::InstanceId> instances;
  std::size_t nodes = core.contains(sides_of(rule, bank, symbols)) ? 0 : most_nodes;
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
    std::set<std::string> core;
    for (const algebra::RuleRecord& record :
         algebra::load_rule_set(folder / "rules.rmdb", library, bank, symbols).rules) {
      if (record.rule.tier == algebra::Tier::Core) core.insert(sides_of(record.rule, bank, symbols));
    }
    const std::string origin = (folder / candidates_file).string();
    for (const algebra::Rule& rule : algebra::parse_rules(text, origin, library, bank, symbols)) {
      lines.push_back(line_of(rule, core, bank, symbols));
    }
  }
  // Of one text, the first place.
  std::ranges::sort(lines, [](const CandidateLine& a, const CandidateLine& b) {
    return std::tie(a.text, a.size) < std::tie(b.text, b.size);
  });
  const auto same = [](const CandidateLine& a, const CandidateLine& b) { return a.text == b.text; };
  lines.erase(std::unique(lines.begin(), lines.end(), same), lines.end());
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
