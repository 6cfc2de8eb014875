// Random sums with floor, quotients and comparisons: one that the step Order cancels is 0 at all points, also at those
// where functions jump or are undefined.
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <span>

#include "algebra/operators/enclosure.h"
#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;
using algebra::Enclosure;

namespace {

/// A term over x and y.
struct Tree {
  std::string name;
  std::vector<Tree> arguments;
};

std::string text(const Tree& tree) {
  std::string result = tree.name;
  for (std::size_t i = 0; i < tree.arguments.size(); ++i)
    result += (i == 0 ? "(" : ", ") + text(tree.arguments[i]) + (i + 1 == tree.arguments.size() ? ")" : "");
  return result;
}

class RandomTerms {
 public:
  explicit RandomTerms(std::uint64_t seed) : random_(seed) {}

  Tree tree(int depth) {
    if (depth == 0 || one_in(4)) return {any(leaves), {}};
    if (one_in(2)) return {any(unary), {tree(depth - 1)}};
    return {any(binary), {tree(depth - 1), tree(depth - 1)}};
  }

  /// Changes one place of the term: wraps, replaces or renames what is there.
  void change(Tree& tree) {
    if (!tree.arguments.empty() && !one_in(3)) return change(tree.arguments[below(tree.arguments.size())]);
    if (one_in(2)) {
      tree = {any(unary), {Tree(tree)}};
    } else if (tree.arguments.empty()) {
      tree = this->tree(1);
    } else if (one_in(2)) {
      tree = Tree(tree.arguments[below(tree.arguments.size())]);
    } else {
      tree.name = tree.arguments.size() == 1 ? any(unary) : any(binary);
    }
  }

  double number() { return one_in(4) ? 0 : (static_cast<double>(below(33)) - 16) / (one_in(2) ? 4 : 1); }

 private:
  static constexpr std::array leaves = {"x", "x", "y", "y", "sub(x, x)"};
  static constexpr std::array unary = {"floor", "floor", "ceil", "round", "abs", "neg"};
  static constexpr std::array binary = {"remainder", "remainder", "add", "sub", "mul", "larger", "less", "div"};

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class Names>
  const char* any(const Names& names) {
    return names[below(names.size())];
  }

  std::mt19937_64 random_;
};

/// The value where the variables are `numbers`; undefined values are 0. Sets `doubtful` if rounding may decide whether
/// a function is defined.
Enclosure value(const Sum& sum, const Statement& statement, std::span<const double> numbers, bool& doubtful) {
  Enclosure total;
  for (const Product& product : sum) {
    Enclosure here(product.coefficient);
    for (const Factor& factor : product.factors) {
      if (factor.kind == Factor::Kind::Read) {
        here *= numbers[factor.symbol];
        continue;
      }
      std::vector<Enclosure> arguments;
      for (const Sum& argument : factor.arguments) arguments.push_back(value(argument, statement, numbers, doubtful));
      const Enclosure of = algebra::evaluate_strictly(statement.function(factor.symbol), arguments, doubtful);
      here *= of.is_undefined() ? 0 : of;
    }
    total += here;
  }
  return total;
}

}  // namespace

TEST_CASE("a random sum that Order cancels is 0 at random points") {
  const char* given = std::getenv("RULEMILL_RANDOM_STEPS");
  const std::size_t sums = given == nullptr ? 600 : std::strtoull(given, nullptr, 10) * 3 / 100;
  RandomTerms random(118);
  std::size_t cancelled = 0, compared = 0;
  for (std::size_t i = 0; i < sums; ++i) {
    const Tree source = random.tree(2);
    Tree target = source;
    random.change(target);
    if (text(source) == text(target)) continue;
    const std::string rule = "rule test(x[], y[]) " + text(source) + " => " + text(target);
    StatementFixture test(rule);
    const Statement& statement = *test.statement;
    if (!test.order(statement.difference(0), {}, 100'000)) continue;
    ++cancelled;
    for (int k = 0; k < 60; ++k) {
      const std::vector<double> numbers = {random.number(), random.number()};
      bool doubtful = false;
      const Enclosure difference = value(statement.difference(0), statement, numbers, doubtful);
      if (doubtful) continue;
      ++compared;
      if (certainly_differ(difference, 0)) FAIL_CHECK(rule << " at " << numbers[0] << ", " << numbers[1]);
    }
  }
  CHECK(15 * cancelled > sums);
  CHECK(2 * compared > 5 * sums);
}
