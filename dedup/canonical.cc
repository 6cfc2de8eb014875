#include "dedup/canonical.h"

#include <algorithm>
#include <map>
#include <set>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "dedup/candidate_text.h"
#include "dedup/general_forms.h"
#include "runtime/hash.h"

namespace rulemill::dedup {
namespace {

constexpr std::size_t most_ties = 6;

bool is_exact_division(const algebra::Comparison& condition) {
  return condition.relation == algebra::Relation::Eq && condition.a->kind == algebra::IndexExpr::Kind::Mod;
}

void put(std::string& key, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) key.push_back(static_cast<char>(value | 0x80));
  key.push_back(static_cast<char>(value));
}

/// For each exact division that the instance's conditions ask for, a bit: whether its quotient is one.
std::uint16_t quotients(const CandidateGraph& graph, const GraphNode& node, const Vocabulary& words) {
  if (!words.divides[node.instance]) return 0;
  const algebra::Instance& instance = *words.instances[node.instance];
  std::vector<enumerate::Dims> shapes;
  for (const GraphTerm argument : node.arguments) shapes.push_back(words.types[graph.type(argument)]);
  std::vector<std::int64_t> slots;
  if (!algebra::infer(instance, shapes, std::span<const std::int64_t>(node.sizes.begin(), node.sizes.end()), &slots)) {
    return 0;
  }
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

/// How much of a candidate a key tells.
enum class Detail : std::uint8_t {
  Exact,      // types and size parameters
  Content,    // the same in words that another profile has, too
  Ranks,      // ranks and quotients
  Structure,  // ranks and quotients, without the values of size parameters
};

std::string serialize(const CandidateGraph& graph, const Vocabulary& words, Detail detail) {
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
    put(key, detail == Detail::Content ? words.instance_words[node.instance] : node.instance);
    for (const GraphTerm t : node.arguments) put_term(t);
    if (detail != Detail::Structure) {
      for (const std::int64_t size : node.sizes) put(key, static_cast<std::uint64_t>(size));
    }
    if (detail == Detail::Ranks || detail == Detail::Structure) put(key, node.mark);
  }
  for (const std::uint16_t leaf : graph.leaves) {
    put(key, detail == Detail::Exact     ? leaf
             : detail == Detail::Content ? words.type_words[leaf]
                                         : words.types[leaf].size());
  }
  return key;
}

/// The candidate with symbolic sizes, as text; empty if it does not type.
std::string typed_text(const CandidateGraph& graph, const Vocabulary& words) {
  algebra::TermBank bank(*words.library);
  algebra::Symbols symbols;
  algebra::Candidate candidate = to_candidate(graph, words, {}, {}, bank);
  candidate.rule.shapes.clear();
  const auto typed = algebra::infer_types(candidate.rule, bank, symbols, &candidate.example);
  const auto* result = std::get_if<algebra::TypedRule>(&typed);
  return result == nullptr ? "" : algebra::to_string(result->rule, bank, symbols);
}

/// Of that text, zeros if it is empty.
runtime::Hash128 typed_hash(const CandidateGraph& graph, const Vocabulary& words) {
  const auto text = [&] { return typed_text(graph, words); };
  if (words.forms != nullptr) return words.forms->typed(graph, text);
  const std::string written = text();
  return written.empty() ? runtime::Hash128{} : runtime::hash128(runtime::bytes_of(written));
}

/// What a term looks like when every variable of a type looks alike.
BoundedList<std::uint64_t, most_graph_nodes> skeletons(const CandidateGraph& graph, const Vocabulary& words) {
  BoundedList<std::uint64_t, most_graph_nodes> result;
  for (const GraphNode& node : graph.nodes) {
    BoundedList<std::uint64_t, enumerate::max_arity + 1 + TermRow::most_sizes> parts;
    for (const GraphTerm t : node.arguments) {
      parts.push_back(t.is_leaf ? words.type_words[graph.leaves[t.index]] : result[t.index] + t.output + 1);
    }
    if (words.instances[node.instance]->commutative) std::ranges::sort(parts);
    parts.push_back(words.instance_words[node.instance]);
    for (const std::int64_t size : node.sizes) parts.push_back(static_cast<std::uint64_t>(size));
    result.push_back(runtime::hash64(runtime::bytes_of(std::span(parts.begin(), parts.size()))));
  }
  return result;
}

/// A number for each text, all different: of equal hashes, the later text in alphabetical order takes the next number
/// that is free.
std::vector<std::uint32_t> words_for(const std::vector<std::string>& texts) {
  std::map<std::string, std::uint32_t> known;
  for (const std::string& text : texts) known[text] = 0;
  std::set<std::uint32_t> taken;
  for (auto& [text, word] : known) {
    word = static_cast<std::uint32_t>(runtime::hash64(runtime::bytes_of(text)));
    while (!taken.insert(word).second) ++word;
  }
  std::vector<std::uint32_t> words;
  for (const std::string& text : texts) words.push_back(known.at(text));
  return words;
}

template <class Numbers>
std::string joined(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += std::to_string(number) + " ";
  return text;
}

}  // namespace

