#include "dedup/candidates/canonical.h"

#include <algorithm>
#include <set>

#include "runtime/text/hash.h"

namespace rulemill::dedup {
namespace {

constexpr std::size_t max_ties = 6;

void put(std::string& key, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) key.push_back(static_cast<char>(value | 0x80));
  key.push_back(static_cast<char>(value));
}

/// Returns one bit for each exact division in the instance's conditions: whether its quotient is 1.
std::uint16_t unit_quotients(const CandidateGraph& graph, const GraphNode& node, const Vocabulary& vocabulary) {
  if (!vocabulary.divides[node.instance]) return 0;
  const algebra::OperatorInstance& instance = *vocabulary.instances[node.instance];
  std::vector<enumerate::Dims> shapes;
  for (const GraphTerm argument : node.arguments) shapes.push_back(vocabulary.types[graph.type(argument)]);
  std::vector<std::int64_t> slots;
  if (!algebra::infer(instance, shapes, std::span<const std::int64_t>(node.sizes.begin(), node.sizes.end()), &slots))
    return 0;
  std::uint16_t ones = 1;
  for (const algebra::Comparison& condition : instance.conditions) {
    if (!is_exact_division(condition)) continue;
    const algebra::IndexExpr& left = *condition.a;
    const std::int64_t divisor = algebra::evaluate(*left.b, slots, {});
    const bool one = divisor != 0 && algebra::evaluate(*left.a, slots, {}) / divisor == 1;
    ones = static_cast<std::uint16_t>(ones << 1 | (one ? 1 : 0));
  }
  return ones;
}

/// The content of a key besides the structure of the graph.
enum class Detail : std::uint8_t {
  Exact,      // types and size parameters
  Content,    // the same, with codes that are independent of the profile
  Ranks,      // ranks and unit_quotients
  Structure,  // ranks and unit_quotients, without the values of size parameters
};

std::string serialize(const CandidateGraph& graph, const Vocabulary& vocabulary, Detail detail) {
  std::string key;
  key.reserve(128);
  const auto put_term = [&](GraphTerm t) {
    put(key, std::uint64_t{t.index} << 3 | std::uint64_t{t.output} << 1 | (t.is_leaf ? 1 : 0));
  };
  put(key, graph.source.size());
  for (const GraphTerm t : graph.source) put_term(t);
  for (const GraphTerm t : graph.target) put_term(t);
  put(key, graph.nodes.size());
  for (const GraphNode& node : graph.nodes) {
    put(key, detail == Detail::Content ? vocabulary.instance_codes[node.instance] : node.instance);
    for (const GraphTerm t : node.arguments) put_term(t);
    if (detail != Detail::Structure) {
      for (const std::int64_t size : node.sizes) put(key, static_cast<std::uint64_t>(size));
    }
    if (detail == Detail::Ranks || detail == Detail::Structure) put(key, node.tag);
  }
  for (const std::uint16_t leaf : graph.leaves)
    put(key, detail == Detail::Exact     ? leaf
             : detail == Detail::Content ? vocabulary.type_codes[leaf]
                                         : vocabulary.types[leaf].size());
  return key;
}

/// Returns a hash of each node that does not distinguish variables of equal type.
BoundedList<std::uint64_t, max_graph_nodes> structural_hashes(const CandidateGraph& graph,
                                                              const Vocabulary& vocabulary) {
  BoundedList<std::uint64_t, max_graph_nodes> result;
  for (const GraphNode& node : graph.nodes) {
    BoundedList<std::uint64_t, enumerate::max_arity + 1 + TermRow::max_sizes> parts;
    for (const GraphTerm t : node.arguments)
      parts.push_back(t.is_leaf ? vocabulary.type_codes[graph.leaves[t.index]] : result[t.index] + t.output + 1);
    if (vocabulary.instances[node.instance]->commutative) std::ranges::sort(parts);
    parts.push_back(vocabulary.instance_codes[node.instance]);
    for (const std::int64_t size : node.sizes) parts.push_back(static_cast<std::uint64_t>(size));
    result.push_back(runtime::hash64(runtime::bytes_of(std::span(parts.begin(), parts.size()))));
  }
  return result;
}

/// The key of the canonical form, and that of the exact form.
struct Form {
  std::string key;
  std::string exact;
  Detail detail = Detail::Exact;
};

/// Brings the graph to its canonical form.
void find_canonical_form(CandidateGraph& graph, const Vocabulary& vocabulary, CanonicalForm kind, bool want_exact,
                         Form& form) {
  graph.normalize();
  // Commutative arguments are ordered by their structural hashes; if these are equal, both orders are variant.
  const auto hashes = structural_hashes(graph, vocabulary);
  const auto rank = [&](GraphTerm t) {
    return std::pair(t.is_leaf ? std::uint64_t{graph.leaves[t.index]} : hashes[t.index] + t.output + 1, t.is_leaf);
  };
  BoundedList<std::uint8_t, max_ties> ties;
  bool has_sizes = false, normalized = true;
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    GraphNode& node = graph.nodes[n];
    has_sizes = has_sizes || !node.sizes.empty();
    if (kind == CanonicalForm::AnyShapes) node.tag = unit_quotients(graph, node, vocabulary);
    if (!vocabulary.instances[node.instance]->commutative || node.arguments[0] == node.arguments[1]) continue;
    const auto first = rank(node.arguments[0]), second = rank(node.arguments[1]);
    if (second < first) {
      std::swap(node.arguments[0], node.arguments[1]);
      normalized = false;
    }
    if (second == first && ties.size() < max_ties) ties.push_back(n);
  }
  const std::size_t source_size = graph.size(graph.source), target_size = graph.size(graph.target);
  if (source_size < target_size) {
    std::swap(graph.source, graph.target);
    normalized = false;
  }
  form.detail = kind == CanonicalForm::Exact ? Detail::Exact : has_sizes ? Detail::Structure : Detail::Ranks;
  const bool exchangeable = source_size == target_size && !(graph.source == graph.target);
  if (!exchangeable && ties.empty()) {
    if (!normalized) graph.normalize();
    form.key = serialize(graph, vocabulary, form.detail);
    if (want_exact) form.exact = serialize(graph, vocabulary, Detail::Content);
    return;
  }
  std::string least_exact;
  CandidateGraph least_exact_graph, least_graph;
  for (std::size_t exchanged = 0; exchanged < (exchangeable ? 2U : 1U); ++exchanged) {
    for (std::size_t choice = 0; choice < std::size_t{1} << ties.size(); ++choice) {
      CandidateGraph variant = graph;
      if (exchanged) std::swap(variant.source, variant.target);
      for (std::size_t i = 0; i < ties.size(); ++i) {
        if (choice >> i & 1) std::swap(variant.nodes[ties[i]].arguments[0], variant.nodes[ties[i]].arguments[1]);
      }
      if (!normalized || exchanged > 0 || choice > 0) variant.normalize();
      std::string key = serialize(variant, vocabulary, form.detail);
      if (want_exact) {
        std::string exact = serialize(variant, vocabulary, Detail::Exact);
        if (least_exact.empty() || exact < least_exact) {
          least_exact = std::move(exact);
          least_exact_graph = variant;
        }
      }
      // If graphs differ only in shapes, the order of the exact keys decides, not that of the loop.
      const bool tie = key == form.key && !form.key.empty();
      if (form.key.empty() || key < form.key ||
          (tie && serialize(variant, vocabulary, Detail::Exact) < serialize(least_graph, vocabulary, Detail::Exact))) {
        form.key = std::move(key);
        least_graph = variant;
      }
    }
  }
  graph = least_graph;
  if (want_exact) form.exact = serialize(least_exact_graph, vocabulary, Detail::Content);
}

}  // namespace

std::string canonicalize(CandidateGraph& graph, const Vocabulary& vocabulary, CanonicalForm kind, std::string* exact) {
  Form form;
  find_canonical_form(graph, vocabulary, kind, exact != nullptr, form);
  if (exact != nullptr) *exact = std::move(form.exact);
  return std::move(form.key);
}

void canonicalize_without_key(CandidateGraph& graph, const Vocabulary& vocabulary, CanonicalForm kind) {
  Form form;
  find_canonical_form(graph, vocabulary, kind, false, form);
}

std::size_t distinct_dimensions(const CandidateGraph& graph, const Vocabulary& vocabulary) {
  std::set<std::int64_t> dims;
  for (const std::uint16_t leaf : graph.leaves)
    dims.insert(vocabulary.types[leaf].begin(), vocabulary.types[leaf].end());
  return dims.size();
}

}  // namespace rulemill::dedup
