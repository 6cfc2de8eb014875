#include "algebra/library/library.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "algebra/library/definition_warnings.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

const std::filesystem::path definitions = std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators";

Library load_shipped_library() { return Library::load(definitions); }

std::string error_of(const std::string& definition) {
  try {
    Library library;
    library.add("function relu(t) = max(t, 0)\n" + definition, "ops.op");
  } catch (const runtime::InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every shipped definition loads and defines each operator once") {
  const Library library = load_shipped_library();
  CHECK(library.has_operator("conv2d"));
  std::multiset<std::string> expected;
  for (const auto& file : std::filesystem::directory_iterator(definitions)) {
    std::ifstream stream(file.path());
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("operator ")) expected.insert(line.substr(9, line.find('(') - 9));
    }
  }
  const auto names = library.operator_names();
  CHECK(std::multiset<std::string>(names.begin(), names.end()) == expected);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  CHECK(library.digest() == load_shipped_library().digest());
}

TEST_CASE("no shipped operator reads an input at an index of dimensions that nothing relates") {
  for (const auto& file : std::filesystem::directory_iterator(definitions)) {
    if (file.path().extension() != ".op") continue;
    for (const syntax::Operator& op : syntax::parse(runtime::read_file(file.path()), file.path().string()).operators) {
      for (const DefinitionWarning& warning : find_unrelated_reads(op)) FAIL_CHECK(warning.place + ": " + warning.text);
    }
  }
}

TEST_CASE("an instance is found if the operator takes these parameters and ranks") {
  Library library = load_shipped_library();
  const std::vector<std::uint32_t> ranks{2};
  const Parameters swapped = {{"perm", std::vector<std::int64_t>{1, 0}}},
                   outside = {{"perm", std::vector<std::int64_t>{1, 2}}};
  const OperatorInstance* found = library.find_instance("transpose", swapped, ranks);
  REQUIRE(found != nullptr);
  CHECK(found->id == library.instantiate("transpose", swapped, ranks).id);
  CHECK(library.find_instance("transpose", outside, ranks) == nullptr);
  CHECK(library.find_instance("matmul", {}, ranks) == nullptr);
}

TEST_CASE("an error in a definition is one line with file, line, column and the expectation") {
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
       "ops.op:3:17: this divisor may be zero: divide by sizes, positive numbers and their products; "
       "a size parameter d with 'where d = …' is a size"},
      {"operator f(x[n])\n  y[i < n] = tan(x[i])",
       "ops.op:3:14: 'tan' is no scalar function; define one, such as function larger(a, b) = max(a, b)"},
      {"operator f(x[n])\n  y[i < n] x[i]", "ops.op:3:12: expected '=' before the value of 'y', found 'x'"},
      {"operator f(a[n], b[n])\n  commutative\n  y[i < n] = a[i] - b[i]",
       "ops.op:2:10: operator 'f': it is declared commutative, but exchanging its inputs changes the result"},
      {"operator f(x[n])", "ops.op:2:17: operator 'f' defines no output"},
      {"function g(t) = t law g(t) = t",
       "ops.op:2:23: a law must have the form g(0) = 0, g(g(t)) = g(t), g(s + t) = g(s) * g(t), g(c * t) = c * g(t), "
       "g(c * t) = g(t) / c, max(g(s), g(t)) = g(max(s, t)), g(-t) = -g(t) or g(-t) = g(t); found g(t) = t"},
  };
  for (const auto& [definition, expected] : cases) {
    INFO(definition);
    CHECK(error_of(definition) == expected);
  }
}
