#include "dedup/candidates/symbolic_sizes.h"

#include "algebra/terms/rule_text.h"
#include "algebra/terms/split_positions.h"
#include "algebra/terms/typing.h"
#include "dedup/candidates/candidate_text.h"

namespace rulemill::dedup {
namespace {

/// A candidate with its sizes, for a BoundarySearch. Records the outcomes of comparisons.
class SizedGraph {
 public:
  using Node = std::uint8_t;
  using Value = std::int64_t;

  SizedGraph(const CandidateGraph& graph, const Vocabulary& vocabulary) : graph_(graph), vocabulary_(vocabulary) {}

  const algebra::OperatorInstance& instance(Node node) const {
    return *vocabulary_.instances[graph_.nodes[node].instance];
  }
  std::optional<std::pair<Node, std::uint32_t>> producer(Node node, std::size_t argument) const {
    const GraphTerm term = graph_.nodes[node].arguments[argument];
    if (term.is_leaf) return std::nullopt;
    return std::pair(term.index, std::uint32_t{term.output});
  }
  /// A slot has the size of the first input dimension that it is, or that of a size parameter.
  Value slot(Node node, std::uint32_t slot) const {
    const algebra::OperatorInstance& instance = this->instance(node);
    if (slot >= instance.first_size_parameter) return graph_.nodes[node].sizes[slot - instance.first_size_parameter];
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      const auto& formal = instance.inputs[i];
      for (std::size_t d = 0; d < formal.size(); ++d) {
        if (formal[d]->kind == algebra::IndexExpr::Kind::Size && formal[d]->slot == slot)
          return vocabulary_.types[graph_.type(graph_.nodes[node].arguments[i])][d];
      }
    }
    throw runtime::Error(instance.name, "has a size that no input binds");
  }
  bool is_positive(Value size) { return record(size > 0); }
  bool equals(Value a, Value b) { return record(a == b); }

  std::string outcomes;

 private:
  bool record(bool outcome) {
    outcomes.push_back(outcome ? '1' : '0');
    return outcome;
  }

  const CandidateGraph& graph_;
  const Vocabulary& vocabulary_;
};

}  // namespace

std::string size_comparisons(const CandidateGraph& graph, const Vocabulary& vocabulary) {
  SizedGraph sized(graph, vocabulary);
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::uint32_t p = 0; p < graph.nodes[n].sizes.size(); ++p) {
      const std::int64_t size = graph.nodes[n].sizes[p];
      algebra::find_boundary(sized, n, sized.instance(n).first_size_parameter + p,
                             [&](std::int64_t position) { return sized.equals(position, size); });
    }
  }
  return std::move(sized.outcomes);
}

std::string symbolic_text(const CandidateGraph& graph, const Vocabulary& vocabulary) {
  algebra::TermBank bank(*vocabulary.library);
  algebra::Symbols symbols;
  algebra::Candidate candidate = to_candidate(graph, vocabulary, {}, {}, bank);
  candidate.rule.shapes.clear();
  const auto typed = algebra::try_typing(candidate.rule, bank, symbols, &candidate.example);
  return typed ? algebra::to_string(typed->rule, bank, symbols) : "";
}

}  // namespace rulemill::dedup
