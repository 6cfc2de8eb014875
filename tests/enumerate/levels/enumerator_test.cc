#include "enumerate/levels/enumerator.h"

#include <catch2/catch.hpp>
#include <set>

#include "enumerate/profile/profile_reader.h"
#include "runtime/text/error.h"
#include "tests/enumerate/setting.h"

namespace rulemill::enumerate {
namespace {

constexpr const char* tiny = R"(
name = "tiny"
max_ops = 3
max_elements = 12
[[variables]]
names = ["a", "b"]
shape = [2, 2]
[[variables]]
names = ["s"]
shape = []
[[constants]]
operator = "identity"
sizes = [2]
[[operators]]
operator = "add"
ranks = [2]
[[operators]]
operator = "matmul"
ranks = [2]
[[operators]]
operator = "relu"
ranks = [2]
[[operators]]
operator = "scale"
ranks = [0, 2]
[[operators]]
operator = "concat"
parameters = { axis = 0 }
ranks = [2]
[[operators]]
operator = "split"
parameters = { axis = 0 }
ranks = [2]
)";

/// Records the rows of a level.
class Recorder : public NodeSink {
 public:
  Recorder(const Enumerator& enumerator, std::uint64_t rows)
      : signatures(rows, no_id), arguments(rows * enumerator.arity_stride(), no_id), enumerator_(enumerator) {}

  void add_node(SignatureId signature, std::span<const TermId> all, std::uint64_t row) override {
    for (std::size_t o = 0; o < enumerator_.signatures()[signature].outputs.size(); ++o) {
      REQUIRE(signatures[row + o] == no_id);
      signatures[row + o] = signature;
      std::copy(all.begin(), all.end(),
                arguments.begin() + static_cast<std::ptrdiff_t>((row + o) * enumerator_.arity_stride()));
    }
    ++nodes;
  }

  std::vector<SignatureId> signatures;
  std::vector<TermId> arguments;
  std::uint64_t nodes = 0;

 private:
  const Enumerator& enumerator_;
};

/// Returns the recorded nodes with all their renamings.
ExpandedNodes expand(const Enumerator& enumerator, const Recorder& recorder) {
  ExpandedNodes nodes;
  const Symmetry& symmetry = enumerator.symmetry();
  const std::uint32_t stride = enumerator.arity_stride();
  for (std::size_t row = 0; row < recorder.signatures.size();) {
    const Signature& signature = enumerator.signatures()[recorder.signatures[row]];
    const auto arguments = std::span(recorder.arguments).subspan(row * stride, signature.arguments.size());
    VariableSet variables = 0;
    for (const TermId t : arguments) variables |= enumerator.terms().variables(t);
    nodes.signatures.push_back(recorder.signatures[row]);
    nodes.first_image.push_back(static_cast<std::uint32_t>(nodes.renaming.size()));
    const RenamingList& list = symmetry.renamings().of(variables);
    std::set<std::vector<TermId>> seen;
    for (std::uint32_t r = 0; r < list.count; ++r) {
      std::vector<TermId> renamed;
      for (const TermId t : arguments) renamed.push_back(symmetry.rename(t, list.swaps_of(r)));
      if (enumerator.signatures().families()[signature.family].commutative) std::ranges::sort(renamed);
      if (!seen.insert(renamed).second) continue;
      nodes.renaming.push_back(r);
      renamed.resize(stride, no_id);
      nodes.arguments.insert(nodes.arguments.end(), renamed.begin(), renamed.end());
      for (std::size_t o = 0; o < signature.outputs.size(); ++o) {
        nodes.representatives.push_back(static_cast<TermId>(enumerator.terms().terms() + nodes.representatives.size()));
      }
    }
    row += signature.outputs.size();
  }
  nodes.first_image.push_back(static_cast<std::uint32_t>(nodes.renaming.size()));
  return nodes;
}

/// Numbers of nodes with all their renamings, and of rows, by level.
struct Counted {
  std::vector<std::uint64_t> nodes{0}, rows{0};
};
/// Enumerates all terms without merging equal ones.
Counted enumerate_all(Enumerator& enumerator, std::uint32_t last) {
  Counted counted;
  for (std::uint32_t level = 1; level <= last; ++level) {
    const LevelCounts here = enumerator.begin_level(level, in_order);
    Recorder recorder(enumerator, here.terms);
    enumerator.walk(0, here.terms, recorder);
    REQUIRE(recorder.nodes == here.nodes);
    const ExpandedNodes nodes = expand(enumerator, recorder);
    counted.nodes.push_back(nodes.renaming.size());
    counted.rows.push_back(here.nodes);
    enumerator.end_level(nodes, true);
  }
  return counted;
}

/// A reference enumeration of graphs as sets of nodes, which adds one node at a time. The operators of `tiny` are
/// hard-coded.
class GraphByGraph {
 public:
  struct Tensor {
    std::string text;                  // "add(a,b)", "split@1(x).0"
    std::int64_t rows = 0, cols = 0;   // a scalar has 0, 0
    std::set<std::int64_t> positions;  // on axis 0
  };
  struct Node {
    std::vector<Tensor> outputs;
    std::set<std::string> closure;
  };

