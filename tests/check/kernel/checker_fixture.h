// Fixtures of checker tests: the shipped definitions, typed rules, and statements with proofs given as text.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <fstream>
#include <memory>
#include <string>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "check/core_rule.h"
#include "check/evaluate.h"
#include "check/proof_text.h"
#include "check/sum_text.h"
#include "prove/solver/z3_session.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::check {

/// The contents of a file of the repository.
inline std::string contents(const std::string& path) {
  std::ifstream file(RULEMILL_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct CheckerFixture {
  algebra::Library library = shipped_operators();
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  Atoms atoms;
  std::deque<algebra::Rule> rules;

  CoreRule core(const algebra::Rule& rule) { return to_core(rule, bank, symbols, atoms); }

  /// The rule with its most general types, or with those that it states.
  const algebra::Rule& rule(const std::string& text, bool as_stated = false) {
    const std::vector<algebra::Rule> read = algebra::parse_rules(text, "test", library, bank, symbols);
    if (as_stated) return rules.emplace_back(read.at(0));
    return rules.emplace_back(std::get<algebra::TypedRule>(algebra::infer_types(read.at(0), bank, symbols)).rule);
  }
};

/// The statement of one rule, and steps on it.
struct StatementFixture : CheckerFixture {
  std::unique_ptr<Statement> statement;
  prove::Z3Session z3;

  explicit StatementFixture(const std::string& text, const std::string& definitions = "", bool as_stated = false) {
    if (!definitions.empty()) library.add(definitions, "test.op");
    statement = std::make_unique<Statement>(core(rule(text, as_stated)), atoms);
  }

  /// Steps in text, one per line.
  std::vector<Step> read_steps(const std::string& steps) {
    return parse_proof("typing\noutput\n" + steps, "steps", 1, *statement).outputs.at(0);
  }
  /// The facts, and the ranges of the indices of an element.
  Context context() const { return {conjunction(statement->facts(), statement->index_ranges(0)), {}}; }
  bool holds(const Obligation& obligation) { return z3.answer(smtlib(obligation, atoms), 2'000'000) == "unsat"; }

  /// The step Order on all products of the sum, which have equal ranges; nothing if it does not show that they cancel.
  /// `effort` is the solver's, for a case.
  std::optional<Step> order(const Sum& sum, const Guards& given, unsigned effort = 2'000'000) {
    Step step;
    step.op = Step::Op::Order;
    Sum products;
    for (std::size_t p = 0; p < sum.size(); ++p) {
      step.positions.push_back(p);
      products.push_back({sum[p].coefficient, {}, {}, sum[p].factors});
    }
    const auto decide = [&](const std::function<std::string()>& contradiction) {
      if (step.name.size() > effort / 5000) throw CheckError{"too many cases"};
      step.name += z3.answer(contradiction(), effort) == "unsat" ? 'x' : 's';
      return step.name.back();
    };
    try {
      evaluate_in_cases(products, given, *statement, decide, [&](const std::string& script) {
        if (z3.answer(script, 10 * effort) != "unsat") throw CheckError{"not 0 in a case"};
      });
      return step;
    } catch (const CheckError&) {
      return std::nullopt;
    }
  }
};

constexpr std::size_t step_kinds = static_cast<std::size_t>(Step::Op::Given) + 1;
/// The word with which the text of a step begins.
inline std::string kind_name(Step::Op op) {
  static const StatementFixture test("rule t(x[n]) x => x");
  Step step;
  step.op = op;
  const std::string text = to_string(step, *test.statement);
  return text.substr(0, text.find_first_of(" :"));
}

inline void check_contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace rulemill::check
