// Random mutants of proof steps: a step that the kernel accepts, and whose obligations hold, must not change the value
// of a sum. Tested for all kinds of steps, on the sums of the proofs of the tests' rules.
#include <catch2/catch.hpp>
#include <random>

#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/text/error.h"
#include "tests/prove/elaboration/normal_form_value.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using check::Atom;
using check::Guard;
using check::NormalFormValue;
using check::Poly;
using check::Step;
using check::Sum;
using prove::Proved;
using prove::ProverFixture;
using prove::SizesByName;
using prove::Verdict;
using Op = Step::Op;

namespace {

constexpr int op_count = static_cast<int>(Op::Unfold) + 1;

/// A generator of mutated and random steps with the polynomials of a sum.
class Mutator {
 public:
  Mutator(const Sum& sum, check::Atoms& atoms, std::mt19937_64& random) : random_(random) {
    std::set<Atom> all;
    polys_ = {Poly(0), Poly(1), Poly(-1)};
    for (check::Product product : sum) {
      check::for_each_poly(product, [&](Poly& poly) {
        polys_.push_back(poly);
        atoms.collect(poly, all);
      });
    }
    all.insert(atoms.bound(900));
    for (const Atom atom : all) {
      polys_.emplace_back(atom);
      atoms_.push_back(atom);
    }
  }

  Step mutate(Step step) {
    const bool has_block = !step.block.empty();
    if (has_block && one_in(1, 2)) return with_changed_block(std::move(step));
    switch (random_() % 6) {
      case 0:
        if (!step.positions.empty()) step.positions[below(step.positions.size())] = below(4);
        break;
      case 1:
        if (!step.polys.empty()) change(step.polys[below(step.polys.size())]);
        break;
      case 2:
        if (step.guard) change(*step.guard);
        break;
      case 3:
        if (!step.images.empty()) change(step.images[below(step.images.size())].second);
        if (!step.inverse.empty() && one_in(1, 2)) change(step.inverse[below(step.inverse.size())].second);
        break;
      case 4:
        if (step.atom) step.atom = any_atom();
        break;
      default:
        step = random_step(step.op);
    }
    return step;
  }

  Step random_step() { return random_step(static_cast<Op>(below(op_count))); }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t a, std::size_t b) { return below(b) < a; }
  Atom any_atom() { return atoms_[below(atoms_.size())]; }

  Poly any_poly() {
    Poly poly = polys_[below(polys_.size())];
    if (one_in(1, 3)) change(poly);
    return poly;
  }
  void change(Poly& poly) {
    switch (below(4)) {
      case 0:
        return void(poly = poly + 1);
      case 1:
        return void(poly = poly - 1);
      case 2:
        return void(poly = poly + polys_[below(polys_.size())]);
      default:
        poly = -poly;
    }
  }
  void change(Guard& guard) {
    if (one_in(1, 3))
      guard.equality = !guard.equality;
    else
      change(guard.poly);
  }
  Guard any_guard() { return {one_in(1, 3), any_poly()}; }

  /// Bounds of an index, mostly those that occur in the sum.
  std::vector<Poly> range_of(Atom atom) {
    Poly low = any_poly(), high = any_poly();
    for (const Poly& poly : polys_) {
      if (poly.coefficient(atom) == 1 && one_in(3, 4)) low = Poly(atom) - poly;
      if (poly.coefficient(atom) == -1 && one_in(3, 4)) high = Poly(atom) + poly;
    }
    return {low, high};
  }

  Step with_changed_block(Step step) {
    Step& inner = step.block[below(step.block.size())];
    if (one_in(1, 3))
      step.block.erase(step.block.begin() + static_cast<std::ptrdiff_t>(&inner - step.block.data()));
    else
      inner = one_in(2, 3) ? mutate(inner) : random_step();
    return step;
  }

