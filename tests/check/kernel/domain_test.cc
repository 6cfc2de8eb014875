// What is claimed of where sides are defined, and what of it the checker believes.
#include "tests/check/kernel/rules_at_hand.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// One rule whose sides have one value, and what is claimed of its demands.
struct Case : RulesAtHand {
  std::unique_ptr<Statement> statement;

  explicit Case(const std::string& text, const std::string& definitions = "") {
    if (!definitions.empty()) library.add(definitions, "test.op");
    statement = std::make_unique<Statement>(rule(text), bank, symbols, atoms);
  }

  /// One claim, of the source's or the target's first demand: what it leaves to be shown, or the objection.
  std::string claimed(bool of_target, const std::string& lines) {
    std::string text = "typing\n";
    for (std::size_t o = 0; o < statement->outputs(); ++o) text += "output\n";
    text += std::string(of_target ? "domain of target" : "domain of source") + "\n";
    text += " demand " + statement->text(statement->demands(of_target).all.at(0)) + "\n" + lines;
    std::string owed;
    try {
      const Proof proof = parse_proof(text, "claim", 1, atoms);
      Kernel kernel(*statement, [&](const Obligation& obligation) {
        owed += obligation.what + ": " + (obligation.goal ? atoms.text(*obligation.goal) : "never") + "\n";
      });
      const Demand& demand = statement->demands(of_target).all[0];
      follow(proof.domains[of_target ? 1 : 0].at(0).claim, demand, of_target, joined(statement->facts(), demand.guards),
             *statement, kernel);
    } catch (const Objection& found) {
      return "objection: " + found.what;
    } catch (const runtime::InputError& found) {
      return std::string("refused: ") + found.what();
    }
    return owed;
  }
};

}  // namespace

TEST_CASE("a demand is met by one of the other side that is on the same value") {
  Case test("rule test(x[m], y[m], z[m]) add(div(x, y), div(z, y)) => div(add(x, z), y)");
  const Statement::Demands& source = test.statement->demands(false);
  REQUIRE(source.own == 2);
  const Atom own = source.all[0].bound.at(0), other = test.statement->demands(true).all.at(0).bound.at(0);
  const auto name = [&](Atom atom) { return test.atoms.text(Poly(atom)); };
  const std::string from = "from 0: " + name(other) + " := ";
  const std::string cancel = "\n argument\n cancel 0 1\n end\n";
  CHECK(test.claimed(false, from + name(own) + cancel).empty());
  // The first element's alone, another demand, none, one without its index, an argument that is left out.
  check_has(test.claimed(false, from + "0" + cancel), "have other factors");
  check_has(test.claimed(false, from + "0\n argument\n drop 0\n drop 0\n end\n"), "a product vanishes: never");
  check_has(test.claimed(false, "from 1: " + name(other) + " := " + name(own) + cancel), "no such demand");
  check_has(test.claimed(false, "from 0" + cancel), "a value for each index");
  check_has(test.claimed(false, from + name(own) + "\n"), "on different functions");
  check_has(test.claimed(false, from + name(other) + cancel), "is not bound there");
  check_has(test.claimed(false, from + name(own) + "\n argument\n end\n"), "on one value");
  check_has(test.claimed(false, "signs\n"), "signs alone do not tell");
  check_has(test.claimed(false, "empty\n"), "a demand is not made: never");
  check_has(test.claimed(false, "split: " + name(other) + " >= 0\n empty\n empty\n"), "is not bound there");
  check_has(test.claimed(false, "split: " + name(own) + " >= 0\n empty\n"), "is no claim");
  check_has(test.claimed(false, "belief\n"), "is no claim");
}

TEST_CASE("where the other side makes no demand, nothing follows from it") {
  // Sizes at which the rule is evaluated are too small to see that 100 elements are not all.
  Case late("rule test(x[n]) late(x) => late_but_one(x)",
            "operator late(x[n])\n  y[i < n] = 0 * recip(x[i]) if i >= 100 else 0\n"
            "operator late_but_one(x[n])\n  y[i < n] = 0 * recip(x[i]) if i >= 101 else 0\n");
  std::size_t tried = 0;
  CHECK_FALSE(evaluate(late.rules.front(), late.bank, late.symbols, 1, &tried));
  CHECK(tried > 0);
  const std::string claim = "from 0: #1 := #0\n argument\n cancel 0 1\n end\n";
  check_has(late.statement->text(late.statement->demands(false).all.at(0)), "1 sum #0 [#0 >= 0] [-1 + n - #0 >= 0] [");
  CHECK(late.claimed(false, claim) == "the other side demands it, too: -101 + #0 >= 0\n");
  CHECK(late.claimed(true, "from 0: #0 := #1\n argument\n cancel 0 1\n end\n").empty());
}

TEST_CASE("a demand on minus a value is one on the value where a law says how the function takes a change of sign") {
  const auto at = [](const Case& test) {
    const auto index = [&](bool of_target) {
      return test.atoms.text(Poly(test.statement->demands(of_target).all.at(0).bound.at(0)));
    };
    return " 0: " + index(false) + " := " + index(true) + "\n argument\n cancel 0 1\n end\n";
  };
  Case odd("rule test(x[n]) recip(neg(x)) => neg(recip(x))");
  CHECK(odd.claimed(true, "opposite" + at(odd)).empty());
  CHECK(odd.claimed(true, "from" + at(odd)) == "products cancel: never\n");
  Case other("rule test(x[n]) recip(x) => recip(relu(x))");
  check_has(other.claimed(true, "opposite" + at(other)), "have other factors");
  Case root("rule test(x[n]) sqrt(neg(x)) => sqrt(x)");
  check_has(root.claimed(true, "opposite" + at(root)), "change of sign");
}

TEST_CASE("of a sum that may cancel signs say nothing") {
  Case cancels("rule test(y[n]) scale(recip(y), recip(sum_all(recip(y)))) => recip(y)");
  for (const char* claim : {"signs\n", "signs at points\n"}) check_has(cancels.claimed(false, claim), "signs alone");
  Case softmax("rule test(x[n]) softmax(x) => x");
  check_has(softmax.claimed(false, "signs\n"), "signs alone");
  CHECK(softmax.claimed(false, "signs at points\n").empty());
}
