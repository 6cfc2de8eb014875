// Steps of proofs, changed at random: whatever the checker lets pass, with what it asks for being true, leaves a sum's
// value as it was. So of all kinds of steps, on the sums of every proof of the rules that the tests know.
#include <catch2/catch.hpp>
#include <random>

#include "prove/certificate/certificate.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/error.h"
#include "tests/prove/elaboration/normal_form_value.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using check::Atom;
using check::Guard;
using check::NormalFormValue;
using check::Poly;
using check::Step;
using check::Sum;
using prove::Court;
using prove::Proved;
using prove::SizesByName;
using prove::Verdict;
using Op = Step::Op;

namespace {

constexpr int kinds = 29;

/// Steps that are near to others, or to nothing, over what occurs in a sum.
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

  Step near(Step step) {
    const bool has_block = !step.block.empty();
    if (has_block && one_in(1, 2)) return with_changed_block(std::move(step));
    switch (random_() % 6) {
      case 0:
        if (!step.at.empty()) step.at[below(step.at.size())] = below(4);
        break;
      case 1:
        if (!step.polys.empty()) change(step.polys[below(step.polys.size())]);
        break;
      case 2:
        if (step.guard) change(*step.guard);
        break;
      case 3:
        if (!step.to.empty()) change(step.to[below(step.to.size())].second);
        if (!step.back.empty() && one_in(1, 2)) change(step.back[below(step.back.size())].second);
        break;
      case 4:
        if (step.atom) step.atom = any_atom();
        break;
      default:
        step = of_kind(step.op);
    }
    return step;
  }

  Step any() { return of_kind(static_cast<Op>(below(kinds))); }

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

  /// Bounds of an index, mostly ones that stand in the sum.
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
      inner = one_in(2, 3) ? near(inner) : any();
    return step;
  }

  Step of_kind(Op op) {
    static constexpr std::size_t positions[kinds] = {1, 1, 1, 1, 1, 2, 3, 3, 6, 2, 2, 2, 2, 2, 1,
                                                     2, 1, 2, 3, 2, 2, 3, 3, 2, 2, 2, 3, 2, 2};
    Step step;
    step.op = op;
    const bool may = op == Op::Set || op == Op::Map || op == Op::Know || op == Op::Forget || op == Op::Name;
    step.of_maximum = op == Op::Leave || (may && one_in(1, 3));
    const bool extra = step.of_maximum && op != Op::Leave;
    for (std::size_t i = positions[static_cast<int>(op)] + (extra ? 1 : 0); i > 0; --i) step.at.push_back(below(3));
    if (op == Op::Set || op == Op::Name || op == Op::Count) step.atom = any_atom();
    if (op == Op::Split || op == Op::Know) step.guard = any_guard();
    if (op == Op::Set || op == Op::Name || op == Op::Index) step.polys = {any_poly()};
    if (op == Op::Count) step.polys = range_of(*step.atom);
    if (op == Op::Open || op == Op::Lift || op == Op::Flatten) {
      for (std::size_t i = below(4); i > 0; --i) step.polys.push_back(any_poly());
    }
    if (op == Op::Leave || op == Op::Map) {
      for (std::size_t i = 1 + below(2); i > 0; --i) step.to.emplace_back(any_atom(), any_poly());
    }
    if (op == Op::Map) {
      for (std::size_t i = step.to.size(); i > 0; --i) step.back.emplace_back(any_atom(), any_poly());
    }
    return step;
  }

  std::mt19937_64& random_;
  std::vector<Poly> polys_;
  std::vector<Atom> atoms_;
};

struct Counts {
  std::size_t tried = 0, refused = 0, unshown = 0, untold = 0;
  std::map<Op, std::size_t> kept;  // that changed no value
};

class Attack {
 public:
  Attack(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols, Counts& counts)
      : rule_(rule), bank_(bank), symbols_(symbols), statement_(rule, bank, symbols, atoms_), counts_(counts) {}

  /// Goes the way of the proof, and before each step some wrong ways. What changed a value, in words.
  std::vector<std::string> run(std::size_t of_each) {
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
    for (std::size_t i = 0; i < 40; ++i) attempt(small, {statement_.facts(), {}}, of_small.any());
    for (std::size_t o = 0; o < statement_.outputs(); ++o) {
      Sum sum = statement_.difference(o);
      check::Kernel::Context context{statement_.facts(), {}};
      for (const Guard& guard : statement_.ranges(o)) context.given.push_back(guard);
      for (const Step& step : elaboration.proof->outputs[o].steps) {
        Mutator mutator(sum, atoms_, random_);
        for (std::size_t i = 0; i < of_each; ++i) attempt(sum, context, mutator.near(step));
        for (std::size_t i = 0; i < of_each; ++i) attempt(sum, context, mutator.any());
        attempt(sum, context, step);
        check::Kernel(statement_, [](const check::Obligation&) {}).apply(sum, context, step);
      }
    }
    return std::move(found_);
  }