Vocabulary vocabulary(const fingerprint::Dictionary& dictionary, algebra::Library& library) {
  Vocabulary words;
  std::vector<std::string> instances, types;
  for (const auto& entry : dictionary.instances) {
    std::string& text = instances.emplace_back(entry.name + "(");
    for (const auto& [name, value] : entry.parameters) text += name + "=" + algebra::to_string(value) + " ";
    text += ") " + joined(entry.ranks);
    words.instances.push_back(&library.instantiate(entry.name, entry.parameters, entry.ranks));
    words.divides.push_back(std::ranges::any_of(words.instances.back()->conditions, is_exact_division));
  }
  words.types = dictionary.types;
  for (const enumerate::Dims& shape : dictionary.types) types.push_back(joined(shape));
  words.instance_words = words_for(instances);
  words.type_words = words_for(types);
  words.library = &library;
  return words;
}

namespace {

/// The canonical form and the serialized key of a detail; of the exact form, the key alone.
struct Form {
  CandidateGraph graph, exact_graph;
  std::string key;
  std::string exact;
  Detail detail = Detail::Exact;
};

void find_form(CandidateGraph& graph, const Vocabulary& words, KeyKind kind, bool want_exact, Form& form) {
  graph.clean();
  // Commutative arguments in the order of their skeletons; where these are equal, both orders are tried.
  const auto skeleton = skeletons(graph, words);
  const auto rank = [&](GraphTerm t) {
    return std::pair(t.is_leaf ? std::uint64_t{graph.leaves[t.index]} : skeleton[t.index] + t.output + 1, t.is_leaf);
  };
  BoundedList<std::uint8_t, most_ties> ties;
  bool sized = false, in_order = true;  // as clean() leaves it
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    GraphNode& node = graph.nodes[n];
    sized = sized || !node.sizes.empty();
    if (kind == KeyKind::AnyShapes) node.mark = quotients(graph, node, words);
    if (!words.instances[node.instance]->commutative || node.arguments[0] == node.arguments[1]) continue;
    const auto first = rank(node.arguments[0]), second = rank(node.arguments[1]);
    if (second < first) {
      std::swap(node.arguments[0], node.arguments[1]);
      in_order = false;
    }
    if (second == first && ties.size() < most_ties) ties.push_back(n);
  }
  const std::size_t source_size = graph.size(graph.source), target_size = graph.size(graph.target);
  if (source_size < target_size) {
    std::swap(graph.source, graph.target);
    in_order = false;
  }
  form.detail = kind == KeyKind::Exact ? Detail::Exact : sized ? Detail::Structure : Detail::Ranks;
  const bool exchangeable = source_size == target_size && !(graph.source == graph.target);
  for (std::size_t exchanged = 0; exchanged < (exchangeable ? 2U : 1U); ++exchanged) {
    for (std::size_t choice = 0; choice < std::size_t{1} << ties.size(); ++choice) {
      CandidateGraph tried = graph;
      if (exchanged) std::swap(tried.source, tried.target);
      for (std::size_t i = 0; i < ties.size(); ++i) {
        if (choice >> i & 1) std::swap(tried.nodes[ties[i]].arguments[0], tried.nodes[ties[i]].arguments[1]);
      }
      if (!in_order || exchanged > 0 || choice > 0) tried.clean();
      std::string key = serialize(tried, words, form.detail);
      if (want_exact) {
        std::string exact = serialize(tried, words, Detail::Exact);
        if (form.exact.empty() || exact < form.exact) {
          form.exact = std::move(exact);
          form.exact_graph = tried;
        }
      }
      // Of forms that only shapes tell apart, the one of the smaller shapes: not the one that came first.
      const bool tie = key == form.key && !form.key.empty();
      if (form.key.empty() || key < form.key ||
          (tie && serialize(tried, words, Detail::Exact) < serialize(form.graph, words, Detail::Exact))) {
        form.key = std::move(key);
        form.graph = tried;
      }
    }
  }
}

}  // namespace

std::string canonicalize(CandidateGraph& graph, const Vocabulary& words, KeyKind kind, std::string* exact) {
  Form form;
  find_form(graph, words, kind, exact != nullptr, form);
  graph = form.graph;
  if (exact != nullptr) *exact = serialize(form.exact_graph, words, Detail::Content);
  if (form.detail == Detail::Structure) {
    const runtime::Hash128 typed = typed_hash(graph, words);
    form.key += typed == runtime::Hash128{} ? serialize(graph, words, Detail::Exact)
                                            : runtime::text_of(runtime::bytes_of(std::span(&typed, 1)));
  }
  return std::move(form.key);
}

void bring_to_form(CandidateGraph& graph, const Vocabulary& words, KeyKind kind) {
  Form form;
  find_form(graph, words, kind, false, form);
  graph = form.graph;
}

std::size_t distinct_dimensions(const CandidateGraph& graph, const Vocabulary& words) {
  std::set<std::int64_t> dims;
  for (const std::uint16_t leaf : graph.leaves) dims.insert(words.types[leaf].begin(), words.types[leaf].end());
  return dims.size();
}

}  // namespace rulemill::dedup
