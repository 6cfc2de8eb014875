// Definitions and rules on which a prover could be wrong: each folder of tests/prove/attacks is a definition file with
// rules that must be proved, rules that must be refuted, and rules that must not be proved.
#include <catch2/catch.hpp>
#include <set>

#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

const std::filesystem::path attacks = std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests" / "prove" / "attacks";

struct Judged {
  std::string id;
  Verdict verdict;
};

std::vector<Judged> judged(const std::filesystem::path& folder, const std::string& file) {
  algebra::Library library = algebra::Library::load(folder);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::vector<Judged> result;
  if (!std::filesystem::exists(folder / file)) return result;
  Prover prover(bank, symbols);
  for (const algebra::Rule& rule : algebra::parse_rules(text_of(folder / file), file, library, bank, symbols)) {
    result.push_back({folder.filename().string() + "/" + rule.id, prover.prove(rule)});
  }
  return result;
}

std::set<std::filesystem::path> folders() {
  std::set<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(attacks)) found.insert(entry.path());
  return found;
}

}  // namespace

TEST_CASE("of rules that attack the prover the true ones are proved and the false ones are not") {
  std::size_t count = 0;
  for (const std::filesystem::path& folder : folders()) {
    for (const auto& [id, verdict] : judged(folder, "proved.rules")) {
      INFO(id << ": " << in_words(verdict));
      CHECK(std::holds_alternative<Proved>(verdict));
      ++count;
    }
    for (const auto& [id, verdict] : judged(folder, "refuted.rules")) {
      INFO(id << ": " << in_words(verdict));
      CHECK(std::holds_alternative<Refuted>(verdict));
      ++count;
    }
    for (const auto& [id, verdict] : judged(folder, "unproved.rules")) {
      INFO(id << ": " << in_words(verdict));
      CHECK_FALSE(std::holds_alternative<Proved>(verdict));
      ++count;
    }
  }
  CHECK(count == 27);
}
