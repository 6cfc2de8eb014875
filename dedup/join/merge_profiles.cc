#include "dedup/join/merge_profiles.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/rule_text.h"
#include "dedup/candidates/candidate_text.h"
#include "dedup/join/join.h"
#include "runtime/files/file_integrity.h"
#include "runtime/files/stage.h"
#include "runtime/text/hash.h"

namespace rulemill::dedup {
namespace {

/// Returns a text of both sides without sizes that is independent of their order.
std::string sides_of(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  algebra::Rule plain;
  plain.variables = rule.variables;
  plain.source = rule.source;
  plain.target = rule.target;
  const std::string forward = algebra::to_string(plain, bank, symbols);
  std::swap(plain.source, plain.target);
  return std::min(forward, algebra::to_string(plain, bank, symbols));
}

/// Orders candidates. Those of core rules come first: they are the simplest rules in terms of their profile. Then
/// candidates are ordered by size, and then by the number of operator instances. A rule about two operators may also
/// follow from rules about a third one (rules about sums from those about differences), but a search needs it.
CandidateLine line_of(algebra::Rule rule, const std::set<std::string>& core, const algebra::TermBank& bank,
                      const algebra::Symbols& symbols) {
  constexpr std::size_t max_instances = 64, max_nodes = 64;
  std::set<algebra::InstanceId> instances;
  std::size_t nodes = core.contains(sides_of(rule, bank, symbols)) ? 0 : max_nodes;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side)) {
      instances.insert(bank.node(node).instance);
      ++nodes;
    }
  }
  rule.id = unnumbered_candidate;
  return {static_cast<std::uint32_t>(nodes * max_instances + std::min(instances.size(), max_instances - 1)),
          algebra::to_string(rule, bank, symbols)};
}

}  // namespace

std::uint64_t merge_profiles(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& out,
                             algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::vector<CandidateLine> lines;
  for (const std::filesystem::path& folder : folders) {
    const std::string text = runtime::read_verified(runtime::Manifest(folder), candidates_file);
    std::set<std::string> core;
    for (const algebra::RuleRecord& record :
         algebra::load_rule_set(folder / "pruned.rmdb", library, bank, symbols).rules) {
      if (record.rule.tier == algebra::Tier::Core) core.insert(sides_of(record.rule, bank, symbols));
    }
    const std::string origin = (folder / candidates_file).string();
    for (const algebra::Rule& rule : algebra::parse_rules(text, origin, library, bank, symbols))
      lines.push_back(line_of(rule, core, bank, symbols));
  }
  // Of equal texts, the first in order is kept.
  std::ranges::sort(lines, [](const CandidateLine& a, const CandidateLine& b) {
    return std::tie(a.text, a.size) < std::tie(b.text, b.size);
  });
  const auto same = [](const CandidateLine& a, const CandidateLine& b) { return a.text == b.text; };
  lines.erase(std::unique(lines.begin(), lines.end(), same), lines.end());
  const std::uint64_t count = lines.size();
  const std::string text = candidates_text(std::move(lines));
  const auto self = runtime::Communicator::self();
  runtime::Stage stage(out, merge_stage, self);
  if (stage.begin(runtime::to_hex(runtime::hash64(runtime::bytes_of(text))), runtime::Stage::OldFiles::Discard))
    return count;
  stage.write(candidates_file, text);
  stage.finish({{"candidates", count}});
  return count;
}

}  // namespace rulemill::dedup
