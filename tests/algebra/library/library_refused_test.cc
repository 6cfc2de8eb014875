// Definitions and texts that are refused with one line that names file, line and column: each file of
// tests/algebra/refused says in its first line what is expected.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "algebra/terms/rule_text.h"
#include "runtime/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

Library shipped() { return Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators"); }

/// What adding the definitions, or reading the rules, says.
std::string refusal(const std::string& definitions, const std::string& rules = "") {
  Library library = shipped();
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

TEST_CASE("definitions that claim what is false or cannot be computed are refused at their place") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests" /
                                                               "algebra" / "refused")) {
    std::ifstream stream(entry.path());
    std::stringstream text;
    text << stream.rdbuf();
    const std::string first = text.str().substr(0, text.str().find('\n'));
    const std::string expected = "d.op" + first.substr(std::string("# expected: ").size());
    const std::string message = refusal(text.str());
    INFO(entry.path() << ": " << message);
    CHECK(message.starts_with(expected));
    check_one_line(message);
    ++count;
  }
  CHECK(count == 33);
}

TEST_CASE("texts nested ten thousand deep are refused at their place") {
  const std::string head = "operator f(x[n])\n  y[i < n] = ";
  const int deep = 10'000;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {head + repeated("(", deep) + "x[i]" + repeated(")", deep), ""},
      {head + repeated("-", deep) + "x[i]", ""},
      {head + repeated("relu(", deep) + "x[i]" + repeated(")", deep), ""},
      {head + "x[" + repeated("(", deep) + "i" + repeated(")", deep) + "]", ""},
      {head + "x[" + repeated("-", deep) + "i]", ""},
      {head + "x[" + repeated("min(i, ", deep) + "i" + repeated(")", deep) + "]", ""},
      {head + "x[i" + repeated(" + i", deep) + "]", ""},
      {head + "x[i]" + repeated(" + x[i]", deep), ""},
      {head + "x[i]" + repeated(" * x[i]", deep), ""},
      {head + repeated("sum(p < n) ", deep) + "x[i]", ""},
      {head + repeated("x[i] if i = 0 else ", deep) + "0", ""},
      {"function f(t) = " + repeated("(", deep) + "t" + repeated(")", deep), ""},
      {"function f(t) = " + repeated("-", deep) + "t", ""},
      {"function f(t) = " + repeated("t + (", deep) + "t" + repeated(")", deep), ""},
      {"function f(t) = " + repeated("max(t, ", 100) + "t" + repeated(")", 100), ""},
      {"function f(t) = t\n  law " + repeated("f(", deep) + "t" + repeated(")", deep) + " = t", ""},
      {"operator f(x[n])\n  is " + repeated("relu(", deep) + "x" + repeated(")", deep), ""},
      {"", "rule r(x:2)\n  " + repeated("relu(", deep) + "x" + repeated(")", deep) + " => x"},
      {"", "property r(x:2)\n  " + repeated("relu(", deep) + "x" + repeated(")", deep) + " = x"},
      {"", "rule r(x[" + repeated("(", deep) + "n" + repeated(")", deep) + "])\n  x => x"},
  };
  for (const auto& [definitions, rules] : cases) {
    const std::string message = refusal(definitions, rules);
    INFO(message);
    CHECK(message.starts_with(definitions.empty() ? "r.rules:" : "d.op:"));
    check_one_line(message);
  }
}

TEST_CASE("a term that names stack ten thousand deep is refused at its place") {
  std::string rule = "rule r(x:2)\n  let a0 = relu(x)\n";
  for (int i = 1; i <= 10'000; ++i) rule += "  let a" + std::to_string(i) + " = relu(a" + std::to_string(i - 1) + ")\n";
  const std::string message = refusal("", rule + "  a10000 => x");
  CHECK(message == "r.rules:1002:15: a term of more than 1000 operators one above another");
}

TEST_CASE("names that double a size forty times are refused at their place") {
  std::string definition = "operator f(x[n])\n  let s0 = n";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "s" + std::to_string(i - 1);
    definition += ", s" + std::to_string(i) + " = " + before + " // 2 + " + before + " // 3";
  }
  const std::string message = refusal(definition + "\n  y[i < s40] = x[i]");
  CHECK(message.starts_with("d.op:2:"));
  CHECK(message.find("stands for an expression of too many terms") != std::string::npos);
}

TEST_CASE("long words and control characters are not echoed") {
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
    const std::string message = refusal(definitions, rules);
    INFO(message);
    CHECK(message.starts_with(definitions.empty() ? "r.rules:" : "d.op:"));
    check_one_line(message);
  }
}

TEST_CASE("sizes beyond 64 bits in rules are refused at their place") {
  CHECK(refusal("", "rule r(x[999999999999999*999999999999999*m*p])\n  relu(x) => x") ==
        "r.rules:1:10: a number exceeds 64 bits");
  CHECK(refusal("", "rule r(x[m*m*m*m*m*m*m*m*m*m*m*m*m*m*m*m*m])\n  relu(x) => x") ==
        "r.rules:1:10: a product has more than 16 factors");
}
