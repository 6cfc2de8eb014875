#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>

#include "algebra/operators/function_domain.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("well-known rules are proved from the definitions") {
  ProverFixture fixture;
  double seconds = 0;
  std::size_t proved = 0;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/proved.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
    if (const auto* proof = std::get_if<Proved>(&verdict)) {
      seconds += proof->seconds;
      ++proved;
    }
  }
  WARN(proved << " rules proved, " << 1000 * seconds / static_cast<double>(proved) << " ms on average");
}

TEST_CASE("false rules are refuted by a counterexample") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/refuted.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
}

TEST_CASE("no rule says that all numbers are finite, or that there are only numbers") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/tested_values.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Unknown>(verdict));
  }
}

TEST_CASE("sides with partial functions are equal only if they are undefined at the same points") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/partial.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
  for (const algebra::Rule& rule : fixture.rules("tests/prove/partial_refuted.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    REQUIRE(std::holds_alternative<Refuted>(verdict));
    CHECK(verdict_text(verdict).find("undefined") != std::string::npos);
  }
}

TEST_CASE("a rule that widens is proved in its direction only") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/widening.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
  for (const algebra::Rule& rule : fixture.rules("tests/prove/widening_refuted.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
}

TEST_CASE("a rule is not proved if only one side is undefined, even if no counterexample is found") {
  ProverOptions options;
  options.refute.tries = 1;
  options.refute.elements = 2;  // too few for a counterexample
  ProverFixture fixture(options);
  for (const char* file : {"tests/prove/partial_refuted.rules", "tests/prove/widening_refuted.rules"}) {
    for (const algebra::Rule& rule : fixture.rules(file)) {
      const auto typed = algebra::infer_types(rule, fixture.bank, fixture.symbols);
      REQUIRE(std::holds_alternative<algebra::TypedRule>(typed));
      const ProofResult outcome = fixture.prover.prove_equal(std::get<algebra::TypedRule>(typed));
      INFO(rule.id);
      CHECK_FALSE(outcome.proved);
    }
  }
}

TEST_CASE("a sum of nonzero values is not assumed to be nonzero") {
  ProverFixture fixture;
  const algebra::Rule rule = fixture.rule(
      "rule cancels(y[n]) scale(sub(recip(y), recip(y)), recip(reduce_sum_all(recip(y)))) => sub(recip(y), recip(y))");
  CHECK_FALSE(std::holds_alternative<Proved>(fixture.prover.prove(rule)));
}

TEST_CASE("the domain of a function follows from its formula") {
  ProverFixture fixture;
  const std::set<std::string> partial = {"recip", "sqrt",  "log",   "tan",       "asin",  "acos",
                                         "asinh", "acosh", "atanh", "remainder", "share", "power"};
  for (const algebra::Function& function : fixture.library.functions()) {
    INFO(function.name);
    CHECK(algebra::is_total(function) == !partial.contains(function.name));
  }
}

TEST_CASE("a proof that exceeds a step limit is unknown, deterministically") {
  ProverOptions options;
  options.steps = 50'000;
  ProverFixture fixture(options);
  fixture.library.add(text_of("tests/prove/hard.op"), "tests/prove/hard.op");
  for (const algebra::Rule& rule : fixture.rules("tests/prove/hard.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    const std::uint64_t steps = fixture.prover.steps();
    INFO(rule.id << ": " << verdict_text(verdict) << ", " << steps << " steps");
    REQUIRE(std::holds_alternative<Unknown>(verdict));
    CHECK(verdict_text(verdict).find("more than ") != std::string::npos);
    ProverFixture other(options);
    other.library.add(text_of("tests/prove/hard.op"), "tests/prove/hard.op");
    CHECK(verdict_text(other.prover.prove(other.rules("tests/prove/hard.rules").at(0))) == verdict_text(verdict));
    CHECK(other.prover.steps() == steps);
  }
}

TEST_CASE("a signal interrupts a proof") {
  ProverFixture fixture;
  fixture.library.add(text_of("tests/prove/hard.op"), "tests/prove/hard.op");
  runtime::request_interrupt();
  CHECK_THROWS_AS(fixture.prover.prove(fixture.rules("tests/prove/hard.rules").at(0)), runtime::Interrupted);
  runtime::clear_interrupt();
}

TEST_CASE("conditions of the target's operators that the source does not imply become part of the rule's condition") {
  ProverFixture fixture;
  const Verdict verdict =
      fixture.prover.prove(fixture.rule("rule r(x[n, c, h, w], k[f, c, r, s], l[f, c, 3, 3])\n"
                                        "  add(conv2d(x, k), conv2d(x, l)) =>\n"
                                        "  conv2d(x, add(enlarge(k; rows=3, cols=3), l))"));
  INFO(verdict_text(verdict));
  REQUIRE(std::holds_alternative<Proved>(verdict));
  const algebra::TypedRule& typed = std::get<Proved>(verdict).typed;
  const std::string text = algebra::to_string(typed.rule, fixture.bank, fixture.symbols);
  CHECK(text.find("when r <= 3, s <= 3") != std::string::npos);
  const auto again = algebra::infer_types(fixture.rule(text), fixture.bank, fixture.symbols);
  REQUIRE(std::holds_alternative<algebra::TypedRule>(again));
  CHECK(algebra::to_string(std::get<algebra::TypedRule>(again).rule, fixture.bank, fixture.symbols) == text);
}

TEST_CASE("rules that cannot be typed are ill-typed") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/ill_typed.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<IllTyped>(verdict));
  }
}