 private:
  /// Of what few proofs have: whole numbers of several terms, twice; a maximum of nothing beside exp of a sum.
  Sum small_sum() {
    using check::Factor;
    const auto number = [](std::int64_t n) { return check::Product{{n, 3}, {}, {}, {}}; };
    Sum sum(3);
    for (int i = 0; i < 2; ++i) {
      sum[i].coefficient = {1 + i, 1};
      sum[i].factors = {Factor{Factor::Kind::Whole, 0, {Poly(2)}, {}, {}, {}}};
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

  /// The step as a certificate's text says it.
  std::optional<Step> said(const Step& step) {
    try {
      const check::Proof proof{{}, {{{}, {step}}}, {}};
      return check::parse_proof(check::to_string(proof, atoms_), "mutant", 1, atoms_).outputs.at(0).steps.at(0);
    } catch (const runtime::InputError&) {
      return std::nullopt;
    }
  }

  void attempt(const Sum& before, const check::Kernel::Context& context, const Step& mutant) {
    ++counts_.tried;
    std::vector<check::Obligation> owed;
    Sum after = before;
    try {
      const std::optional<Step> step = said(mutant);
      if (!step) return void(++counts_.refused);
      check::Kernel(statement_, [&](check::Obligation o) {
        owed.push_back(std::move(o));
      }).apply(after, context, *step);
    } catch (const check::Objection&) {
      return void(++counts_.refused);
    } catch (const runtime::InputError&) {
      return void(++counts_.refused);
    }
    for (const NormalFormValue::Point& sizes : sizes_) compare(before, after, context, mutant, owed, sizes);
  }

  void compare(const Sum& before, const Sum& after, const check::Kernel::Context& context, const Step& mutant,
               const std::vector<check::Obligation>& owed, const NormalFormValue::Point& sizes) {
    try {
      NormalFormValue values(statement_, sizes, 7);
      if (!std::ranges::all_of(owed, [&](const auto& o) { return values.holds(o); })) return void(++counts_.unshown);
      std::set<Atom> all;
      for (const Guard& guard : context.given) atoms_.collect(guard.poly, all);
      std::vector<Atom> outputs;
      for (const Atom atom : all) {
        if (atoms_.kind(atom) == check::Atoms::Kind::Output) outputs.push_back(atom);
      }
      NormalFormValue::Point point;
      std::size_t points = 0;
      values.over(outputs, context.given, point, [&] {
        if (++points > 4) return;
        const double a = values.value(before, point), b = values.value(after, point);
        if (std::abs(a - b) <= 1e-6 * (1 + std::abs(a) + std::abs(b))) return;
        found_.push_back(rule_.id + ": " + check::to_string(mutant, atoms_) + " makes " + std::to_string(b) + " of " +
                         std::to_string(a) + " = " + statement_.text(before));
      });
      counts_.kept[mutant.op] += points > 0 ? 1 : 0;
    } catch (const check::Untold&) {
      ++counts_.untold;
    } catch (const runtime::InputError&) {
      ++counts_.untold;
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

TEST_CASE("no step that the checker grants changes a value, of whatever kind and however it was made") {
  Court court;
  Counts counts;
  for (const char* file : {"tests/prove/proved.rules", "tests/prove/conditional.rules", "tests/prove/laws.rules",
                           "tests/prove/partial.rules"}) {
    for (const algebra::Rule& rule : court.rules(file)) {
      const Verdict verdict = court.prover.prove(rule);
      if (!std::holds_alternative<Proved>(verdict)) continue;
      const algebra::Rule typed = std::get<Proved>(verdict).typed.rule;
      for (const std::string& wrong : Attack(typed, court.bank, court.symbols, counts).run(8)) FAIL_CHECK(wrong);
    }
  }
  std::string kept;
  for (const auto& [op, count] : counts.kept)
    kept += " " + std::to_string(static_cast<int>(op)) + ":" + std::to_string(count);
  WARN(counts.tried << " steps, " << counts.refused << " refused, " << counts.unshown << " owe what is false, "
                    << counts.untold << " untold; without change of value, by kind:" << kept);
  CHECK(counts.kept.size() == kinds);
}
