#include "dedup/candidates/candidate_text.h"

#include <algorithm>
#include <map>

#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"

namespace rulemill::dedup {
namespace {

std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c))) break;
    letters.push_back(c);
  }
  return letters.empty() ? "t" : letters;
}

}  // namespace

algebra::Candidate to_candidate(const CandidateGraph& graph, const Vocabulary& vocabulary,
                                const std::vector<std::string>& variable_names,
                                const std::vector<std::uint16_t>& variable_types, algebra::TermBank& bank) {
  std::map<std::string, int> used;
  algebra::Candidate candidate;
  std::vector<algebra::TermId> leaves;
  for (const std::uint16_t leaf : graph.leaves) {
    const auto same = std::ranges::find(variable_types, leaf);
    const std::string letters =
        same == variable_types.end()
            ? "t"
            : letters_of(variable_names[static_cast<std::size_t>(same - variable_types.begin())]);
    const enumerate::Dims& shape = vocabulary.types[leaf];
    leaves.push_back(
        bank.variable(letters + std::to_string(++used[letters]), static_cast<std::uint32_t>(shape.size())));
    candidate.rule.variables.push_back(leaves.back());
    candidate.rule.shapes.emplace_back(shape.begin(), shape.end());
    candidate.example.push_back(shape);
  }
  std::vector<algebra::NodeId> nodes;
  const auto term = [&](GraphTerm t) { return t.is_leaf ? leaves[t.index] : bank.output(nodes[t.index], t.output); };
  for (const GraphNode& node : graph.nodes) {
    std::vector<algebra::TermId> arguments;
    for (const GraphTerm t : node.arguments) arguments.push_back(term(t));
    const std::vector<algebra::Poly> sizes(node.sizes.begin(), node.sizes.end());
    nodes.push_back(bank.apply(vocabulary.instances[node.instance]->id, arguments, sizes));
  }
  for (const GraphTerm t : graph.source) candidate.rule.source.push_back(term(t));
  for (const GraphTerm t : graph.target) candidate.rule.target.push_back(term(t));
  return candidate;
}

CandidateLine candidate_line(const CandidateGraph& graph, const Vocabulary& vocabulary,
                             const std::vector<std::string>& variable_names,
                             const std::vector<std::uint16_t>& variable_types) {
  algebra::TermBank bank(*vocabulary.library);
  const algebra::Symbols symbols;
  algebra::Candidate candidate = to_candidate(graph, vocabulary, variable_names, variable_types, bank);
  candidate.rule.id = unnumbered_candidate;
  return {static_cast<std::uint32_t>(graph.size(graph.source) + graph.size(graph.target)),
          algebra::to_string(candidate.rule, bank, symbols)};
}

std::string candidates_text(std::vector<CandidateLine> lines) {
  std::ranges::sort(lines);
  std::string result;
  const std::string head = "rule " + std::string(unnumbered_candidate);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    RM_CHECK(lines[i].text.starts_with(head), "a rule's text must begin with its name");
    result += head + std::to_string(i + 1) + lines[i].text.substr(head.size()) + "\n";
  }
  return result;
}

}  // namespace rulemill::dedup
