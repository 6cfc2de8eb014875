// Parsers on randomly damaged text: they must accept it or report an error with its position.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

const std::filesystem::path root = RULEMILL_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Applies one to four edits: removes, duplicates or moves some text, or replaces a character.
std::string damaged(const std::string& text, std::mt19937_64& random) {
  static const std::string characters = "()[]{}<>=+-*/%,;:.?|#\"0123456789 \n\tabcxyz_";
  std::string result = text;
  const std::size_t edits = 1 + random() % 4;
  for (std::size_t i = 0; i < edits && !result.empty(); ++i) {
    const std::size_t at = random() % result.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 12, result.size() - at);
    switch (random() % 4) {
      case 0:
        result.erase(at, length);
        break;
      case 1:
        result.insert(random() % result.size(), result.substr(at, length));
        break;
      case 2:
        result[at] = characters[random() % characters.size()];
        break;
      default: {
        const std::string piece = result.substr(at, length);
        result.erase(at, length);
        result.insert(result.empty() ? 0 : random() % result.size(), piece);
      }
    }
  }
  return result;
}

/// The numbers of accepted and rejected texts. A test is meaningful only if both occur.
struct Counts {
  std::size_t accepted = 0, rejected = 0;
};

/// Checks that `parse` accepts the text or throws an InputError of one line that begins with the origin.
template <class Parse>
void check_parse(const std::string& text, std::uint64_t seed, const Parse& parse, Counts& counts) {
  INFO("seed " << seed << "\n" << text);
  try {
    parse(text);
    ++counts.accepted;
  } catch (const runtime::InputError& error) {
    ++counts.rejected;
    CHECK(std::string(error.what()).starts_with("fuzzed:"));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  } catch (const std::exception& error) {
    FAIL("not an InputError: " << error.what());
  }
}

}  // namespace

TEST_CASE("damaged definitions are accepted or rejected with a position") {
  Counts counts;
  for (const char* file : {"linear.op", "layout.op", "convolution.op"}) {
    const std::string functions = "function relu(t) = max(t, 0)\n";
    const std::string whole = functions + read(root / "data" / "operators" / file);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      std::mt19937_64 random(seed);
      check_parse(
          damaged(whole, random), seed,
          [](const std::string& text) {
            Library library;
            library.add(text, "fuzzed");
          },
          counts);
    }
  }
  CHECK(counts.accepted >= 20);
  CHECK(counts.rejected >= 500);
}

TEST_CASE("damaged rules are accepted or rejected with a position") {
  Library library = shipped_operators();
  const std::string whole = read(root / "data" / "properties" / "linear_algebra.properties");
  Counts counts;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    TermBank bank(library);
    Symbols symbols;
    check_parse(
        damaged(whole, random), seed,
        [&](const std::string& text) { parse_rules(text, "fuzzed", library, bank, symbols); }, counts);
  }
  CHECK(counts.accepted >= 50);
  CHECK(counts.rejected >= 500);
}
