// Definitions and rules that are difficult for a prover. Each folder of tests/prove/attacks has a definition file, and
// rules that must be proved, refuted, or not proved.
#include <catch2/catch.hpp>
#include <set>

#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

const std::filesystem::path attacks = std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests" / "prove" / "attacks";

struct NamedVerdict {
  std::string id;
  Verdict verdict;
};

std::vector<NamedVerdict> verdicts_on(const std::filesystem::path& folder, const std::string& file) {
  algebra::Library library = algebra::Library::load(folder);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::vector<NamedVerdict> result;
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

TEST_CASE("difficult rules are proved if they are true and not proved if they are false") {
  std::size_t count = 0;
  for (const std::filesystem::path& folder : folders()) {
    for (const auto& [id, verdict] : verdicts_on(folder, "proved.rules")) {
      INFO(id << ": " << verdict_text(verdict));
      CHECK(std::holds_alternative<Proved>(verdict));
      ++count;
    }
    for (const auto& [id, verdict] : verdicts_on(folder, "refuted.rules")) {
      INFO(id << ": " << verdict_text(verdict));
      CHECK(std::holds_alternative<Refuted>(verdict));
      ++count;
    }
    for (const auto& [id, verdict] : verdicts_on(folder, "unproved.rules")) {
      INFO(id << ": " << verdict_text(verdict));
      CHECK_FALSE(std::holds_alternative<Proved>(verdict));
      ++count;
    }
  }
  CHECK(count == 27);
}
