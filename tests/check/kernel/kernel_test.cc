// What the checker refuses, and that its two readings of a definition agree.
#include <map>

#include "runtime/atomic_file.h"
#include "tests/check/kernel/rules_at_hand.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// One rule, typed, and the proof that is claimed for it.
struct Case : RulesAtHand {
  std::unique_ptr<Statement> statement;

  explicit Case(const std::string& text, const std::string& definitions = "") {
    if (!definitions.empty()) library.add(definitions, "test.op");
    statement = std::make_unique<Statement>(rule(text), bank, symbols, atoms);
  }

  /// The claim: its lines of steps, after the normal form.
  Followed follow(const std::string& steps) {
    std::string text = "typing\noutput\n";
    for (const Product& product : statement->difference(0)) text += " from " + statement->text(product) + "\n";
    return check::follow(parse_proof(text + steps, "claim", 1, atoms), *statement);
  }

  std::string objection(const std::string& steps) {
    try {
      follow(steps);
    } catch (const Objection& found) {
      return found.what;
    } catch (const runtime::InputError& found) {
      return found.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("floor division by its own rules is what it is at every point") {
  Atoms atoms;
  const Poly m = atoms.size("m"), n = atoms.size("n"), i = atoms.output(0);
  CHECK(atoms.quotient(m * n + i, n) == m + atoms.quotient(i, n));
  CHECK(atoms.quotient(m - 1, m) == Poly(0));
  CHECK(atoms.quotient(Poly(2) * m - 1, 2) == m - 1);
  CHECK(atoms.quotient(-i, 2) != -atoms.quotient(i, 2));
  CHECK(atoms.quotient(-1, m) != Poly(0));
  CHECK(atoms.quotient(atoms.quotient(i, m), n) == atoms.quotient(i, m * n));
  // A divisor's sign is not turned round; that it is positive has to be shown.
  CHECK(atoms.quotient(i, m - n) != atoms.quotient(-i, n - m));
  CHECK(atoms.divisors().contains(m - n));
  CHECK_FALSE(atoms.nonnegative(m - n - 1));
  CHECK(atoms.text(atoms.quotient(i, m - n)) == atoms.text(atoms.parse(atoms.text(atoms.quotient(i, m - n)), "test")));
}

TEST_CASE("a polynomial's text has nothing in it that is none") {
  Atoms atoms;
  for (const char* text : {"", "m +", "m) (assert false", "m*", "2m", "div(m, )", "div(m, 0)", "@", "m\n", "#x", "--m",
                           "99999999999999999999", "min(m)"}) {
    INFO(text);
    CHECK_THROWS_AS(atoms.parse(text, "test"), runtime::Error);
  }
  CHECK_THROWS_AS(atoms.size("a) (assert false"), runtime::InputError);
}

TEST_CASE("a scripts has generated names alone") {
  Atoms atoms;
  const Poly m = atoms.size("v1"), n = atoms.size("n");
  const std::string script = smtlib({"test", {{false, m * n - 1}}, Guard{false, n}, {}, {}}, atoms);
  check_has(script, "(declare-const v0 Int) ; v1*n\n");
  check_has(script, "(assert (>= (+ (- 1) v0) 0))\n");
}

TEST_CASE("steps that are not sound are refused") {
  const std::string sum =
      "rule test(x[m, k], a[k, n], b[k, n]) add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))";
  const std::string first = "from 1 sum #0 [#0 >= 0] [-1 + k - #0 >= 0] x[@0, #0] a[#0, @1]";
  Case test(sum);
  check_has(" from " + test.statement->text(test.statement->difference(0)[0]), first.substr(5));

  SECTION("the proof") {
    CHECK(test.follow(" map 2: #2 := #0 <- #0 := #2\n cancel 0 2\n map 1: #2 := #1 <- #1 := #2\n cancel 0 1\n")
              .obligations.empty());
  }
  SECTION("nothing at all") { check_has(test.objection(""), "nothing cancels"); }
  SECTION("factors that differ") {
    check_has(test.objection(" map 3: #2 := #0 <- #0 := #2\n cancel 0 3\n"), "have other factors");
  }
  SECTION("indices that are not made the same") { check_has(test.objection(" cancel 0 2\n"), "have other factors"); }
  SECTION("a map that is not onto") {
    check_has(test.objection(" map 2: #2 := 2*#0 <- #0 := #2\n"), "do not undo each other");
  }
  SECTION("a map that is not one-to-one, undone with what it is to give") {
    check_has(test.objection(" map 2: #2 := div(#0, 2) <- #0 := 2*#2 + #0 - 2*div(#0, 2)\n"), "#0 is not bound there");
  }
  SECTION("a map that forgets an index") {
    check_has(test.objection(" map 2:  <- \n"), "not of the product's bound indices");
  }
  SECTION("an index given by itself") { check_has(test.objection(" set 0: #0 := #0 + 1\n"), "given by itself"); }
  SECTION("an index of another product") { check_has(test.objection(" set 0: #0 := #2\n"), "is not bound there"); }
  SECTION("a product that is dropped is owed") {
    const Followed followed = test.follow(" drop 0\n drop 0\n drop 0\n drop 0\n");
    CHECK(followed.obligations.size() == 4);
    CHECK_FALSE(followed.obligations[0].goal);
  }
  SECTION("an index that is set is owed") {
    check_has(test.objection(" set 0: #0 := 0\n cancel 0\n"), "nothing cancels");
  }
  SECTION("a position that is not there") { check_has(test.objection(" drop 9\n"), "there is no product 9"); }
  SECTION("a product that is cancelled twice") { check_has(test.objection(" cancel 0 0\n"), "different products"); }
  SECTION("a step that no operation is") { check_has(test.objection(" assume 0\n"), "is no step"); }
  SECTION("a block without end") { check_has(test.objection(" within 0 0 0\n  drop 0\n"), "expected 'end'"); }
}

TEST_CASE("laws are taken for functions that have them alone") {
  Case sigmoid("rule test(x:2) sigmoid(sigmoid(x)) => sigmoid(x)");
  check_has(sigmoid.objection(" unwrap 0 0\n cancel 0 1\n"), "no function of itself");
  Case relu("rule test(x:2) relu(relu(x)) => relu(x)");
  CHECK(relu.follow(" unwrap 0 0\n cancel 0 1\n").obligations.empty());
  Case exponential("rule test(x:2) exp(sub(x, x)) => sub(x, x)");
  check_has(exponential.objection(" within 0 0 0\n  cancel 0 1\n end\n zero 0 0\n cancel 0 1\n"),
            "the factor is not zero");
}

namespace {

/// What following the claim leaves to a solver, in words; or the objection.
std::string owed(Case& test, const std::string& steps) {
  try {
    std::string text;
    for (const Obligation& o : test.follow(steps).obligations) text += o.what + "; ";
    return text;
  } catch (const Objection& found) {
    return found.what;
  } catch (const runtime::InputError& found) {
    return found.what();
  }
}

}  // namespace

TEST_CASE("counting is of what its range alone depends on") {
  Case test("rule test(x[m, n]) mean_last(ones(; d=[m, n])) => ones(; d=[m, 1])");
  // from 1 sum #0 [#0 >= 0] [-1 + n - #0 >= 0] 1/(n), and -1
  CHECK(owed(test, " count 0: #0 := 0; -1 + n\n reduce 0 1 0\n cancel 0 1\n") == "");
  check_has(owed(test, " count 0: #0 := 1; -1 + n\n"), "another one");
  check_has(owed(test, " count 0: #0 := 0; n\n"), "another one");
  check_has(owed(test, " count 1: #0 := 0; -1 + n\n"), "not bound");
  check_has(owed(test, " count 0: #0 := 0; -1 + n\n reduce 0 0 1\n"), "not inverse");
  check_has(owed(test, " count 0: #0 := 0; -1 + n\n cancel 0 1\n"), "other factors");
  check_has(owed(test, " reduce 0 0 0\n"), "not inverse");
  check_has(owed(test, " expand 0 0\n"), "no whole number");
  Case sum("rule test(x[m, n]) mean_last(x) => mean_last(x)");
  check_has(owed(sum, " count 0: #0 := 0; -1 + n\n"), "more than its range");
}

TEST_CASE("what varies does not leave a maximum, and what does is owed a point") {
  Case test("rule test(x[m, n], r[m, 1]) max_kept(add(x, r; right=[0, 1]); axes=[1]) => add(max_kept(x; axes=[1]), r)");
  check_has(owed(test, " open 0 0: 0\n"), "nothing cancels");
  check_has(owed(test, " open 0 0: n\n"), "nothing cancels");
  check_has(owed(test, " open 0 0: #0\n"), "is not bound there");
  check_has(owed(test, " open 0 0:\n"), "a point of the maximum's range is expected");
  check_has(owed(test, " open 2 0: 0\n"), "all of the maximum's body varies");
  check_has(owed(test, " scale 0 0\n"), "nothing in common");
  check_has(owed(test, " flatten 0 0: 0\n"), "no maximum of a maximum");
  check_has(owed(test, " lift 0 0: 0\n"), "does not fall");
  check_has(owed(test, " leavemax 0 0: #0 := 0\n"), "depends on an index that leaves");
  check_has(owed(test, " namemax 0 0: #0 := 0\n"), "has a meaning");
  check_has(owed(test, " namemax 0 0: @0 := 0\n"), "has a meaning");
  check_has(owed(test, " namemax 0 0: #9 := #9\n"), "is not bound there");
  check_has(owed(test, " namemax 0 0: #9 := #8\n"), "is not bound there");
  check_has(owed(test, " name 0: #0 := 0\n"), "has a meaning");
  check_has(owed(test, " leave 0: #0 := 0\n"), "is no step on a maximum");
}

TEST_CASE("a point of a range that may be empty is owed") {
  // Of 1 max(#0 #1 …: 1 sigmoid(…)): the middle of the window is in the image, its corner may not be.
  Case test("rule test(x[n, c, h, w]) max_pool(sigmoid(x); kernel=3) => sigmoid(max_pool(x; kernel=3))");
  check_has(owed(test, " lift 0 0: 1; 1\n"), "nothing cancels");
  for (const std::string point : {"0; 0", "1; 1"}) {
    std::vector<Obligation> obligations;
    Kernel kernel(*test.statement, [&](Obligation o) { obligations.push_back(std::move(o)); });
    Sum sum = test.statement->difference(0);
    Kernel::Context context{test.statement->facts(), {}};
    for (Guard& guard : test.statement->ranges(0)) context.given.push_back(std::move(guard));
    std::string text = "typing\noutput\n lift 0 0: " + point + "\n";
    kernel.run(sum, context, parse_proof(text, "claim", 1, test.atoms).outputs[0].steps);
    CHECK(obligations.empty() == (point == "1; 1"));
  }
  Case relu("rule test(x[n, c, h, w]) max_pool(relu(x); kernel=3) => relu(max_pool(x; kernel=3))");
  check_has(owed(relu, " lift 0 0:\n"), "nothing cancels");
  Case abs("rule test(x[n, c, h, w]) max_pool(abs(x); kernel=3) => abs(max_pool(x; kernel=3))");
  check_has(owed(abs, " lift 0 0: 1; 1\n"), "does not fall");
}

TEST_CASE("functions scale, split and have values as their laws say") {
  Case power("rule test(x:2, y:2) exp(add(x, y)) => mul(exp(x), exp(y))");
  CHECK(owed(power, " part 0 0 1\n cancel 0 1\n") == "");
  CHECK(owed(power, " join 1 0 1\n same 1 0 0 = 0 0 0\n end\n").find("expected") != std::string::npos);
  check_has(owed(power, " part 0 0 2\n"), "there is no product 2");
  check_has(owed(power, " join 1 0 0\n"), "no values of a function");
  check_has(owed(power, " constant 0 0\n"), "not of numbers alone");
  check_has(owed(power, " scale 0 0\n"), "no law says how");
  Case relu("rule test(x:2, y:2) relu(add(x, y)) => add(relu(x), relu(y))");
  check_has(owed(relu, " part 0 0 1\n"), "does not turn sums into products");
  check_has(owed(relu, " scale 0 0\n"), "nothing in common");
  check_has(owed(relu, " gather 1 2\n"), "more than their coefficients");
  check_has(owed(relu, " gather 1 1\n"), "two products");
  Case any("rule test(x:2, y:2) relu(mul(x, y)) => mul(relu(x), y)");
  check_has(owed(any, " scale 0 0\n"), "nothing in common");
  Case minus("rule test(x:2) relu(neg(x)) => neg(relu(x))");
  check_has(owed(minus, " scale 0 0\n"), "nothing in common");
  Case mean("rule test(x[m, n]) relu(mean_last(x)) => mean_last(relu(x))");
  check_has(owed(mean, " scale 0 0\n"), "nothing cancels 1 relu(1 sum");
  Case one("rule test(x[m, n]) exp(ones(; d=[m, n])) => ones(; d=[m, n])");
  check_has(owed(one, " constant 0 0\n"), "not known exactly");
}

TEST_CASE("what cancels whichever value is the larger does so in every case") {
  Case relu("rule test(x:2) relu(x) => add(x, relu(neg(x)))");
  CHECK(owed(relu, " order 0 1 2\n") == "");
  check_has(owed(relu, " order 0 1\n"), "not cancel in every case");
  check_has(owed(relu, " order 0 0 1 2\n"), "different products");
  check_has(owed(relu, " order 0 1 9\n"), "there is no product 9");
  check_has(owed(relu, " order\n"), "different products");
  Case sums("rule test(x[m, n]) sum_kept(relu(x); axes=[1]) => sum_kept(x; axes=[1])");
  check_has(owed(sums, " order 0 1\n"), "other guards or bound indices");
  struct Claim {
    const char* rule;
    const char* products;
    bool holds;
  };
  for (const auto& [rule, products, holds] :
       {Claim{"rule test(x:2) relu(x) => x", "0 1", false}, Claim{"rule test(x:2) relu(exp(x)) => exp(x)", "0 1", true},
        Claim{"rule test(x:2) relu(tanh(x)) => tanh(x)", "0 1", false},
        Claim{"rule test(x:2) relu(neg(exp(x))) => exp(x)", "0 1", false},
        // Three comparisons, of which two decide the third; x < y, y < z, z < x is no case.
        Claim{"rule test(x:2, y:2, z:2) larger(x, larger(y, z)) => larger(larger(x, y), z)", "0 1", true},
        Claim{"rule test(x:2, y:2, z:2) larger(x, larger(y, z)) => larger(larger(x, y), y)", "0 1", false},
        // A product's sign is that of its factors.
        Claim{"rule test(x:2, y:2) abs(mul(x, y)) => mul(abs(x), abs(y))", "0 1", true},
        Claim{"rule test(x:2, y:2) relu(mul(x, y)) => mul(relu(x), relu(y))", "0 1", false},
        Claim{"rule test(x:2, y:2) mul(abs(x), abs(y)) => mul(x, y)", "0 1", false},
        Claim{"rule test(x:2) hard_swish(x) => mul(x, hard_swish(x))", "0 1", false}}) {
    Case test(rule);
    INFO(rule);
    CHECK(owed(test, std::string(" order ") + products + "\n") ==
          (holds ? "" : "the products do not cancel in every case"));
  }
}

TEST_CASE("of a function that is nothing everywhere no sign is known that would leave no case") {
  Case test("rule test(x:2) add(relu(x), nil(x)) => x",
            "function nil(t) = 0 * exp(t)\noperator nil(x[d...])\n  y[i... < d...] = nil(x[i...])\n");
  check_has(owed(test, " order 0 1 2\n"), "not cancel in every case");
}

TEST_CASE("a change of sign leaves a function whose law says so alone") {
  Case odd("rule test(x:2) tanh(neg(x)) => neg(tanh(x))");
  CHECK(owed(odd, " turn 0 0\n cancel 0 1\n") == "");
  CHECK(owed(odd, " turn 1 0\n cancel 0 1\n") == "");
  check_has(owed(odd, " turn 0 0\n turn 1 0\n cancel 0 1\n"), "other factors");
  Case even("rule test(x:2) cos(neg(x)) => cos(x)");
  CHECK(owed(even, " turn 0 0\n cancel 0 1\n") == "");
  Case neither("rule test(x:2) sigmoid(neg(x)) => x");
  check_has(owed(neither, " turn 0 0\n"), "change of sign");
  check_has(owed(neither, " turn 1 0\n"), "change of sign");
}

TEST_CASE("what is divided by itself is 1 where signs keep it from 0 and nothing in it may be undefined") {
  // Of the product, sum #0 [#0 >= 0] [-1 + n - #0 >= 0] t(#0) 1/(sum #1 … t(#1)), the steps are given at the end.
  const auto claim = [](const std::string& t) {
    Case test("rule test(x[m, n]) sum_kept(div(" + t + ", sum_kept(" + t + "; axes=[1]); right=[0, 1]); axes=[1]) => " +
              "ones(; d=[m, 1])");
    const Factor quotient = test.statement->difference(0).at(0).factors.back();
    const auto name = [&](Atom atom) { return test.atoms.text(Poly(atom)); };
    const std::string own = name(test.statement->difference(0)[0].bound.at(0));
    const std::string other = name(quotient.arguments.at(0).at(0).bound.at(0));
    const std::string f = std::to_string(test.statement->difference(0)[0].factors.size() - 1);
    return owed(test, " unit 0 " + f + "\n  map 0: " + own + " := " + other + " <- " + other + " := " + own +
                          "\n  cancel 0 1\n end\n cancel 0 1\n");
  };
  CHECK(claim("exp(x)") == "a claim for each demand of a side is expected");  // of values nothing is left
  check_has(claim("x"), "signs alone do not tell");
  check_has(claim("mul(x, x)"), "signs alone do not tell");
  check_has(claim("recip(exp(x))"), "may be undefined itself");
  Case power("rule test(x:2) mul(exp(x), exp(neg(x))) => x");
  check_has(owed(power, " unit 0 0\n end\n"), "no 1/t");
  Case varies("rule test(x[m, n]) sum_kept(div(exp(x), exp(x)); axes=[1]) => ones(; d=[m, 1])");
  check_has(owed(varies, " unit 0 1\n end\n"), "varies");
}

TEST_CASE("a maximum of two values of a function that does not fall is one of its arguments") {
  Case tanh("rule test(x:2, y:2) larger(tanh(x), tanh(y)) => tanh(larger(x, y))");
  CHECK(owed(tanh, " lift 0 0:\n cancel 0 1\n") == "");
  check_has(owed(tanh, " lift 1 0:\n"), "does not fall");
  Case two("rule test(x:2, y:2) larger(tanh(x), erf(y)) => tanh(larger(x, y))");
  check_has(owed(two, " lift 0 0:\n"), "the functions differ");
  Case falls("rule test(x:2, y:2) larger(abs(x), abs(y)) => abs(larger(x, y))");
  check_has(owed(falls, " lift 0 0:\n"), "does not fall");
  Case sum("rule test(x:2, y:2) larger(add(tanh(x), x), tanh(y)) => tanh(larger(x, y))");
  check_has(owed(sum, " lift 0 0:\n"), "does not fall");
  Case zero("rule test(x:2) relu(tanh(x)) => tanh(relu(x))");
  CHECK(owed(zero, " lift 0 0:\n cancel 0 1\n") == "");
  Case half("rule test(x:2) relu(sigmoid(x)) => sigmoid(relu(x))");
  check_has(owed(half, " lift 0 0:\n"), "changes the number");
}

TEST_CASE("rules that are false differ at random sizes, and rules that are true do not") {
  for (const char* text : {"rule test(a[n, n], b[n, n]) matmul(a, b) => matmul(b, a)",
                           "rule test(x:2) exp(x) => relu(x)", "rule test(x[n, m]) relu(sub(x, relu(x))) => relu(x)",
                           "rule test(x[n, c, h, w]) avg_pool(max_pool(x; kernel=3); kernel=3) => max_pool(avg_pool(x; "
                           "kernel=3); kernel=3)",
                           "rule test(x[n, 3]) softmax(add(x, x)) => softmax(x)"}) {
    const Case test(text);
    INFO(text);
    const auto found = evaluate(test.rules.front(), test.bank, test.symbols, 1);
    REQUIRE(found);
    check_has(*found, "its sides differ at ");
  }
  for (const char* text : {"rule test(a:2, b:2, c:2) matmul(matmul(a, b), c) => matmul(a, matmul(b, c))",
                           "rule test(x:4) max_pool(relu(relu(x)); kernel=3) => max_pool(relu(x); kernel=3)"}) {
    const Case test(text);
    std::size_t tried = 0;
    CHECK_FALSE(evaluate(test.rules.front(), test.bank, test.symbols, 1, &tried));
    CHECK(tried == 3);
  }
}

TEST_CASE("checker: sides that are defined at other points are told apart by evaluation") {
  algebra::Library library = algebra::Library::load(RULEMILL_SOURCE_DIR "/data/operators");
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  const auto found = [&](const std::string& file) {
    std::map<std::string, std::string> result;
    for (const algebra::Rule& rule : algebra::parse_rules(
             runtime::read_file(RULEMILL_SOURCE_DIR "/tests/prove/" + file), file, library, bank, symbols)) {
      const auto typed = algebra::infer_types(rule, bank, symbols);
      REQUIRE(std::holds_alternative<algebra::TypedRule>(typed));
      std::size_t tried = 0;
      result[rule.id] = evaluate(std::get<algebra::TypedRule>(typed).rule, bank, symbols, 1, &tried).value_or("");
      CHECK(tried > 0);
    }
    return result;
  };
  for (const auto& [rule, what] : found("partial_refuted.rules")) {
    INFO(rule);
    CHECK(what != "");
  }
  for (const auto& [rule, what] : found("partial.rules")) {
    INFO(rule);
    CHECK(what == "");
  }
}
