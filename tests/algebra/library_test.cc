#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "algebra/execution/plan.h"
#include "algebra/terms/rule_text.h"
#include "runtime/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

Library shipped() { return Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators"); }

std::string message_of(const std::string& definition) {
  try {
    Library library;
    library.add("function relu(t) = max(t, 0)\n" + definition, "ops.op");
  } catch (const runtime::InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<double> run_one(Library& library, const std::string& name, const Parameters& parameters,
                            const Shapes& shapes, std::vector<std::vector<double>> values,
                            std::vector<std::int64_t> sizes = {}) {
  std::vector<std::uint32_t> ranks;
  for (const auto& shape : shapes) ranks.push_back(static_cast<std::uint32_t>(shape.size()));
  const Instance& instance = library.instantiate(name, parameters, ranks);
  const auto plan = compile(instance, shapes, sizes);
  REQUIRE(plan);
  std::vector<std::span<const double>> inputs(values.begin(), values.end());
  return evaluate(library.functions(), *plan, inputs).at(0);
}

}  // namespace

TEST_CASE("every shipped definition loads, and each operator is there once") {
  const Library library = shipped();
  CHECK(library.has_operator("conv2d"));
  CHECK(library.operator_names().size() >= 30);
  CHECK(library.digest() == shipped().digest());
}

TEST_CASE("an error in a definition is one line with file, line, column and what was expected") {
  const std::map<std::string, std::string> cases = {
      {"operator f(x[n])\n  y[i < n] = x[j]", "ops.op:3:16: 'j' is no index, size or parameter here"},
      {"operator f(x[n])\n  y[i < m] = x[i]", "ops.op:3:9: 'm' is no index, size or parameter here"},
      {"operator f(x[n])\n  y[i < n] = x[relu(i)]",
       "ops.op:3:16: expected an index expression, found a call of 'relu'"},
      {"operator f(x[n])\n  y[i < n] = z[i]", "ops.op:3:14: 'z' is no input or tensor of operator 'f'"},
      {"operator f(x[n])\n  y[i < n] = x[i, i]", "ops.op:3:14: 'x' has 1 dimensions, read with 2 indices"},
      {"operator f(x[n, m])\n  y[i < n / m] = x[i, 0]",
       "ops.op:3:11: this division may not divide: state 'where … % … = 0' for it, or use floor division '//'"},
      {"operator f(x[n, m])\n  y[i < n // (m - 1)] = x[i, 0]",
       "ops.op:3:17: this divisor may be zero: divide by sizes, positive numbers and their products"},
      {"operator f(x[n])\n  y[i < n] = tan(x[i])", "ops.op:3:14: 'tan' is no scalar function"},
      {"operator f(x[n])\n  y[i < n] x[i]", "ops.op:3:12: expected '=' before what 'y' is, found 'x'"},
      {"operator f(a[n], b[n])\n  commutative\n  y[i < n] = a[i] - b[i]",
       "ops.op:2:10: operator 'f': it is declared commutative, but exchanging its inputs changes the result"},
      {"operator f(x[n])", "ops.op:2:17: operator 'f' defines no output"},
      {"function g(t) = t law g(t) = t",
       "ops.op:2:23: a law must have the form g(0) = 0, g(g(t)) = g(t) or g(s, t) = g(t, s); found g(t) = t"},
  };
  for (const auto& [definition, expected] : cases) {
    INFO(definition);
    CHECK(message_of(definition) == expected);
  }
}

TEST_CASE("plans compute what the definitions say") {
  Library library = shipped();
  CHECK(run_one(library, "matmul", {}, {{2, 2}, {2, 2}}, {{1, 2, 3, 4}, {5, 6, 7, 8}}) ==
        std::vector<double>{19, 22, 43, 50});
  CHECK(run_one(library, "concat", {{"axis", std::int64_t{1}}}, {{2, 1}, {2, 2}}, {{1, 2}, {3, 4, 5, 6}}) ==
        std::vector<double>{1, 3, 4, 2, 5, 6});
  CHECK(run_one(library, "transpose", {{"perm", std::vector<std::int64_t>{1, 0}}}, {{2, 3}}, {{1, 2, 3, 4, 5, 6}}) ==
        std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(run_one(library, "transpose", {{"perm", std::vector<std::int64_t>{1, 2, 0}}}, {{1, 2, 3}},
                {{1, 2, 3, 4, 5, 6}}) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(run_one(library, "identity", {}, {}, {}, {2}) == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("a convolution pads with zeros, and a maximum leaves padding out") {
  Library library = shipped();
  const std::vector<double> image = {-1, -2, -3, -4};
  CHECK(run_one(library, "max_pool", {{"kernel", std::int64_t{3}}}, {{1, 1, 2, 2}}, {image}) ==
        std::vector<double>{-1, -1, -1, -1});
  CHECK(run_one(library, "conv2d", {}, {{1, 1, 2, 2}, {1, 1, 3, 3}}, {image, std::vector<double>(9, 1)}) ==
        std::vector<double>{-10, -10, -10, -10});
  CHECK(run_one(library, "conv2d", {{"act", std::string("relu")}}, {{1, 1, 2, 2}, {1, 1, 1, 1}}, {image, {-1}}) ==
        std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("a grouped convolution reads only its group's channels") {
  Library library = shipped();
  // two groups of one channel, two filters each
  CHECK(run_one(library, "conv2d", {}, {{1, 2, 1, 1}, {4, 1, 1, 1}}, {{1, 10}, {1, 2, 3, 4}}) ==
        std::vector<double>{1, 2, 30, 40});
}

TEST_CASE("a composite computes what its steps compute") {
  Library library = shipped();
  const std::vector<std::uint32_t> ranks = {4, 4, 1};
  CHECK(library.instantiate("conv2d_bias", {}, ranks).composite.size() == 2);
  CHECK(run_one(library, "conv2d_bias", {}, {{1, 1, 1, 2}, {2, 1, 1, 1}, {2}}, {{1, 2}, {3, 5}, {100, 200}}) ==
        std::vector<double>{103, 106, 205, 210});
}

TEST_CASE("the type rule rejects what does not fit and derives the other shapes") {
  Library library = shipped();
  const std::vector<std::uint32_t> ranks = {4, 4};
  const Instance& conv = library.instantiate("conv2d", {{"stride", std::int64_t{2}}}, ranks);
  CHECK(infer(conv, Shapes{{2, 4, 5, 7}, {8, 4, 3, 3}}, {}) == Shapes{{2, 8, 3, 4}});
  CHECK(infer(conv, Shapes{{2, 4, 5, 7}, {8, 3, 3, 3}}, {}) == std::nullopt);
  const std::vector<std::uint32_t> rank2 = {2};
  const Instance& split = library.instantiate("split", {{"axis", std::int64_t{1}}}, rank2);
  CHECK(infer(split, Shapes{{2, 5}}, std::vector<std::int64_t>{2}) == Shapes{{2, 2}, {2, 3}});
  CHECK(infer(split, Shapes{{2, 5}}, std::vector<std::int64_t>{5}) == std::nullopt);
}

TEST_CASE("rules are read and written in the same text") {
  Library library = shipped();
  TermBank bank(library);
  Symbols symbols;
  const std::string text =
      "rule merge(x[n, c, h, w], v[f, c, 3, 3], u[g, c, 3, 3])\n"
      "  conv2d(x, v), conv2d(x, u)\n"
      "  => split(conv2d(x, concat(v, u; axis=0)); axis=1, at=f).first, split(conv2d(x, concat(v, u; axis=0)); axis=1, "
      "at=f).second\n"
      "  when 2*f = g\n";
  const std::vector<Rule> rules = parse_rules(text, "merge.rules", library, bank, symbols);
  REQUIRE(rules.size() == 1);
  CHECK(to_string(rules[0], bank, symbols) == text);
  CHECK(bank.nodes(rules[0].target).size() == 3);
}

TEST_CASE("an error in a rule is one line with its place") {
  Library library = shipped();
  TermBank bank(library);
  Symbols symbols;
  const std::map<std::string, std::string> cases = {
      {"rule r(x:2)\n  matmull(x, x) => x", "r.rules:2:3: unknown operator 'matmull'"},
      {"rule r(x:2)\n  matmul(x) => x", "r.rules:2:3: operator 'matmul' takes 2 arguments, found 1"},
      {"rule r(x:2)\n  relu(x) => y", "r.rules:2:14: 'y' is no variable of this rule"},
      {"rule r(x:2)\n  split(x; axis=0) => x", "r.rules:2:3: 'split' has several outputs"},
      {"rule r(x:2)\n  concat(x, x; axis=2) => x",
       "r.rules:2:3: operator 'concat': axis=2 is not an axis below the rank 2"},
      {"rule r(x:2)\n  relu(x; slope=1) => x", "r.rules:2:11: operator 'relu' has no parameter 'slope'"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    try {
      parse_rules(text, "r.rules", library, bank, symbols);
      FAIL("accepted");
    } catch (const runtime::InputError& error) {
      CHECK(std::string(error.what()).starts_with(expected));
    }
  }
}
