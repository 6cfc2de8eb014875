// Reads rules from test data files, for the prover.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "prove/prover/prover.h"
#include "tests/shipped_operators.h"

namespace rulemill::prove {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error(path.string() + " cannot be read");
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// A library with its terms and sizes, and a prover over them.
struct ProverFixture {
  algebra::Library library = shipped_operators();
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  Prover prover;

  explicit ProverFixture(ProverOptions options = {}) : prover(bank, symbols, options) {}

  std::vector<algebra::Rule> rules(const std::string& file) {
    const std::filesystem::path path = std::filesystem::path(RULEMILL_SOURCE_DIR) / file;
    std::vector<algebra::Rule> found = algebra::parse_rules(text_of(path), file, library, bank, symbols);
    if (found.empty()) throw std::runtime_error(file + " has no rules: nothing would be tested");
    return found;
  }
  algebra::Rule rule(const std::string& text) {
    return algebra::parse_rules(text, "test", library, bank, symbols).at(0);
  }
};

/// Returns the verdict in one line, for messages.
inline std::string verdict_text(const Verdict& verdict) {
  std::string text = name(verdict);
  if (const auto* refuted = std::get_if<Refuted>(&verdict)) text += ": " + to_string(refuted->counterexample);
  if (const auto* unknown = std::get_if<Unknown>(&verdict)) text += ": " + unknown->reason;
  if (const auto* ill = std::get_if<IllTyped>(&verdict)) text += ": " + ill->what;
  return text;
}

}  // namespace rulemill::prove