  Step random_step(Op op) {
    static constexpr std::size_t positions[op_count] = {1, 1, 1, 1, 1, 2, 3, 3, 6, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3,
                                                        2, 2, 3, 3, 2, 2, 2, 3, 2, 2, 2, 4, 2, 3, 2, 4, 2, 2};
    Step step;
    step.op = op;
    const bool may = op == Op::Set || op == Op::Map || op == Op::AddGuard || op == Op::DropGuard || op == Op::NewIndex;
    step.targets_maximum = op == Op::Project || (may && one_in(1, 3));
    const bool extra = step.targets_maximum && op != Op::Project;
    for (std::size_t i = positions[static_cast<int>(op)] + (extra ? 1 : 0); i > 0; --i)
      step.positions.push_back(below(3));
    if (op == Op::Set || op == Op::NewIndex || op == Op::CountRange) step.atom = any_atom();
    if (op == Op::Split || op == Op::AddGuard || op == Op::DivideMax) step.guard = any_guard();
    if (op == Op::Set || op == Op::NewIndex || op == Op::Index) step.polys = {any_poly()};
    if (op == Op::CountRange) step.polys = range_of(*step.atom);
    if (op == Op::InstantiateMax || op == Op::Monotone || op == Op::Flatten || op == Op::DivideMax) {
      for (std::size_t i = below(4); i > 0; --i) step.polys.push_back(any_poly());
    }
    if (op == Op::Project || op == Op::Map) {
      for (std::size_t i = 1 + below(2); i > 0; --i) step.images.emplace_back(any_atom(), any_poly());
    }
    if (op == Op::Map) {
      for (std::size_t i = step.images.size(); i > 0; --i) step.inverse.emplace_back(any_atom(), any_poly());
    }
    return step;
  }

  std::mt19937_64& random_;
  std::vector<Poly> polys_;
  std::vector<Atom> atoms_;
};

struct Counts {
  std::size_t tried = 0, refused = 0, unproved = 0, undecided = 0;
  std::map<Op, std::size_t> unchanged;  // accepted steps that changed no value
};

class MutationRun {
 public:
  MutationRun(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols, Counts& counts)
      : rule_(rule), bank_(bank), symbols_(symbols), statement_(rule, bank, symbols, atoms_), counts_(counts) {}

  /// Runs the proof, and mutants of each step before it. Returns descriptions of mutants that changed a value.
  std::vector<std::string> run(std::size_t mutants_per_step) {
    const auto samples = prove::sample_sizes_by_name(rule_, bank_, symbols_, 1);
    const auto elaboration = prove::elaborate(statement_, samples, {}, {});
    if (!elaboration.proof || samples.empty()) return {};
    for (const SizesByName& sizes : samples) {
      NormalFormValue::Point& point = sizes_.emplace_back();
      for (const auto& [name, value] : sizes) point[*atoms_.size(name).atom()] = value;
      if (sizes_.size() == 2) break;
    }
    const Sum small = small_sum();
    Mutator of_small(small, atoms_, random_);
    for (std::size_t i = 0; i < 40; ++i) attempt(small, {statement_.facts(), {}}, of_small.random_step());
    for (std::size_t o = 0; o < statement_.outputs(); ++o) {
      Sum sum = statement_.difference(o);
      check::Kernel::Context context{statement_.facts(), {}};
      for (const Guard& guard : statement_.index_ranges(o)) context.given.push_back(guard);
      for (const Step& step : elaboration.proof->outputs[o].steps) {
        Mutator mutator(sum, atoms_, random_);
        for (std::size_t i = 0; i < mutants_per_step; ++i) attempt(sum, context, mutator.mutate(step));
        for (std::size_t i = 0; i < mutants_per_step; ++i) attempt(sum, context, mutator.random_step());
        attempt(sum, context, step);
        check::Kernel(statement_, [](const check::Obligation&) {}).apply(sum, context, step);
      }
    }
    return std::move(found_);
  }

 private:
  /// A sum with features that few proofs have: integers of several terms, twice; a maximum of 0 times exp of a sum.
  Sum small_sum() {
    using check::Factor;
    const auto number = [](std::int64_t n) { return check::Product{{n, 3}, {}, {}, {}}; };
    Sum sum(3);
    for (int i = 0; i < 2; ++i) {
      sum[i].coefficient = {1 + i, 1};
      sum[i].factors = {Factor{Factor::Kind::Integer, 0, {Poly(2)}, {}, {}, {}}};
      for (const auto& [size, value] : sizes_.at(0)) sum[i].factors[0].index[0] += Poly(size);
    }
    const auto functions = bank_.library().functions();
    const auto exp = std::ranges::find_if(functions, [](const auto& function) { return function.exponential; });
    sum[2].factors = {Factor{Factor::Kind::Max, 0, {}, {{}}, {}, {}},
                      Factor{Factor::Kind::Apply,
                             static_cast<std::uint32_t>(exp - functions.begin()),
                             {},
                             {{number(1), number(2)}},
                             {},
                             {}}};
    return sum;
  }

