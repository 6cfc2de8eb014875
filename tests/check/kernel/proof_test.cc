#include "check/kernel/proof.h"

#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("a proof with all steps is written as it was read") {
  const std::string text = R"(typing
 times m; n
output
 from 1 x[@0]
 drop 0
  times m; -1 + n
 set 0: #0 := 1
 setmax 0 1: #0 := m
 split 0: m >= 0
 map 0: #0 := 1 + #1 <- #1 := -1 + #0
 add_guard 0: m = 0
 drop_guard 0 1
 index 0 0 0: m
 within 0 0 0
  drop 0
 end
 same 0 0 0 1 0 0
  within 0 0 0
   drop 0
  end
 end
 zero 0 0
 idempotent 0 0
 commute 0 0
 instantiate_max 0 0: 0; 1
 cancel 0 1 2
 new_index 0: #9 := m
 projectmax 0 0: #0 := 0; #1 := 1
 count_range 0: #0 := 0; -1 + m
 expand 0 0
 cancel_reciprocal 0 0 1
 constant 0 0
 scale 0 0
 split_exp 0 0 1
 merge_exp 0 0 1
 monotone 0 0: 0
 flatten 0 0: 0
 collect_terms 0 1
 order 0 1
 parity 0 0
 cancel_sum 0 0
  cancel 0 1
 end
domain of source
 demand 1 recip(1 x[@0])
  signs
   times m; n
domain of target
 demand 1 recip(1 y[@0])
  split: m >= 0
   empty
   opposite 0: #0 := #1
   argument
    cancel 0 1
   end
)";
  Atoms atoms;
  atoms.size("m"), atoms.size("n");
  CHECK(to_string(parse_proof(text, "proof", 1, atoms), atoms) == text);
}

TEST_CASE("a malformed line of a proof is refused with its number") {
  const auto error = [](const std::string& steps) {
    Atoms atoms;
    try {
      parse_proof("typing\noutput\n" + steps, "proof", 10, atoms);
    } catch (const runtime::InputError& found) {
      return std::string(found.what());
    }
    return std::string();
  };
  check_contains(error(" drop 0\n assume 0\n"), "proof, line 13");
  check_contains(error(" drop\n"), "expected 1 positions, found 0");
  check_contains(error(" drop 0 1\n"), "expected 1 positions, found 2");
  check_contains(error(" dropmax 0 1\n"), "expected a step on a maximum, found 'drop'");
  check_contains(error(" drop x\n"), "expected a position, found 'x'");
  check_contains(error(" drop 0: m\n"), "expected the end of the line, found 'm'");
  check_contains(error(" set 0: m\n"), "expected 'index := polynomial'");
  check_contains(error(" within 0 0 0\n  drop 0\n"), "expected 'end'");
}

TEST_CASE("a proof must have the statement's outputs and normal forms") {
  StatementFixture test("rule test(x[n]) relu(x) => relu(x)");
  const auto error = [&](const std::string& text) {
    try {
      check_proof(parse_proof(text, "proof", 1, test.atoms), *test.statement);
    } catch (const CheckError& found) {
      return found.what;
    }
    return std::string();
  };
  CHECK(error("typing\n") == "the proof has a different number of outputs");
  CHECK(error("typing\noutput\n") == "the definitions have a different normal form");
  CHECK(error("typing\noutput\n from 1 relu(1 x[@0])\n from -1 relu(1 x[@0])\n cancel 0 1\n") == "");
}
