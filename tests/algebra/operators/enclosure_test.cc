#include "algebra/operators/enclosure.h"

#include <catch2/catch.hpp>
#include <random>

#include "algebra/operators/function_evaluation.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

using Op = Function::Op;

class RandomNumbers {
 public:
  /// Whole numbers, halves, and numbers of all magnitudes.
  double number() {
    const double sign = random_() % 2 == 0 ? 1 : -1;
    if (random_() % 3 == 0) return sign * static_cast<double>(random_() % 8) / 2;
    return sign *
           std::ldexp(1 + static_cast<double>(random_() >> 12U) * 0x1p-52, static_cast<int>(random_() % 60) - 30);
  }
  /// Bounds that are some units in the last place from a number, or nothing.
  Enclosure around(double number) {
    double low = number, high = number;
    for (auto i = random_() % 4; i > 0; --i) low = std::nextafter(low, -HUGE_VAL);
    for (auto i = random_() % 4; i > 0; --i) high = std::nextafter(high, HUGE_VAL);
    return random_() % 2 == 0 ? Enclosure(number) : Enclosure(low, high);
  }

 private:
  std::mt19937_64 random_{1};
};

/// Whether the bounds contain a value computed in long double, whose own error may exceed them.
bool encloses(Enclosure bounds, long double value) {
  const long double error = std::fabs(value) * 0x1p-60L;
  return bounds.low <= value + error && value - error <= bounds.high;
}

}  // namespace

TEST_CASE("the bounds of an operation contain its value at every number within the operands' bounds") {
  RandomNumbers random;
  for (int op = static_cast<int>(Op::Add); op <= static_cast<int>(Op::Atan); ++op) {
    INFO("operation " << op);
    int defined = 0;
    for (int i = 0; i < 20'000; ++i) {
      const double a = random.number(), b = random.number();
      const bool may_jump = op == static_cast<int>(Op::Equal) || op == static_cast<int>(Op::Gate);
      const Enclosure left = may_jump ? Enclosure(a) : random.around(a), right = random.around(b);
      bool doubtful = false;
      const Enclosure bounds = apply(static_cast<Op>(op), left, right, doubtful);
      const auto value = apply<long double>(static_cast<Op>(op), a, b);
      if (doubtful || bounds.is_undefined() || !std::isfinite(value)) continue;
      ++defined;
      if (encloses(bounds, value)) continue;
      FAIL_CHECK("of " << a << ", " << b << ": " << bounds.low << ", " << bounds.high << " without "
                       << static_cast<double>(value));
    }
    CHECK(defined > 200);
  }
}

TEST_CASE("sums, products, quotients and roots that are doubles stay exact, and others have neighbouring bounds") {
  const Enclosure three = 3.0, third(Rational{1, 3});
  CHECK((three * Enclosure(0.5) + Enclosure(-1.5)).is_exact());
  CHECK(third.high == std::nextafter(third.low, 1.0));
  bool doubtful = false;
  CHECK(apply(Op::Div, three, 4.0, doubtful).is_exact());
  CHECK(apply(Op::Sqrt, 2.25, 2.25, doubtful).is_exact());
  CHECK(apply(Op::Exp, 0.0, 0.0, doubtful).is_exact());
  CHECK(apply(Op::Power, 3.0, 2.0, doubtful).low == 9);
  CHECK(apply(Op::Power, -3.0, -2.0, doubtful).contains(1.0 / 9));
  const Enclosure nothing = third * three + Enclosure(-1.0);
  CHECK((nothing.contains(0) && !nothing.is_exact()));
  CHECK_FALSE(doubtful);
}

TEST_CASE("a function is undefined or doubtful where its operands' bounds leave its domain") {
  const Enclosure around_zero{-0x1p-60, 0x1p-60}, below{-2, -1};
  struct Case {
    Op op;
    Enclosure a, b;
    bool undefined, doubtful;
  };
  for (const Case& each : {Case{Op::Div, 1, 0, true, false}, Case{Op::Div, 1, around_zero, false, true},
                           Case{Op::Log, 1, 0, true, false}, Case{Op::Log, 1, around_zero, false, true},
                           Case{Op::Sqrt, 1, below, true, false}, Case{Op::Sqrt, 1, around_zero, false, true},
                           Case{Op::Sqrt, 1, 0, false, false}, Case{Op::Asin, 1, 2, true, false},
                           Case{Op::Acos, 1, {1, 1.5}, false, true}, Case{Op::Power, 0, -1, true, false},
                           Case{Op::Power, below, 0.5, true, false}, Case{Op::Power, below, 2, false, false},
                           Case{Op::Power, around_zero, -1, false, true}, Case{Op::Power, 0, 0, false, false}}) {
    INFO("operation " << static_cast<int>(each.op) << " of " << each.a.low << ", " << each.b.low);
    bool doubtful = false;
    const Enclosure bounds = apply(each.op, each.a, each.b, doubtful);
    CHECK(bounds.is_undefined() == each.undefined);
    CHECK(doubtful == each.doubtful);
    if (doubtful) CHECK((std::isinf(bounds.low) && std::isinf(bounds.high)));
  }
}

TEST_CASE("a comparison that the bounds do not decide has both values") {
  bool doubtful = false;
  const Enclosure near_one{1 - 0x1p-50, 1 + 0x1p-50};
  CHECK((apply(Op::Less, near_one, 1.0, doubtful).low == 0 && apply(Op::Less, near_one, 1.0, doubtful).high == 1));
  CHECK(apply(Op::Less, near_one, 2.0, doubtful).low == 1);
  CHECK(apply(Op::Equal, near_one, 2.0, doubtful).high == 0);
  CHECK(apply(Op::Floor, near_one, near_one, doubtful).low == 0);
  CHECK(apply(Op::Gate, Enclosure{-1, 1}, 5.0, doubtful).low == 0);
  CHECK(apply(Op::Gate, Enclosure{1, 2}, 5.0, doubtful).low == 5);
  CHECK_FALSE(certainly_differ(near_one, 1.0));
  CHECK(certainly_differ(near_one, 2.0));
  CHECK_FALSE(certainly_differ(1.0, Enclosure::any()));
}