  /// The step after writing and reading it as text.
  std::optional<Step> parse_back(const Step& step) {
    try {
      const check::Proof proof{{}, {{{}, {step}}}, {}};
      return check::parse_proof(check::to_string(proof, atoms_), "mutant", 1, atoms_).outputs.at(0).steps.at(0);
    } catch (const runtime::InputError&) {
      return std::nullopt;
    }
  }

  void attempt(const Sum& before, const check::Kernel::Context& context, const Step& mutant) {
    ++counts_.tried;
    std::vector<check::Obligation> obligations;
    Sum after = before;
    try {
      const std::optional<Step> step = parse_back(mutant);
      if (!step) return void(++counts_.refused);
      check::Kernel(statement_, [&](check::Obligation o) {
        obligations.push_back(std::move(o));
      }).apply(after, context, *step);
    } catch (const check::CheckError&) {
      return void(++counts_.refused);
    } catch (const runtime::InputError&) {
      return void(++counts_.refused);
    }
    for (const NormalFormValue::Point& sizes : sizes_) compare(before, after, context, mutant, obligations, sizes);
  }

  void compare(const Sum& before, const Sum& after, const check::Kernel::Context& context, const Step& mutant,
               const std::vector<check::Obligation>& obligations, const NormalFormValue::Point& sizes) {
    try {
      NormalFormValue values(statement_, sizes, 7);
      if (!std::ranges::all_of(obligations, [&](const auto& o) { return values.holds(o); }))
        return void(++counts_.unproved);
      std::set<Atom> all;
      for (const Guard& guard : context.given) atoms_.collect(guard.poly, all);
      std::vector<Atom> outputs;
      for (const Atom atom : all) {
        if (atoms_.kind(atom) == check::Atoms::Kind::Output) outputs.push_back(atom);
      }
      NormalFormValue::Point point;
      std::size_t points = 0;
      values.for_each_point(outputs, context.given, point, [&] {
        if (++points > 4) return;
        const algebra::Enclosure a = values.value(before, point), b = values.value(after, point);
        if (!algebra::certainly_differ(a, b)) return;
        found_.push_back(rule_.id + ": " + check::to_string(mutant, atoms_) + " makes " + std::to_string(b.middle()) +
                         " of " + std::to_string(a.middle()) + " = " + statement_.text(before));
      });
      counts_.unchanged[mutant.op] += points > 0 ? 1 : 0;
    } catch (const check::Undecided&) {
      ++counts_.undecided;
    } catch (const runtime::InputError&) {
      ++counts_.undecided;
    }
  }

  const algebra::Rule& rule_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  check::Atoms atoms_;
  check::Statement statement_;
  Counts& counts_;
  std::mt19937_64 random_{counts_.tried};
  std::vector<NormalFormValue::Point> sizes_;
  std::vector<std::string> found_;
};

}  // namespace

TEST_CASE("no step that the kernel accepts changes a value") {
  ProverFixture fixture;
  Counts counts;
  for (const char* file : {"tests/prove/proved.rules", "tests/prove/conditional.rules", "tests/prove/laws.rules",
                           "tests/prove/partial.rules"}) {
    for (const algebra::Rule& rule : fixture.rules(file)) {
      const Verdict verdict = fixture.prover.prove(rule);
      if (!std::holds_alternative<Proved>(verdict)) continue;
      const algebra::Rule typed = std::get<Proved>(verdict).typed.rule;
      for (const std::string& wrong : MutationRun(typed, fixture.bank, fixture.symbols, counts).run(8))
        FAIL_CHECK(wrong);
    }
  }
  std::string unchanged;
  for (const auto& [op, count] : counts.unchanged)
    unchanged += " " + std::to_string(static_cast<int>(op)) + ":" + std::to_string(count);
  WARN(counts.tried << " steps, " << counts.refused << " refused, " << counts.unproved << " with false obligations, "
                    << counts.undecided << " undecided; without a change of value, by kind:" << unchanged);
  CHECK(counts.unchanged.size() == op_count);
}
