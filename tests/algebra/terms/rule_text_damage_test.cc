// Texts with random damage: what parses them must accept or complain with a place, whatever comes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "algebra/terms/rule_text.h"
#include "runtime/error.h"

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

/// One to four edits: a piece removed, doubled, moved elsewhere, or a character replaced.
std::string damaged(const std::string& text, std::mt19937_64& random) {
  static const std::string spice = "()[]{}<>=+-*/%,;:.?|#\"0123456789 \n\tabcxyz_";
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
        result[at] = spice[random() % spice.size()];
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

/// How many texts were taken and how many refused: a test that only ever sees one of them shows little.
struct Tally {
  std::size_t accepted = 0, refused = 0;
};

/// What `parse` does with the text: nothing, or an InputError that begins with the origin.
template <class Parse>
void check_survives(const std::string& text, std::uint64_t seed, const Parse& parse, Tally& tally) {
  INFO("seed " << seed << "\n" << text);
  try {
    parse(text);
    ++tally.accepted;
  } catch (const runtime::InputError& error) {
    ++tally.refused;
    CHECK(std::string(error.what()).starts_with("fuzzed:"));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  } catch (const std::exception& error) {
    FAIL("not an InputError: " << error.what());
  }
}

}  // namespace

TEST_CASE("damaged definitions are accepted or complained about with a place") {
  Tally tally;
  for (const char* file : {"linear.op", "layout.op", "convolution.op"}) {
    const std::string functions = "function relu(t) = max(t, 0)\n";
    const std::string whole = functions + read(root / "data" / "operators" / file);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      std::mt19937_64 random(seed);
      check_survives(
          damaged(whole, random), seed,
          [](const std::string& text) {
            Library library;
            library.add(text, "fuzzed");
          },
          tally);
    }
  }
  CHECK(tally.accepted >= 20);
  CHECK(tally.refused >= 500);
}

TEST_CASE("damaged rules are accepted or complained about with a place") {
  Library library = Library::load(root / "data" / "operators");
  const std::string whole = read(root / "data" / "properties" / "linear_algebra.properties");
  Tally tally;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    TermBank bank(library);
    Symbols symbols;
    check_survives(
        damaged(whole, random), seed,
        [&](const std::string& text) { parse_rules(text, "fuzzed", library, bank, symbols); }, tally);
  }
  CHECK(tally.accepted >= 50);
  CHECK(tally.refused >= 500);
}
