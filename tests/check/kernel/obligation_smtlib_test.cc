#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("a script contains user names only in comments") {
  Atoms atoms;
  const Poly m = atoms.size("v1"), n = atoms.size("n");
  const std::string script = smtlib({"test", {{false, m * n - 1}}, Guard{false, n}, {}}, atoms);
  check_contains(script, "(declare-const v0 Int) ; n*v1\n");
  check_contains(script, " (>= (+ 0 0 (* (- 1) 1) (* 1 v0)) 0)");
}

TEST_CASE("a script states what a quotient is, and the lemmas of the obligation") {
  Atoms atoms;
  const Poly m = atoms.size("m"), n = atoms.size("n"), q = atoms.floor_div(atoms.output(0), m);
  const std::string script = smtlib({"test", {}, Guard{false, q}, {{m, n}}}, atoms);
  check_contains(script, "; test\n(set-logic QF_LIA)\n");
  check_contains(script, " ; div(@0, m)\n");
  check_contains(script, "(assert (not (>= (+ 0 0 (* 1 v0)) 0)))\n");
  check_contains(script, "(assert (=> (and (>= (+ 0 0 (* 1 v");
  check_contains(script, "(assert (=> (>= (+ 0 0 (* (- 1) 1) (* 1 v");
  check_contains(script, "(check-sat)\n");
}