  explicit GraphByGraph(std::uint32_t last) {
    std::set<std::set<std::string>> graphs{{}};
    graphs_of_size.push_back(1);
    for (std::uint32_t size = 1; size <= last; ++size) {
      std::set<std::set<std::string>> larger;
      for (const auto& graph : graphs) {
        std::vector<std::pair<Tensor, std::set<std::string>>> tensors{
            {{"a", 2, 2, {}}, {}}, {{"b", 2, 2, {}}, {}}, {{"s", 0, 0, {}}, {}}};
        for (const std::string& name : graph) {
          for (const Tensor& output : nodes.at(name).outputs) tensors.push_back({output, nodes.at(name).closure});
        }
        for (const std::string& name : steps(tensors)) {
          if (graph.contains(name)) continue;
          auto with = graph;
          with.insert(name);
          larger.insert(with);
        }
      }
      graphs_of_size.push_back(larger.size());
      graphs = std::move(larger);
    }
  }

  std::uint64_t nodes_of_level(std::size_t level) const {
    return static_cast<std::uint64_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.second.closure.size() == level; }));
  }

  std::map<std::string, Node> nodes;
  std::vector<std::uint64_t> graphs_of_size;

 private:
  using Reached = std::vector<std::pair<Tensor, std::set<std::string>>>;

  std::string add(const std::string& name, std::vector<Tensor> outputs, std::set<std::string> closure) {
    for (const Tensor& output : outputs) {
      if (output.rows * output.cols > 12) return "";
    }
    closure.insert(name);
    nodes[name] = {std::move(outputs), std::move(closure)};
    return name;
  }

  std::vector<std::string> steps(const Reached& tensors) {
    std::vector<std::string> names{add("identity", {{"identity", 2, 2, {}}}, {})};
    for (const auto& [x, below_x] : tensors) {
      if (x.rows != 0) {
        names.push_back(add("relu(" + x.text + ")", {{"relu(" + x.text + ")", x.rows, x.cols, x.positions}}, below_x));
        for (const std::int64_t at : x.positions) {
          const std::string name = "split@" + std::to_string(at) + "(" + x.text + ")";
          Tensor first{name + ".0", at, x.cols, {}}, second{name + ".1", x.rows - at, x.cols, {}};
          for (const std::int64_t p : x.positions) {
            if (p < at) first.positions.insert(p);
            if (p > at) second.positions.insert(p - at);
          }
          names.push_back(add(name, {first, second}, below_x));
        }
      }
      for (const auto& [y, below_y] : tensors) {
        std::set<std::string> below = below_x;
        below.insert(below_y.begin(), below_y.end());
        const std::string pair = "(" + x.text + "," + y.text + ")";
        std::set<std::int64_t> both = x.positions;
        both.insert(y.positions.begin(), y.positions.end());
        if (y.rows == 0) {
          names.push_back(add("scale" + pair, {{"scale" + pair, x.rows, x.cols, x.positions}}, below));
          continue;
        }
        if (x.rows == 0) continue;
        if (x.rows == y.rows && x.cols == y.cols && x.text <= y.text) {
          names.push_back(add("add" + pair, {{"add" + pair, x.rows, x.cols, both}}, below));
        }
        if (x.cols == y.rows)
          names.push_back(add("matmul" + pair, {{"matmul" + pair, x.rows, y.cols, x.positions}}, below));
        if (x.cols == y.cols) {
          std::set<std::int64_t> positions = x.positions;
          positions.insert(x.rows);
          for (const std::int64_t p : y.positions) positions.insert(x.rows + p);
          names.push_back(add("concat" + pair, {{"concat" + pair, x.rows + y.rows, x.cols, positions}}, below));
        }
      }
    }
    std::erase(names, "");
    return names;
  }
};

}  // namespace

TEST_CASE("more terms than there are ids are an error with their number") {
  CHECK_NOTHROW(check_id_range(no_id - 1, no_id - 1));
  CHECK_THROWS_WITH(check_id_range(no_id, 7), Catch::Contains("4,294,967,295 rows (7 nodes)"));
  CHECK_THROWS_WITH(check_id_range(7, std::uint64_t{1} << 33), Catch::Contains("ids have 32 bits"));
}

TEST_CASE("enumeration finds the nodes and graphs of the reference enumeration") {
  algebra::Library library = shipped_operators();
  const Profile profile = parse_profile(tiny, "tiny.toml", library);
  const GraphByGraph plain(3);
  // With every node as a row, and with one row per orbit.
  for (const bool no_symmetry : {true, false}) {
    Enumerator enumerator(profile, library, no_symmetry);
    const Counted counted = enumerate_all(enumerator, 3);
    for (std::size_t level = 1; level <= 3; ++level) {
      CHECK(counted.nodes[level] == plain.nodes_of_level(level));
      CHECK(counted.nodes[level] > 10);
      CHECK((no_symmetry ? counted.rows[level] == counted.nodes[level] : counted.rows[level] < counted.nodes[level]));
    }
    for (std::uint32_t size = 1; size <= 3; ++size) {
      CHECK(count_graphs(size, enumerator, counted.nodes) == plain.graphs_of_size[size]);
    }
    CHECK_FALSE(count_graphs(5, enumerator, counted.nodes).has_value());
  }
}

