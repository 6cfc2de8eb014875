#include <catch2/catch.hpp>
#include <set>

#include "algebra/language/function_domain.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("rules that the field expects are proved from the definitions") {
  Court court;
  double seconds = 0;
  std::size_t proved = 0;
  for (const algebra::Rule& rule : court.rules("tests/prove/proved.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
    if (const auto* proof = std::get_if<Proved>(&verdict)) {
      seconds += proof->seconds;
      ++proved;
    }
  }
  WARN(proved << " rules proved, " << 1000 * seconds / static_cast<double>(proved) << " ms on average");
}

TEST_CASE("false rules are refuted by a counterexample") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/refuted.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
}

TEST_CASE("sides with partial functions are equal where they are undefined at the same points") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/partial.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
  for (const algebra::Rule& rule : court.rules("tests/prove/partial_refuted.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    REQUIRE(std::holds_alternative<Refuted>(verdict));
    CHECK(in_words(verdict).find("undefined") != std::string::npos);
  }
}

TEST_CASE("a side that is undefined where the other is not is not proved, even where nothing refutes it") {
  ProverOptions options;
  options.refute.tries = 1;
  options.refute.elements = 2;  // of all tensors: nothing is large enough to differ
  Court court(options);
  for (const algebra::Rule& rule : court.rules("tests/prove/partial_refuted.rules")) {
    const auto typed = algebra::infer_types(rule, court.bank, court.symbols);
    REQUIRE(std::holds_alternative<algebra::TypedRule>(typed));
    const Prover::Outcome outcome = court.prover.prove_equal(std::get<algebra::TypedRule>(typed));
    INFO(rule.id);
    CHECK_FALSE(outcome.proved);
  }
}

TEST_CASE("a sum of values of both signs may be zero, though none of them is") {
  Court court;
  const algebra::Rule rule = court.rule(
      "rule cancels(y[n]) scale(sub(recip(y), recip(y)), recip(sum_all(recip(y)))) => sub(recip(y), recip(y))");
  CHECK_FALSE(std::holds_alternative<Proved>(court.prover.prove(rule)));
}

TEST_CASE("where a function is defined follows from its formula") {
  Court court;
  const std::set<std::string> partial = {"recip", "sqrt",  "log",   "tan",       "asin",  "acos",
                                         "asinh", "acosh", "atanh", "remainder", "share", "power"};
  for (const algebra::Function& function : court.library.functions()) {
    INFO(function.name);
    CHECK(algebra::is_total(function) == !partial.contains(function.name));
  }
}

TEST_CASE("a proof that would take too long is unknown by what it counted") {
  ProverOptions options;
  options.elaboration.steps = 0;  // by which it is proved: relu(relu(t)) = relu(t)
  Court court(options);
  court.library.add(text_of("tests/prove/hard.op"), "tests/prove/hard.op");
  for (const algebra::Rule& rule : court.rules("tests/prove/hard.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    const std::uint64_t steps = court.prover.steps();
    INFO(rule.id << ": " << in_words(verdict) << ", " << steps << " steps");
    REQUIRE(std::holds_alternative<Unknown>(verdict));
    CHECK(in_words(verdict).find("more than ") != std::string::npos);
    Court other(options);
    other.library.add(text_of("tests/prove/hard.op"), "tests/prove/hard.op");
    CHECK(in_words(other.prover.prove(other.rules("tests/prove/hard.rules").at(0))) == in_words(verdict));
    CHECK(other.prover.steps() == steps);
  }
}

TEST_CASE("a proof hears of signals") {
  Court court;
  court.library.add(text_of("tests/prove/hard.op"), "tests/prove/hard.op");
  runtime::request_interrupt();
  CHECK_THROWS_AS(court.prover.prove(court.rules("tests/prove/hard.rules").at(0)), runtime::Interrupted);
  runtime::clear_interrupt();
}

TEST_CASE("what the target's operators ask beyond the source's is part of the condition") {
  Court court;
  const Verdict verdict =
      court.prover.prove(court.rule("rule r(x[n, c, h, w], k[f, c, r, s], l[f, c, 3, 3])\n"
                                    "  add(conv2d(x, k), conv2d(x, l)) =>\n"
                                    "  conv2d(x, add(enlarge(k; rows=3, cols=3), l))"));
  INFO(in_words(verdict));
  REQUIRE(std::holds_alternative<Proved>(verdict));
  const algebra::TypedRule& typed = std::get<Proved>(verdict).typed;
  const std::string text = algebra::to_string(typed.rule, court.bank, court.symbols);
  CHECK(text.find("when r <= 3, s <= 3") != std::string::npos);
  const auto again = algebra::infer_types(court.rule(text), court.bank, court.symbols);
  REQUIRE(std::holds_alternative<algebra::TypedRule>(again));
  CHECK(algebra::to_string(std::get<algebra::TypedRule>(again).rule, court.bank, court.symbols) == text);
}

TEST_CASE("rules that no sizes can type are rejected") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/ill_typed.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<IllTyped>(verdict));
  }
}

TEST_CASE("rules of tensors that are split anywhere are proved with the sizes of both parts") {
  Court court;
  for (const algebra::Rule& rule : court.rules("tests/prove/split_anywhere.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("stated properties that hold are proved") {
  Court court;
  for (const algebra::Rule& rule : court.rules("data/properties/linear_algebra.properties")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("properties that the TASO slides state and that hold are proved") {
  Court court;
  for (const algebra::Rule& rule : court.rules("data/properties/taso_slides.properties")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("rules that hold under a condition are proved with it, and refuted where none is looked for") {
  ProverOptions general;
  general.find_conditions = false;
  Court court;
  Court strict(general);
  const std::string text = text_of(std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests/prove/conditional.rules");
  for (const algebra::Rule& rule : strict.rules("tests/prove/conditional.rules")) {
    const Verdict verdict = strict.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
  for (const algebra::Rule& rule : court.rules("tests/prove/conditional.rules")) {
    const Verdict verdict = court.prover.prove(rule);
    INFO(rule.id << ": " << in_words(verdict));
    REQUIRE(std::holds_alternative<Proved>(verdict));
    std::string found = "# found:";
    for (const algebra::SizeCondition& c : std::get<Proved>(verdict).found) {
      found += (found.back() == ':' ? " " : ", ") + algebra::to_string(c, court.symbols);
    }
    INFO(found);
    CHECK(text.find(found + "\nrule " + rule.id + "(") != std::string::npos);
  }
}

TEST_CASE("a scalar that occurs many times does not use up the alignments of what it scales") {
  Court court;
  const Verdict verdict = court.prover.prove(
      court.rule("rule transposed_power(w[d, d], s[])\n"
                 "  transpose(matmul(matmul(scale(w, s), scale(w, s)), matmul(scale(w, s), scale(w, s))); perm=[1,0])\n"
                 "  => matmul(matmul(scale(transpose(w; perm=[1,0]), s), scale(transpose(w; perm=[1,0]), s)),\n"
                 "            matmul(scale(transpose(w; perm=[1,0]), s), scale(transpose(w; perm=[1,0]), s)))"));
  INFO(in_words(verdict));
  CHECK(std::holds_alternative<Proved>(verdict));
}