TEST_CASE("rules with symbolic split positions are proved") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/split_anywhere.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("the stated properties of linear algebra are proved") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("data/properties/linear_algebra.properties")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("the true properties of the TASO slides are proved") {
  ProverFixture fixture;
  for (const algebra::Rule& rule : fixture.rules("data/properties/taso_slides.properties")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Proved>(verdict));
  }
}

TEST_CASE("a proved rule is narrowed to what its text does not state") {
  ProverFixture fixture;
  const std::string text = text_of(std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests/prove/narrowed.rules");
  for (const algebra::Rule& rule : fixture.rules("tests/prove/narrowed.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    const std::string condition = detail(verdict);
    const std::string stated = std::string("# ") + name(verdict) + (condition.empty() ? "" : ": ") + condition;
    INFO(rule.id << ": " << verdict_text(verdict) << ": " << condition);
    CHECK(text.find(stated + "\nrule " + rule.id + "(") != std::string::npos);
  }
}

TEST_CASE("indices that stand in functions alone are mapped as others are") {
  ProverFixture fixture;
  const Verdict verdict =
      fixture.prover.prove(fixture.rule("rule pools_times_a_function(x[1, c, h, w], s[])\n"
                                        "  conv2d(scale(avg_pool(x; kernel=3), one_of(s, elu(s, s))), "
                                        "scale(avg_pool(x; kernel=3), one_of(s, elu(s, s))))\n"
                                        "  => conv2d(avg_pool(scale(x, one_of(s, elu(s, s))); kernel=3), "
                                        "avg_pool(scale(x, one_of(s, elu(s, s))); kernel=3))"));
  INFO(verdict_text(verdict));
  CHECK(std::holds_alternative<Proved>(verdict));
}

TEST_CASE(
    "sets of equations that imply each other are tried once: the smallest first, of one size those that shapes "
    "express") {
  ProverFixture fixture;
  const algebra::Rule rule = fixture.rule(
      "rule twice(x:4, v:4, w:4)\n"
      "  concat(conv2d(conv2d(x, v), w), conv2d(x, v); axis=1)\n"
      "  => conv2d(concat(conv2d(x, v), x; axis=1), concat(w, v; axis=0))");
  const auto typed = std::get<algebra::TypedRule>(algebra::infer_types(rule, fixture.bank, fixture.symbols));
  std::vector<std::string> tried;
  Budget budget(ProverOptions{}.steps);
  const auto is_provable = [&](const algebra::TypedRule& conditioned) {
    std::string& text = tried.emplace_back(algebra::to_string(conditioned.rule, fixture.bank, fixture.symbols));
    std::map<std::string, std::string> names;  // of sizes that typing made
    std::string renamed;
    const std::regex size("\\bq[0-9]*\\b");
    for (std::smatch match; std::regex_search(text, match, size); text = match.suffix())
      renamed += match.prefix().str() + names.try_emplace(match[0], "#" + std::to_string(names.size())).first->second;
    text = renamed + text;
    return false;
  };
  CHECK_FALSE(find_condition(typed, fixture.bank, fixture.symbols, 1, {}, {}, nullptr, budget, is_provable));
  CHECK(tried.size() >= 4);
  CHECK(std::set<std::string>(tried.begin(), tried.end()).size() == tried.size());
  const auto in_shapes = [](const std::string& text) { return text.find("\n  when ") == std::string::npos; };
  const auto pairs = std::ranges::find_if(tried, in_shapes);  // no single equation is expressed by shapes here
  CHECK(pairs != tried.begin());
  CHECK(pairs != tried.end());
  CHECK(std::is_partitioned(pairs, tried.end(), in_shapes));
  const auto accept = [](const algebra::TypedRule&) { return true; };
  const auto first = find_condition(typed, fixture.bank, fixture.symbols, 1, {}, {}, nullptr, budget, accept);
  REQUIRE(first);
  CHECK(first->equations.size() == 1);
}

TEST_CASE("conditional rules are proved with the condition found, and refuted without the search for conditions") {
  ProverOptions general;
  general.find_conditions = false;
  ProverFixture fixture;
  ProverFixture strict(general);
  const std::string text = text_of(std::filesystem::path(RULEMILL_SOURCE_DIR) / "tests/prove/conditional.rules");
  for (const algebra::Rule& rule : strict.rules("tests/prove/conditional.rules")) {
    const Verdict verdict = strict.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    CHECK(std::holds_alternative<Refuted>(verdict));
  }
  for (const algebra::Rule& rule : fixture.rules("tests/prove/conditional.rules")) {
    const Verdict verdict = fixture.prover.prove(rule);
    INFO(rule.id << ": " << verdict_text(verdict));
    REQUIRE(std::holds_alternative<Proved>(verdict));
    std::string found = "# found:";
    for (const algebra::SizeCondition& c : std::get<Proved>(verdict).found) {
      found += (found.back() == ':' ? " " : ", ") + algebra::to_string(c, fixture.symbols);
    }
    INFO(found);
    CHECK(text.find(found + "\nrule " + rule.id + "(") != std::string::npos);
  }
}

TEST_CASE("a scalar that occurs many times does not exhaust the limit of alignments") {
  ProverFixture fixture;
  const Verdict verdict = fixture.prover.prove(fixture.rule(
      "rule transposed_power(w[d, d], s[])\n"
      "  transpose(matmul(matmul(scale(w, s), scale(w, s)), matmul(scale(w, s), scale(w, s))); perm=[1,0])\n"
      "  => matmul(matmul(scale(transpose(w; perm=[1,0]), s), scale(transpose(w; perm=[1,0]), s)),\n"
      "            matmul(scale(transpose(w; perm=[1,0]), s), scale(transpose(w; perm=[1,0]), s)))"));
  INFO(verdict_text(verdict));
  CHECK(std::holds_alternative<Proved>(verdict));
}
