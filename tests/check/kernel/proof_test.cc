#include "check/kernel/proof.h"

#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("a proof with all steps is written as it was read") {
  const std::string text = R"(typing
 times m; n
output
 indicators 0
  times m; -1 + n
 indicators 0 1: same | =-1/2 -0 -2 [m >= 0] [-1 + @0 = 0]
 indicators_max 0 1: -0
 reindex 0: #0 := 1 + #1; @0 := 5 <- #1 := -1 + #0
 reindex 0: <- #1 := m
 reindex_max 0 1: #0 := 0
 count 0: #0 := 0; -1 + m
 equal 0 0 0: m
 within 0 0 0
  indicators 0
 end
 replace 0 0 0 1 0 0
  within 0 0 0
   indicators 0
  end
 end
 replace 0 0 0: 1 x[@0] + -1/2 sum #3 [#3 >= 0] (#3) 1/(n) relu(1 max{#4 [#4 >= 0] : 1 x[#4]})
 end
 expand 0 0
 reciprocal 0 0 1
 law relu.idempotent 0 0: 1 x[@0]
 law -exp.sum 0 0 1: 1 x[@0]; 0
 law_where recip.scale 0 0: 1; 0; 0; 2; 1/2
  indicators 0 1
 end
 constant 0 0
 take_out 0 0: 0; 1
 scale 0 0: 2; 1 x[@0]
 monotone 0 0 0: 0
 flatten 0 0: 0
 divide_max 0 0: -1 + #0 >= 0; 1; 0
 order 0 1: ssxx
domain of source
 condition
  signs 0 0
   times m; n
domain of target
 condition
  given 0 0 0: m
  given opposite 0 0 0
)";
  StatementFixture test("rule test(x[n]) slice(x; axis=0, from=0, to=m) => slice(x; axis=0, from=0, to=m)");
  CHECK(to_string(parse_proof(text, "proof", 1, *test.statement), *test.statement) == text);
}

TEST_CASE("a malformed line of a proof is refused with its number") {
  StatementFixture test("rule test(x[n]) relu(x) => relu(x)");
  for (const auto& [steps, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {" expand 0 0\n assume 0\n", "steps, line 4"},
           {" expand 0\n", "expected 2 positions, found 1"},
           {" expand 0 0 1\n", "expected 2 positions, found 3"},
           {" expand_max 0 0 1\n", "expected a step, found 'expand_max 0 0 1'"},
           {" expand 0 x\n", "expected a position, found 'x'"},
           {" expand 0 0: m\n", "expected the end of the line, found 'm'"},
           {" reindex 0: m\n", "expected 'index := polynomial'"},
           {" count 0: #0 := 0\n", "expected the index with its least value"},
           {" indicators 0: m\n", "expected a coefficient or guards"},
           {" indicators 0: =n\n", "expected a number"},
           {" law\n", "expected the name of a law"},
           {" replace 0 0 0: 1 z[0]\n", "expected a variable of the rule"},
           {" within 0 0 0\n  expand 0 0\n", "expected 'end'"}}) {
    INFO(steps);
    try {
      test.read_steps(steps);
      FAIL_CHECK("it was read");
    } catch (const runtime::InputError& found) {
      check_contains(found.what(), what);
    }
  }
}