TEST_CASE("a renaming acts on terms as on their texts, and the canonical term is the smallest of its orbit") {
  algebra::Library library = shipped_operators();
  const Profile profile = parse_profile(tiny, "tiny.toml", library);
  Enumerator enumerator(profile, library);
  enumerate_all(enumerator, 3);
  const TermTable& terms = enumerator.terms();
  const Symmetry& symmetry = enumerator.symmetry();
  REQUIRE(symmetry.renamings().swaps().size() == 1);  // a and b; s is alone
  const std::uint8_t swap = 0;
  const auto text = [&](const auto& self, TermId t, bool swapped) -> std::string {
    if (terms.is_variable(t)) return profile.variables[swapped && t < 2 ? 1 - t : t].name;
    std::vector<std::string> chunks;
    for (const TermId argument : terms.arguments(terms.node(t))) chunks.push_back(self(self, argument, swapped));
    const Signature& signature = enumerator.signatures()[terms.signature(terms.node(t))];
    if (enumerator.signatures().families()[signature.family].commutative) std::ranges::sort(chunks);
    std::string made = signature.instance->operator_name + std::to_string(terms.output(t));
    for (const std::int64_t size : signature.sizes) made += "@" + std::to_string(size);
    for (const std::string& part : chunks) made += "(" + part + ")";
    return made;
  };
  std::size_t canonical = 0, moved = 0;
  for (TermId t = 0; t < terms.terms(); ++t) {
    const TermId image = symmetry.rename(t, {&swap, 1});
    REQUIRE(text(text, image, false) == text(text, t, true));
    REQUIRE(symmetry.rename(image, {&swap, 1}) == t);
    REQUIRE(symmetry.canonical(t) == std::min(t, image));
    canonical += symmetry.is_canonical(t) ? 1 : 0;
    moved += image != t ? 1 : 0;
  }
  CHECK(2 * canonical == 2 * terms.terms() - moved);
  CHECK(moved > terms.terms() / 2);
}

TEST_CASE("the number of graphs with four nodes is that of the reference enumeration") {
  constexpr const char* text = R"(
name = "smaller"
max_elements = 8
[[variables]]
names = ["a"]
shape = [2, 2]
[[operators]]
operator = "add"
[[operators]]
operator = "relu"
[[operators]]
operator = "matmul"
)";
  algebra::Library library = shipped_operators();
  const Profile profile = parse_profile(text, "smaller.toml", library);
  Enumerator enumerator(profile, library);
  const Counted counted = enumerate_all(enumerator, 4);
  // The reference enumeration uses sets of node texts.
  std::set<std::set<std::string>> graphs{{}};
  for (std::size_t size = 1; size <= 4; ++size) {
    std::set<std::set<std::string>> larger;
    for (const auto& graph : graphs) {
      std::vector<std::string> terms(graph.begin(), graph.end());
      terms.emplace_back("a");
      const auto extend = [&](const std::string& node) {
        if (graph.contains(node)) return;
        auto with = graph;
        with.insert(node);
        larger.insert(with);
      };
      for (const std::string& x : terms) {
        extend("r(" + x + ")");
        for (const std::string& y : terms) {
          extend("m(" + x + "," + y + ")");
          if (x <= y) extend("p(" + x + "," + y + ")");
        }
      }
    }
    CHECK(count_graphs(static_cast<std::uint32_t>(size), enumerator, counted.nodes) == larger.size());
    graphs = std::move(larger);
  }
}

TEST_CASE("walking a level in chunks visits the same nodes in the same rows") {
  algebra::Library library = shipped_operators();
  const Profile profile = parse_profile(tiny, "tiny.toml", library);
  Enumerator enumerator(profile, library);
  enumerate_all(enumerator, 2);
  const LevelCounts counts = enumerator.begin_level(3, in_order);
  Recorder complete(enumerator, counts.terms), chunks(enumerator, counts.terms);
  enumerator.walk(0, counts.terms, complete);
  std::uint64_t nodes = 0;
  for (std::uint64_t first = 0; first < counts.terms; first += 37) {
    CHECK(enumerator.nodes_before(first) == chunks.nodes);
    enumerator.walk(first, std::min(first + 37, counts.terms), chunks);
    nodes = chunks.nodes;
  }
  CHECK(nodes == counts.nodes);
  CHECK(chunks.signatures == complete.signatures);
  CHECK(chunks.arguments == complete.arguments);
}

}  // namespace rulemill::enumerate
