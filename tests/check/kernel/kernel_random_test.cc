// Random sums, and random steps of each kind on them: a step that the kernel accepts, and whose obligations are true at
// a valuation, does not change the value of the sum there. Sizes are up to thousands.
#include "tests/check/kernel/random_steps.h"
#include "tests/check/kernel/sum_value.h"

#include <cstdlib>

#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

struct Counts {
  std::size_t tried = 0, refused = 0, equal = 0;
};

class StepTest {
 public:
  using Op = Step::Op;
  std::map<Op, Counts> counts;
  std::vector<std::string> changed;  // steps that changed a value

  explicit StepTest(std::uint64_t seed)
      : fixture_("rule t(x[m, n], y[n], z[], u[n, k]) sub(x, x) => sub(x, x) when m <= 3*n",
                 contents("tests/check/kernel/kernel_steps.op")),
        random_(seed),
        seed_(seed) {}

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) attempt(static_cast<Op>(i % StepMutator::op_count));
  }

 private:
  Statement& statement() { return *fixture_.statement; }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

  void attempt(Op op) {
    std::vector<Poly> sizes, outputs;
    for (const char* name : {"m", "n", "k"}) sizes.push_back(fixture_.atoms.size(name));
    for (std::size_t d = 0; d < 2; ++d) outputs.push_back(fixture_.atoms.output(d));
    RandomSteps sums(statement(), sizes, outputs, random_);
    Context context{conjunction(statement().facts(), statement().index_ranges(0)), {}};
    if (below(3) == 0) {
      Product around;
      sums.bind(around, context.scope);
      context.given = conjunction(context.given, around.guards);
    }
    Counts& count = counts[op];
    ++count.tried;
    RandomSteps::Instance instance;
    try {
      instance = sums.instance(op, context.scope, 1);
    } catch (const CheckError&) {  // an index is bound twice
      return void(++count.refused);
    }
    auto& [before, step, given] = instance;
    StepMutator mutator(before, statement(), random_);
    if (below(3) == 0) step = mutator.mutate(std::move(step));
    if (below(4) == 0) change_poly(before, context.scope, sums);
    std::vector<Obligation> obligations;
    Sum after = before;
    const KnownConditions known{given};
    try {
      const Proof proof{{}, {{step}}, {}};
      step = parse_proof(to_string(proof, statement()), "step", 1, statement()).outputs.at(0).at(0);
      const auto add = [&](Obligation obligation) { obligations.push_back(std::move(obligation)); };
      Kernel(statement(), add, known).apply(after, context, step);
    } catch (const CheckError&) {
      return void(++count.refused);
    } catch (const runtime::InputError&) {
      return void(++count.refused);
    }
    std::size_t equal = 0;
    for (int i = 0; i < 6 && equal < 2; ++i) equal += compare(instance, after, context, obligations) ? 1 : 0;
    count.equal += equal > 0 ? 1 : 0;
  }

  /// Replaces a polynomial of the sum, in scope.
  void change_poly(Sum& sum, std::set<Atom> scope, RandomSteps& sums) {
    if (sum.empty()) return;
    Product& product = sum[static_cast<std::size_t>(below(static_cast<std::int64_t>(sum.size())))];
    scope.insert(product.bound.begin(), product.bound.end());
    std::vector<Poly*> polys;
    for_each_poly(product, [&](Poly& poly) { polys.push_back(&poly); });
    if (!polys.empty())
      *polys[static_cast<std::size_t>(below(static_cast<std::int64_t>(polys.size())))] = sums.poly(scope);
  }

  /// Whether the valuation decides anything.
  bool compare(const RandomSteps::Instance& instance, const Sum& after, const Context& context,
               const std::vector<Obligation>& obligations) {
    const auto& [before, step, given] = instance;
    std::map<Atom, std::int64_t> values;
    for (const char* name : {"m", "n", "k"})
      values[*fixture_.atoms.size(name).atom()] = 1 + below(below(6) == 0 ? 4000 : below(3) == 0 ? 40 : 5);
    const auto draw = [&](const Poly& index, const std::int64_t range) { values[*index.atom()] = below(range); };
    draw(fixture_.atoms.output(0), values.begin()->second);
    draw(fixture_.atoms.output(1), std::next(values.begin())->second);
    for (const Atom atom : context.scope)
      values[atom] = below(3) == 0 ? below(values.begin()->second + 2) - 1 : below(6) - 2;
    try {
      SumValue at(statement(), values, seed_ + below(1000), below(50) == 0 ? 20000 : 200);
      if (!at.holds(context.given)) return false;
      if (!std::ranges::all_of(given, [&](const DefinednessCondition& each) { return is_met(each, at); })) return false;
      if (!std::ranges::all_of(obligations, [&](const Obligation& o) { return holds(o, at); })) return false;
      const Number a = at.value(before), b = at.value(after);
      if (agree(a, b)) return true;
      std::string point;
      for (const auto& [atom, value] : values)
        point += " " + fixture_.atoms.text(Poly(atom)) + " = " + std::to_string(value);
      changed.push_back(to_string(step, statement()) + " makes " + statement().text(after) + " of " +
                        statement().text(before) + " at" + point);
      return true;
    } catch (const Undecided&) {
      return false;
    }
  }

  /// A script is the solver's: it holds for all valuations.
  bool holds(const Obligation& obligation, SumValue& at) {
    return obligation.script.empty() ? at.holds(obligation) : fixture_.holds(obligation);
  }
  static bool is_met(const DefinednessCondition& condition, SumValue& at) {
    Product undefined = condition;
    undefined.coefficient = {-1, 1};
    const Sum defined_minus_one = {{{1, 1}, condition.guards, condition.bound, {}}, std::move(undefined)};
    return agree(at.value(defined_minus_one), from_integer(0));
  }

  StatementFixture fixture_;
  std::mt19937_64 random_;
  std::uint64_t seed_;
};

}  // namespace

TEST_CASE("no step of any kind that the kernel accepts changes a value") {
  const char* given = std::getenv("RULEMILL_RANDOM_STEPS");
  const std::size_t steps = given ? std::strtoull(given, nullptr, 10) : 20000;
  StepTest test(7);
  test.run(steps);
  for (std::size_t i = 0; i < std::min<std::size_t>(test.changed.size(), 5); ++i) FAIL_CHECK(test.changed[i]);
  std::string text;
  for (const auto& [op, count] : test.counts) {
    const std::string name = kind_name(op);
    INFO(name);
    CHECK(count.equal > steps / StepMutator::op_count / 25);
    text += "\n" + name + ": " + std::to_string(count.tried) + " tried, " + std::to_string(count.refused) +
            " refused, " + std::to_string(count.equal) + " compared";
  }
  WARN(test.changed.size() << " of " << steps << " steps changed a value" << text);
}
