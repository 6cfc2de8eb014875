// Every law that proofs may use holds at random numbers, also beside functions that resemble those of other laws.
#include "algebra/library/law_equations.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "algebra/operators/enclosure.h"
#include "runtime/files/scratch_folder.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

/// Functions whose formulas look like an operation, or a bound, of their argument.
constexpr const char* lookalikes = R"(
function half(t) = 1 / 2
function two(t) = max(1, 2)
function flip(s, t) = 1 / t
function first_of_three(s, t, r) = max(s, t)
function exchanged(s, t) = min(t, s)
function logistic_slope(t) = t / (1 + exp(t))
function cap(t) = min(t, 1)
function floored(t) = max(1, t)
function second_root(s, t) = sqrt(t)
)";

class LawTest {
 public:
  explicit LawTest(const Library& library) : functions_(library.functions()) {}

  /// Whether the law holds at random numbers; nothing if its conditions do not hold, or rounding may decide.
  std::optional<bool> holds(const LawEquation& law) {
    numbers_.clear();
    for (std::uint32_t v = 0; v < law.variables; ++v) numbers_.push_back(number());
    if (law.variables > LawEquation::positive + 1)
      numbers_[LawEquation::positive + 1] = 1 / numbers_[LawEquation::positive];
    doubtful_ = false;
    for (const auto& [kind, expression] : law.conditions) {
      const Enclosure is = value(*expression);
      const bool is_met = kind == LawEquation::Condition::Kind::Positive ? is.low > 0
                          : kind == LawEquation::Condition::Kind::Zero   ? !certainly_differ(is, 0.0)
                                                                         : !undefined_;
      if (!is_met) return std::nullopt;
    }
    const Enclosure left = value(*law.left), right = value(*law.right);
    return doubtful_ ? std::nullopt : std::optional(!certainly_differ(left, right));
  }

 private:
  /// A power of 2, a small fraction, or 0, of either sign.
  double number() {
    const double size = random_() % 2 == 0 ? std::ldexp(1.0, static_cast<int>(random_() % 9) - 4)
                                           : static_cast<double>(random_() % 24) / 8;
    return random_() % 2 == 0 ? size : -size;
  }

  /// Undefined values are 0; undefined_ tells whether the last one was.
  Enclosure value(const ScalarExpr& expression) {
    std::vector<Enclosure> operands;
    for (const auto& operand : expression.operands) operands.push_back(value(*operand));
    undefined_ = false;
    switch (expression.kind) {
      case ScalarExpr::Kind::Constant:
        return Enclosure(expression.value);
      case ScalarExpr::Kind::Read:
        return numbers_.at(expression.tensor);
      case ScalarExpr::Kind::Add: {
        Enclosure sum = 0.0;
        for (const Enclosure& each : operands) sum += each;
        return sum;
      }
      case ScalarExpr::Kind::Mul: {
        Enclosure product = 1.0;
        for (const Enclosure& each : operands) product *= each;
        return product;
      }
      default: {
        const Function& function = functions_[expression.function];
        REQUIRE(expression.kind == ScalarExpr::Kind::Apply);
        REQUIRE(operands.size() == function.arity);
        const Enclosure of = evaluate_strictly(function, operands, doubtful_);
        undefined_ = of.is_undefined();
        return undefined_ ? Enclosure(0.0) : of;
      }
    }
  }

  std::span<const Function> functions_;
  std::mt19937_64 random_{5};
  std::vector<double> numbers_;
  bool doubtful_ = false, undefined_ = false;
};

void check_laws(const Library& library, const std::string& order) {
  LawTest test(library);
  for (const LawEquation& law : library.laws()) {
    INFO(law.name << ", look-alikes " << order);
    std::size_t compared = 0;
    for (int i = 0; i < 400; ++i) {
      const auto holds = test.holds(law);
      compared += holds ? 1 : 0;
      if (holds && !*holds) FAIL("it does not hold");
    }
    CHECK(compared > 0);
  }
}

}  // namespace

TEST_CASE("each law holds at random numbers, whatever functions come before or after it") {
  const runtime::ScratchFolder folder;
  std::filesystem::copy(RULEMILL_SOURCE_DIR "/data/operators", folder / "all");
  std::ofstream(folder / "all" / "a_lookalikes.op") << lookalikes;  // read first
  check_laws(Library::load(folder / "all"), "before");
  Library after = shipped_operators();
  after.add(lookalikes, "lookalikes.op");
  check_laws(after, "after");
  CHECK(after.laws().size() > 60);
}
