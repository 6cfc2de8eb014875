// Definitions and rules that are rejected with one line that names file, line and column. The first line of each file
// in tests/algebra/refused is the expected message.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

std::string repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

/// The error message for the definitions or rules; "accepted" if there is none.
std::string loading_error(const std::string& definitions, const std::string& rules = "") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  try {
    if (!definitions.empty()) library.add(definitions, "d.op");
    if (!rules.empty()) parse_rules(rules, "r.rules", library, bank, symbols);
  } catch (const runtime::InputError& error) {
    return error.what();
  }
  return "accepted";
}

void check_one_line(const std::string& message) {
  CHECK(message.size() < 500);
  for (const char c : message) CHECK((c < 0 || (c >= ' ' && c != 0x7f)));
}

}  // namespace

TEST_CASE("definitions that are false or cannot be computed are rejected at their place") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests" /
                                                               "algebra" / "refused")) {
    std::ifstream stream(entry.path());
    std::stringstream text;
    text << stream.rdbuf();
    const std::string first = text.str().substr(0, text.str().find('\n'));
    const std::string expected = "d.op" + first.substr(std::string("# expected: ").size());
    const std::string message = loading_error(text.str());
    INFO(entry.path() << ": " << message);
    CHECK(message.starts_with(expected));
    check_one_line(message);
    ++count;
  }
  CHECK(count == 44);
}

TEST_CASE("texts nested ten thousand deep are rejected at their place") {
  const std::string head = "operator f(x[n])\n  y[i < n] = ";
  const int depth = 10'000;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {head + repeat("(", depth) + "x[i]" + repeat(")", depth), ""},
      {head + repeat("-", depth) + "x[i]", ""},
      {head + repeat("relu(", depth) + "x[i]" + repeat(")", depth), ""},
      {head + "x[" + repeat("(", depth) + "i" + repeat(")", depth) + "]", ""},
      {head + "x[" + repeat("-", depth) + "i]", ""},
      {head + "x[" + repeat("min(i, ", depth) + "i" + repeat(")", depth) + "]", ""},
      {head + "x[i" + repeat(" + i", depth) + "]", ""},
      {head + "x[i]" + repeat(" + x[i]", depth), ""},
      {head + "x[i]" + repeat(" * x[i]", depth), ""},
      {head + repeat("sum(p < n) ", depth) + "x[i]", ""},
      {head + repeat("x[i] if i = 0 else ", depth) + "0", ""},
      {"function f(t) = " + repeat("(", depth) + "t" + repeat(")", depth), ""},
      {"function f(t) = " + repeat("-", depth) + "t", ""},
      {"function f(t) = " + repeat("t + (", depth) + "t" + repeat(")", depth), ""},
      {"function f(t) = " + repeat("max(t, ", 100) + "t" + repeat(")", 100), ""},
      {"function f(t) = t\n  law " + repeat("f(", depth) + "t" + repeat(")", depth) + " = t", ""},
      {"operator f(x[n])\n  is " + repeat("relu(", depth) + "x" + repeat(")", depth), ""},
      {"", "rule r(x:2)\n  " + repeat("relu(", depth) + "x" + repeat(")", depth) + " => x"},
      {"", "property r(x:2)\n  " + repeat("relu(", depth) + "x" + repeat(")", depth) + " = x"},
      {"", "rule r(x[" + repeat("(", depth) + "n" + repeat(")", depth) + "])\n  x => x"},
  };
  for (const auto& [definitions, rules] : cases) {
    const std::string message = loading_error(definitions, rules);
    INFO(message);
    CHECK(message.starts_with(definitions.empty() ? "r.rules:" : "d.op:"));
    check_one_line(message);
  }
}

TEST_CASE("a term of ten thousand nested let names is rejected at its place") {
  std::string rule = "rule r(x:2)\n  let a0 = relu(x)\n";
  for (int i = 1; i <= 10'000; ++i) rule += "  let a" + std::to_string(i) + " = relu(a" + std::to_string(i - 1) + ")\n";
  const std::string message = loading_error("", rule + "  a10000 => x");
  CHECK(message == "r.rules:1002:15: a term of more than 1000 operators one above another");
}

TEST_CASE("let names that double a size expression forty times are rejected at their place") {
  std::string definition = "operator f(x[n])\n  let s0 = n";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "s" + std::to_string(i - 1);
    definition += ", s" + std::to_string(i) + " = " + before + " // 2 + " + before + " // 3";
  }
  const std::string message = loading_error(definition + "\n  y[i < s40] = x[i]");
  CHECK(message.starts_with("d.op:2:"));
  CHECK(message.find("is an expression of too many terms") != std::string::npos);
}

TEST_CASE("error messages do not echo long words or control characters") {
  const std::string word(100'000, 'a');
  const std::string escape = "\x1b[31m";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {word, ""},
      {"operator " + word + "(x[n])\n  y[i < n] = x[i]", ""},
      {"operator f(x[n])\n  y[i < n] = " + word + "[i]", ""},
      {"operator f(x[n])\n  y[i < n] = x[i + " + std::string(100'000, '7') + "]", ""},
      {"function f(t) = " + std::string(100'000, '7'), ""},
      {"include \"" + word + "\"", ""},
      {"include \"" + escape + "\"", ""},
      {escape, ""},
      {"operator f(x[n])\n  y[i < n] = x[i] \x80", ""},
      {"", "rule r(x:2)\n  " + word + "(x) => x"},
      {"", "rule r(x:2)\n  relu(x; " + word + "=1) => x"},
      {"", "rule r(x:2)\n  relu(x) " + escape + "=> x"},
  };
  for (const auto& [definitions, rules] : cases) {
    const std::string message = loading_error(definitions, rules);
    INFO(message);
    CHECK(message.starts_with(definitions.empty() ? "r.rules:" : "d.op:"));
    check_one_line(message);
  }
}

TEST_CASE("sizes of more than 64 bits in rules are rejected at their place") {
  CHECK(loading_error("", "rule r(x[999999999999999*999999999999999*m*p])\n  relu(x) => x") ==
        "r.rules:1:10: a number exceeds 64 bits");
  CHECK(loading_error("", "rule r(x[m*m*m*m*m*m*m*m*m*m*m*m*m*m*m*m*m])\n  relu(x) => x") ==
        "r.rules:1:10: a product has more than 16 factors");
}
