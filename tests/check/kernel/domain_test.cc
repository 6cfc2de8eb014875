#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// A rule whose sides have equal values, and proofs that they are defined at the same points.
struct DomainFixture : StatementFixture {
  using StatementFixture::StatementFixture;

  const DefinednessCondition& first_condition(bool of_target) const {
    return statement->definedness_conditions(of_target).all.at(0);
  }

  /// Checks a proof, as lines, of the first condition of the source or the target. Returns its obligations, or the
  /// error.
  std::string outcome(bool of_target, const std::string& lines) {
    std::string text = "typing\n";
    for (std::size_t o = 0; o < statement->outputs(); ++o) text += "output\n";
    text += std::string(of_target ? "domain of target" : "domain of source") + "\n";
    text += " demand " + statement->text(first_condition(of_target)) + "\n" + lines;
    std::string obligations;
    try {
      const Proof proof = parse_proof(text, "proof", 1, atoms);
      Kernel kernel(*statement, [&](const Obligation& obligation) {
        obligations += obligation.what + ": " + (obligation.goal ? atoms.text(*obligation.goal) : "never") + "\n";
      });
      const DefinednessCondition& condition = first_condition(of_target);
      check_definedness(proof.domains[of_target ? 1 : 0].at(0).proof, condition, of_target,
                        conjunction(statement->facts(), condition.guards), *statement, kernel);
    } catch (const CheckError& error) {
      return error.what;
    } catch (const runtime::InputError& error) {
      return error.what();
    }
    return obligations;
  }
};

}  // namespace

TEST_CASE("a condition follows from one of the other side on the same function and arguments") {
  DomainFixture test("rule test(x[m], y[m], z[m]) add(div(x, y), div(z, y)) => div(add(x, z), y)");
  const Statement::DefinednessConditions& source = test.statement->definedness_conditions(false);
  REQUIRE(source.own_count == 2);
  const Atom own = source.all[0].bound.at(0), other = test.first_condition(true).bound.at(0);
  const auto name = [&](Atom atom) { return test.atoms.text(Poly(atom)); };
  const std::string from = "from 0: " + name(other) + " := ";
  const std::string cancel = "\n argument\n cancel 0 1\n end\n";
  CHECK(test.outcome(false, from + name(own) + cancel).empty());
  // Only the first element, a missing condition, a missing index, a missing argument.
  check_contains(test.outcome(false, from + "0" + cancel), "have different factors");
  check_contains(test.outcome(false, from + "0\n argument\n drop 0\n drop 0\n end\n"), "a product vanishes: never");
  check_contains(test.outcome(false, "from 1: " + name(other) + " := " + name(own) + cancel), "no such condition");
  check_contains(test.outcome(false, "from 0" + cancel), "expected a value for each index");
  check_contains(test.outcome(false, from + name(own) + "\n"), "on different functions");
  check_contains(test.outcome(false, from + name(other) + cancel), "is not bound there");
  check_contains(test.outcome(false, from + name(own) + "\n argument\n end\n"), "on equal arguments");
  check_contains(test.outcome(false, "signs\n"), "the signs do not imply that it is defined");
  check_contains(test.outcome(false, "empty\n"), "a definedness condition is vacuous: never");
  check_contains(test.outcome(false, "split: " + name(other) + " >= 0\n empty\n empty\n"), "is not bound there");
  check_contains(test.outcome(false, "split: " + name(own) + " >= 0\n empty\n"),
                 "expected a proof that a function is defined");
  check_contains(test.outcome(false, "belief\n"), "expected a proof that a function is defined");
}

TEST_CASE("a condition does not follow where the other side has none") {
  // The sizes at which the rule is evaluated are too small to reveal the difference.
  DomainFixture late("rule test(x[n]) late(x) => late_but_one(x)",
                     "operator late(x[n])\n  y[i < n] = 0 * recip(x[i]) if i >= 100 else 0\n"
                     "operator late_but_one(x[n])\n  y[i < n] = 0 * recip(x[i]) if i >= 101 else 0\n");
  std::size_t tried = 0;
  CHECK_FALSE(evaluate(late.rules.front(), late.bank, late.symbols, 1, &tried));
  CHECK(tried > 0);
  const std::string proof = "from 0: #1 := #0\n argument\n cancel 0 1\n end\n";
  check_contains(late.statement->text(late.first_condition(false)), "1 sum #0 [#0 >= 0] [-1 + n - #0 >= 0] [");
  CHECK(late.outcome(false, proof) == "the other side has the condition, too: -101 + #0 >= 0\n");
  CHECK(late.outcome(true, "from 0: #0 := #1\n argument\n cancel 0 1\n end\n").empty());
}

TEST_CASE("a condition follows from one on the negated argument only with a parity law") {
  const auto at = [](const DomainFixture& test) {
    const auto index = [&](bool of_target) {
      return test.atoms.text(Poly(test.first_condition(of_target).bound.at(0)));
    };
    return " 0: " + index(false) + " := " + index(true) + "\n argument\n cancel 0 1\n end\n";
  };
  DomainFixture odd("rule test(x[n]) recip(neg(x)) => neg(recip(x))");
  CHECK(odd.outcome(true, "opposite" + at(odd)).empty());
  CHECK(odd.outcome(true, "from" + at(odd)) == "products cancel: never\n");
  DomainFixture other("rule test(x[n]) recip(x) => recip(relu(x))");
  check_contains(other.outcome(true, "opposite" + at(other)), "have different factors");
  DomainFixture root("rule test(x[n]) sqrt(neg(x)) => sqrt(x)");
  check_contains(root.outcome(true, "opposite" + at(root)), "no parity law");
}

TEST_CASE("signs do not show that a sum is not 0 if it may cancel or be empty") {
  DomainFixture cancels("rule test(y[n]) scale(recip(y), recip(reduce_sum_all(recip(y)))) => recip(y)");
  for (const char* proof : {"signs\n", "signs at points\n"})
    check_contains(cancels.outcome(false, proof), "the signs do not imply");
  DomainFixture softmax("rule test(x[n]) softmax(x) => x");
  check_contains(softmax.outcome(false, "signs\n"), "the signs do not imply");
  CHECK(softmax.outcome(false, "signs at points\n").empty());
}
