// A digest covers everything that defines an operator, and nothing else.
#include <catch2/catch.hpp>

#include "algebra/library/library.h"

using namespace rulemill::algebra;

namespace {

const std::string library_text =
    "function act(t) = max(t, 0)\n  law act(0) = 0\n  onnx Relu\n"
    "function other(t) = t\n"
    "operator part(x[n])\n  y[i < n] = act(x[i])\n  onnx Part\n"
    "operator chosen(x[n]; f in {none, act})\n  y[i < n] = f(x[i])\n"
    "operator whole(x[n])\n  is part(chosen(x))\n"
    "operator unrelated(x[n])\n  y[i < n] = other(x[i])\n";

struct Digests {
  std::string part, chosen, whole, unrelated, library;
};

Digests digests(std::string definitions, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) {
    REQUIRE(definitions.find(from) != std::string::npos);
    definitions.replace(definitions.find(from), from.size(), to);
  }
  Library library;
  library.add(definitions, "d.op");
  return {library.digest("part"), library.digest("chosen"), library.digest("whole"), library.digest("unrelated"),
          library.digest()};
}

}  // namespace

TEST_CASE("a digest changes with everything that defines the operator") {
  const Digests before = digests(library_text);
  SECTION("the definition of an applied function") {
    const Digests after = digests(library_text, "max(t, 0)", "max(t, 0) + 0");
    CHECK(after.part != before.part);
    CHECK(after.chosen != before.chosen);
    CHECK(after.whole != before.whole);
    CHECK(after.unrelated == before.unrelated);
    CHECK(after.library != before.library);
  }
  SECTION("the laws of an applied function") {
    const Digests after = digests(library_text, "law act(0) = 0", "law act(act(t)) = act(t)");
    CHECK(after.part != before.part);
    CHECK(after.chosen != before.chosen);
    CHECK(after.whole != before.whole);
  }
  SECTION("an operator that a composite calls") {
    const Digests after = digests(library_text, "act(x[i])", "act(x[i]) * 2");
    CHECK(after.part != before.part);
    CHECK(after.whole != before.whole);
    CHECK(after.chosen == before.chosen);
    CHECK(after.unrelated == before.unrelated);
  }
  SECTION("the text of the operator") {
    CHECK(digests(library_text, "is part(chosen(x))", "is chosen(part(x))").whole != before.whole);
    CHECK(digests(library_text, "other(x[i])", "other(x[i + 1])").unrelated != before.unrelated);
  }
}

TEST_CASE("a digest does not change with anything else") {
  const Digests before = digests(library_text);
  const auto check_equal = [&](const Digests& after) {
    CHECK(after.part == before.part);
    CHECK(after.chosen == before.chosen);
    CHECK(after.whole == before.whole);
    CHECK(after.library == before.library);
  };
  SECTION("comments and blanks") {
    check_equal(digests(library_text, "y[i < n] = act(x[i])", "# an activation\n  y[i<n]   =\n\n act( x[i] )"));
  }
  SECTION("an operator's ONNX mapping") {
    check_equal(
        digests(library_text, "onnx Part\n", "onnx Part since 7 {alpha = 1.0 default 1}\n  onnx Other {axis = n}\n"));
    check_equal(digests(library_text, "  onnx Part\n", ""));
    check_equal(digests(library_text, "operator part(x[n])\n", "operator part(x[n])\n  onnx First\n"));
  }
  SECTION("a function's ONNX mapping") { check_equal(digests(library_text, "onnx Relu", "onnx LeakyRelu")); }
  SECTION("unrelated functions and operators") {
    const Digests after =
        digests("function new(t) = t\n" + library_text + "operator last(x[n])\n  y[i < n] = new(x[i])\n");
    CHECK(after.part == before.part);
    CHECK(after.whole == before.whole);
    CHECK(digests(library_text, "other(t) = t", "other(t) = 2 * t").whole == before.whole);
  }
}

TEST_CASE("the digest of batch normalization differs from that of its scale") {
  const std::filesystem::path folder = std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators";
  const Library library = Library::load(folder);
  CHECK(library.digest("batch_norm") != library.digest("norm_scale"));
}
