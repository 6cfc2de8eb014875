#include "dedup/candidate_text.h"

#include <algorithm>
#include <map>

#include "algebra/text.h"

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

algebra::Candidate to_candidate(const CandidateGraph& graph, const Vocabulary& words,
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
    const enumerate::Dims& shape = words.types[leaf];
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
    nodes.push_back(bank.apply(words.instances[node.instance]->id, arguments, sizes));
  }
  for (const GraphTerm t : graph.source) candidate.rule.source.push_back(term(t));
  for (const GraphTerm t : graph.target) candidate.rule.target.push_back(term(t));
  return candidate;
}

std::string candidates_text(const std::vector<CandidateGraph>& graphs, const Vocabulary& words,
                            const std::vector<std::string>& variable_names,
                            const std::vector<std::uint16_t>& variable_types, const algebra::Library& library) {
  struct Line {
    std::size_t size;
    std::string sides;
    std::size_t graph;
  };
  algebra::Symbols symbols;
  std::vector<Line> lines;
  const auto text = [&](const CandidateGraph& graph, const std::string& id) {
    algebra::TermBank bank(library);
    algebra::Candidate candidate = to_candidate(graph, words, variable_names, variable_types, bank);
    candidate.rule.id = id;
    return algebra::to_string(candidate.rule, bank, symbols);
  };
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    lines.push_back({graphs[g].size(graphs[g].source) + graphs[g].size(graphs[g].target), text(graphs[g], "c"), g});
  }
  std::ranges::sort(lines, {}, [](const Line& line) { return std::tie(line.size, line.sides); });
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i)
    result += text(graphs[lines[i].graph], "c" + std::to_string(i + 1)) + "\n";
  return result;
}

}  // namespace rulemill::dedup
