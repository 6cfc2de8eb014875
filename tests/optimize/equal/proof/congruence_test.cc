#include "optimize/equal/proof/congruence.h"

#include <catch2/catch.hpp>

#include "tests/shipped_operators.h"

namespace rulemill::optimize {
namespace {

struct Fixture {
  ValueId input(const std::string& name) {
    return bank.input(name, algebra::Shape{algebra::Poly(2), algebra::Poly(3)});
  }
  ValueId apply(const char* name, std::vector<ValueId> arguments) {
    const std::vector<std::uint32_t> ranks(arguments.size(), 2);
    const auto node = bank.apply(library.instantiate(name, {}, ranks).id, arguments, {});
    return bank.node(node.value()).outputs[0];
  }

  algebra::Library library = shipped_operators();
  algebra::Symbols symbols;
  GraphBank bank{library, symbols};
  Congruence congruence{bank};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "equal arguments make nodes equal, and nodes that are added later", "[optimize]") {
  const ValueId x = input("x"), y = input("y"), z = input("z");
  const ValueId of_x = apply("relu", {apply("neg", {x})}), of_y = apply("relu", {apply("neg", {y})});
  const ValueId both[] = {of_x, of_y};
  congruence.add(both);
  congruence.merge(x, y);
  congruence.close();
  CHECK(congruence.find(of_x) == congruence.find(of_y));
  CHECK(congruence.find(of_x) != congruence.find(apply("neg", {x})));
  CHECK(congruence.find(apply("neg", {congruence.find(y)})) == congruence.find(apply("neg", {x})));
  CHECK(congruence.find(z) == z);
}

TEST_CASE_METHOD(Fixture, "a merge of results says nothing of arguments", "[optimize]") {
  const ValueId x = input("x"), y = input("y");
  const ValueId equal[] = {apply("relu", {x}), apply("relu", {y}), apply("neg", {x}), apply("neg", {y})};
  congruence.add(equal);
  congruence.merge(equal[0], equal[1]);
  congruence.close();
  CHECK(congruence.find(equal[0]) == congruence.find(equal[1]));
  CHECK(congruence.find(x) != congruence.find(y));
  CHECK(congruence.find(equal[2]) != congruence.find(equal[3]));
}

TEST_CASE_METHOD(Fixture, "equalities go through commutative nodes, several steps and cycles", "[optimize]") {
  const ValueId x = input("x"), y = input("y"), z = input("z");
  const ValueId sum = apply("add", {x, z}), other = apply("add", {z, y}), difference = apply("sub", {z, y});
  const ValueId deep = apply("neg", {apply("mul", {sum, x})}), deeper = apply("neg", {apply("mul", {y, other})});
  const ValueId roots[] = {deep, deeper, difference};
  congruence.add(roots);
  congruence.merge(apply("relu", {x}), x);  // a cycle: relu(relu(x)) is x, too
  const ValueId cycle[] = {apply("relu", {x}), apply("relu", {apply("relu", {x})})};
  congruence.add(cycle);
  congruence.merge(x, y);
  congruence.close();
  CHECK(congruence.find(sum) == congruence.find(other));
  CHECK(congruence.find(deep) == congruence.find(deeper));
  CHECK(congruence.find(cycle[1]) == congruence.find(y));
  CHECK(congruence.find(difference) != congruence.find(sum));
}

}  // namespace rulemill::optimize
