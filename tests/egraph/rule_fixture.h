// A test fixture that parses and types rules over the shipped operators.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "egraph/derive.h"
#include "tests/shipped_operators.h"

namespace rulemill::egraph {

struct RuleFixture {
  algebra::Library library = shipped_operators();
  algebra::TermBank bank{library};
  algebra::Symbols symbols;

  std::vector<algebra::TypedRule> rules(const std::string& text) {
    std::vector<algebra::TypedRule> result;
    for (const algebra::Rule& rule : algebra::parse_rules(text, "test", library, bank, symbols)) {
      auto typed = algebra::infer_types(rule, bank, symbols);
      if (const auto* error = std::get_if<algebra::TypeError>(&typed)) FAIL(rule.id << ": " << error->what);
      result.push_back(std::get<algebra::TypedRule>(std::move(typed)));
    }
    return result;
  }
  algebra::TypedRule rule(const std::string& text) { return rules(text).at(0); }

  /// A file of this folder.
  std::vector<algebra::TypedRule> file(const std::string& name) {
    std::ifstream in(RULEMILL_SOURCE_DIR "/tests/egraph/" + name);
    REQUIRE(in.good());
    std::ostringstream text;
    text << in.rdbuf();
    return rules(text.str());
  }
  std::string text(const algebra::TypedRule& rule) const { return algebra::to_string(rule.rule, bank, symbols); }
};

}  // namespace rulemill::egraph
