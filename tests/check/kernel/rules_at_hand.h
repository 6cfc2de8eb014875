// What tests of the checker have in common: the shipped definitions, and rules that are read and typed.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <string>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "check/kernel/proof.h"
#include "runtime/error.h"

namespace rulemill::check {

struct RulesAtHand {
  algebra::Library library = algebra::Library::load(RULEMILL_SOURCE_DIR "/data/operators");
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  Atoms atoms;
  std::deque<algebra::Rule> rules;

  const algebra::Rule& rule(const std::string& text) {
    const std::vector<algebra::Rule> read = algebra::parse_rules(text, "test", library, bank, symbols);
    return rules.emplace_back(std::get<algebra::TypedRule>(algebra::infer_types(read.at(0), bank, symbols)).rule);
  }
};

inline void check_has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace rulemill::check
